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
def order_blocks(F, E) -> int:
    """Order the blocks and place them in xi in that order; return the length of xi."""
    blocks, place = len(F.start), 0
    couple_blocks(F, E)
    for k in range(blocks):
        b = block_of_least_degree(blocks, E)
        E.order[k] = b
        F.start[b] = place
        place += F.width[b]
        couple_neighbours(blocks, b, E)
    list_later_nodes(F, E)
    locate_contacts(F, E)
    return place


@kernel
def couple_blocks(F, E):
    """Set the neighbours of each block, and their numbers."""
    blocks = len(F.start)
    for a in range(blocks):
        E.degree[a] = 0
        for b in range(blocks):
            E.coupled[a, b] = False
    for k in range(F.equalities, F.equalities + F.limits):
        couple(F.block[k, 0], F.block[k, 1], E)
    for c in range(len(F.mu)):
        k = F.equalities + F.limits + PER_CONTACT * c
        couple(block_of_rows(F, k, PER_CONTACT, 0), block_of_rows(F, k, PER_CONTACT, 1), E)


@kernel
def couple(a, b, E):
    """Make the blocks a and b of a row neighbours; -1 is no block."""
    if a >= 0 and b >= 0 and not E.coupled[a, b]:
        E.coupled[a, b] = E.coupled[b, a] = True
        E.degree[a] += 1
        E.degree[b] += 1


@kernel
def block_of_least_degree(blocks, E) -> int:
    """Return the remaining block with the fewest remaining neighbours."""
    best, least = -1, blocks
    for b in range(blocks):
        if 0 <= E.degree[b] < least:
            best, least = b, E.degree[b]
    return best


@kernel
def couple_neighbours(blocks, b, E):
    """Remove block b from the graph, and make its neighbours neighbours of each other."""
    count, E.degree[b] = 0, -1
    for a in range(blocks):
        if E.coupled[b, a]:
            E.neighbours[count] = a
            count += 1
    for i in range(count):
        E.coupled[E.neighbours[i], b] = False
        E.degree[E.neighbours[i]] -= 1
        for k in range(i):
            couple(E.neighbours[i], E.neighbours[k], E)


@kernel
def list_later_nodes(F, E):
    """List the later nodes of each node: those of its own block, then those of the block's later neighbours."""
    blocks, entries, node = len(F.start), 0, 0
    for k in range(blocks):
        b = E.order[k]
        end = (F.start[b] + F.width[b]) // NODE
        while node < end:
            E.begin[node] = entries
            node += 1
            for own in range(node, end):
                E.later[entries] = own
                entries += 1
            for next in range(k + 1, blocks):
                a = E.order[next]
                if E.coupled[b, a]:
                    for other in range(F.start[a] // NODE, (F.start[a] + F.width[a]) // NODE):
                        E.later[entries] = other
                        entries += 1
    E.begin[node] = entries


@kernel
def locate_contacts(F, E):
    """Compute for each contact of two blocks the place of the later block's nodes among those of the earlier one."""
    for c in range(len(F.mu)):
        k = F.equalities + F.limits + PER_CONTACT * c
        a, b = block_of_rows(F, k, PER_CONTACT, 0), block_of_rows(F, k, PER_CONTACT, 1)
        if a >= 0 and b >= 0:
            first, last = min(F.start[a], F.start[b]) // NODE, max(F.start[a], F.start[b]) // NODE
            e = E.begin[first]
            while E.later[e] != last:
                e += 1
            E.entry[c] = e - E.begin[first]
