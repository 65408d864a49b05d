"""Elimination order of a sparse matrix over the contact graph, by minimum degree, and the resulting fill.

Two blocks are neighbours if a contact or a unilateral row acts on both.  Eliminating a block makes all its remaining
neighbours neighbours of each other, which is the fill of the factors.  The next block is always one with the fewest
remaining neighbours; among equals, the one with the lowest number.

Normal velocities are divided into *nodes* of six.  The nodes of a block are consecutive, and all are neighbours.

Source: George and Liu, Computer Solution of Large Sparse Positive Definite Systems (1981), 5.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from multibody_cli.contact_solver.friction.problem import NODE, PER_CONTACT, block_of_rows
from multibody_cli.kernel import Flags, Integers, kernel


class Elimination(NamedTuple):
    """Order of the blocks, and for each node the *later* nodes that its elimination changes, in ascending order."""

    coupled: Annotated[Flags, "blocks", "blocks"]  # remaining neighbours; of an eliminated block, its later neighbours
    degree: Annotated[Integers, "blocks"]  # number of remaining neighbours, -1 for an eliminated block
    neighbours: Annotated[Integers, "blocks"]  # remaining neighbours of one block
    order: Annotated[Integers, "blocks"]  # block numbers in the order of elimination
    begin: Annotated[Integers, "nodes + 1"]  # start of the later nodes of a node
    later: Annotated[Integers, "nodes * (nodes + 1) // 2"]  # later nodes of all nodes; untouched pages take no memory
    entry: Annotated[Integers, "contacts"]  # number of the second block's first node among the first block's neighbours


@kernel
def order_blocks(problem, elimination) -> int:
    """Order the blocks and place them in xi in that order; return the length of xi."""
    blocks, place = len(problem.start), 0
    couple_blocks(problem, elimination)
    for k in range(blocks):
        b = block_of_least_degree(blocks, elimination)
        elimination.order[k] = b
        problem.start[b] = place
        place += problem.width[b]
        couple_neighbours(blocks, b, elimination)
    list_later_nodes(problem, elimination)
    locate_contacts(problem, elimination)
    return place


@kernel
def couple_blocks(problem, elimination):
    """Set the neighbours of each block, and their numbers."""
    blocks = len(problem.start)
    for a in range(blocks):
        elimination.degree[a] = 0
        for b in range(blocks):
            elimination.coupled[a, b] = False
    for k in range(problem.equalities, problem.constraint_rows):
        couple(problem.block[k, 0], problem.block[k, 1], elimination)
    for c in range(len(problem.mu)):
        k = problem.constraint_rows + PER_CONTACT * c
        couple(block_of_rows(problem, k, PER_CONTACT, 0), block_of_rows(problem, k, PER_CONTACT, 1), elimination)


@kernel
def couple(a, b, elimination):
    """Make the blocks a and b of a row neighbours; -1 is no block."""
    if a >= 0 and b >= 0 and not elimination.coupled[a, b]:
        elimination.coupled[a, b] = elimination.coupled[b, a] = True
        elimination.degree[a] += 1
        elimination.degree[b] += 1


@kernel
def block_of_least_degree(blocks, elimination) -> int:
    """Return the remaining block with the fewest remaining neighbours."""
    best, least = -1, blocks
    for b in range(blocks):
        if 0 <= elimination.degree[b] < least:
            best, least = b, elimination.degree[b]
    return best


@kernel
def couple_neighbours(blocks, b, elimination):
    """Remove block b from the graph, and make its neighbours neighbours of each other."""
    count, elimination.degree[b] = 0, -1
    for a in range(blocks):
        if elimination.coupled[b, a]:
            elimination.neighbours[count] = a
            count += 1
    for i in range(count):
        elimination.coupled[elimination.neighbours[i], b] = False
        elimination.degree[elimination.neighbours[i]] -= 1
        for k in range(i):
            couple(elimination.neighbours[i], elimination.neighbours[k], elimination)


@kernel
def list_later_nodes(problem, elimination):
    """List the later nodes of each node: those of its own block, then those of the block's later neighbours."""
    blocks, entries, node = len(problem.start), 0, 0
    for k in range(blocks):
        b = elimination.order[k]
        end = (problem.start[b] + problem.width[b]) // NODE
        while node < end:
            elimination.begin[node] = entries
            node += 1
            for own in range(node, end):
                elimination.later[entries] = own
                entries += 1
            for next in range(k + 1, blocks):
                a = elimination.order[next]
                if elimination.coupled[b, a]:
                    for other in range(problem.start[a] // NODE, (problem.start[a] + problem.width[a]) // NODE):
                        elimination.later[entries] = other
                        entries += 1
    elimination.begin[node] = entries


@kernel
def locate_contacts(problem, elimination):
    """Compute for each contact of two blocks the place of the later block's nodes among those of the earlier one."""
    for c in range(len(problem.mu)):
        k = problem.constraint_rows + PER_CONTACT * c
        a, b = block_of_rows(problem, k, PER_CONTACT, 0), block_of_rows(problem, k, PER_CONTACT, 1)
        if a >= 0 and b >= 0:
            first, last = (
                min(problem.start[a], problem.start[b]) // NODE,
                max(problem.start[a], problem.start[b]) // NODE,
            )
            e = elimination.begin[first]
            while elimination.later[e] != last:
                e += 1
            elimination.entry[c] = e - elimination.begin[first]
