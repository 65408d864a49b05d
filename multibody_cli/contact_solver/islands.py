"""Which rows of a step feel each other: mechanisms, and islands of them.

A *mechanism* is what joints and rows couple, and springs that are taken implicitly, whatever touches: a free body, or
all bodies of a machine.  No impulse leaves it.  A contact has two *sides*, one on each mechanism that it touches; any
other row has one.  Mechanisms that touch each other are an *island*: a problem of its own.

Rows are numbered through: first those that take part beside contacts, then three for each pad of a joint, then three
for each contact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.contact_solver.rows import PER_CONTACT
from multibody_cli.kernel import formula, kernel
from multibody_cli.model import Integers, Tree

SIDES = 2


class Groups(NamedTuple):
    """What belongs to what, for l bodies and m rows; lists lie one behind the other.

    Member k of list i is `members[first[i] + k]`, and the list ends where the next one begins.
    """

    owner: Integers  # (nv,) a body that a coordinate moves; those of closures stand last
    mechanism: Integers  # (l,) number of each body's mechanism
    side: Integers  # (m, 2) mechanisms of each row, -1 for none
    first_body: Integers  # (l + 1,) bodies of a mechanism
    bodies: Integers  # (l,)
    first_half: Integers  # (l + 1,) halves of rows on a mechanism, as 2 row + side
    halves: Integers  # (2 m,)
    island: Integers  # (l,) first mechanism of the island that a mechanism is on
    number: Integers  # (l,) of the island that a mechanism begins, -1 where it begins none
    first_row: Integers  # (l + 1,) rows of an island
    rows: Integers  # (m,)


def groups_for(tree: Tree, m: int) -> Groups:
    """Allocate room for up to m rows."""
    bodies = len(tree.links)
    owner = np.zeros(len(tree.driven), np.int64)
    for i, link in enumerate(tree.links):
        owner[link["iv"] : link["iv"] + link["nv"]] = i
    for closure in tree.closures:
        owner[closure["iv"] : closure["iv"] + closure["nv"]] = closure["child"]
    return Groups(
        owner=owner,
        mechanism=np.zeros(bodies, np.int64),
        side=np.zeros((m, SIDES), np.int64),
        first_body=np.zeros(bodies + 1, np.int64),
        bodies=np.zeros(bodies, np.int64),
        first_half=np.zeros(bodies + 1, np.int64),
        halves=np.zeros(SIDES * m, np.int64),
        island=np.zeros(bodies, np.int64),
        number=np.zeros(bodies, np.int64),
        first_row=np.zeros(bodies + 1, np.int64),
        rows=np.zeros(m, np.int64),
    )


@kernel
def root(group, i):
    """The first member of the group of i."""
    while group[i] != i:
        group[i] = group[group[i]]
        i = group[i]
    return i


@kernel
def join(group, i, j):
    """Make the groups of i and j one."""
    a, b = root(group, i), root(group, j)
    group[max(a, b)] = min(a, b)


# --- mechanisms -----------------------------------------------------------------------------------------------------
@kernel
def find_mechanisms(system, work, G) -> int:
    """Number the mechanisms by their first bodies, and list their bodies; how many there are."""
    rows, terms = work.rows, work.terms
    links, closures, mechanism = system.tree.links, system.tree.closures, G.mechanism
    for i in range(len(links)):
        mechanism[i] = i
    for i in range(1, len(links)):
        if links[i].parent > 0:
            join(mechanism, i, links[i].parent)
    for k in range(len(closures)):
        if closures[k].parent > 0 and closures[k].child > 0:
            join(mechanism, closures[k].parent, closures[k].child)
    for r in range(len(rows)):
        last = 0
        for k in range(rows[r].first_term, rows[r].last_term):
            body = body_of(terms[k], G)
            if body > 0:
                if last > 0:
                    join(mechanism, last, body)
                last = body
    if system.implicit:
        join_pulled(system, mechanism)
    count = 0
    for i in range(1, len(links)):
        first = root(mechanism, i)
        G.number[i] = count
        count += first == i
        mechanism[i] = first
    mechanism[0] = -1
    for i in range(1, len(links)):
        mechanism[i] = G.number[mechanism[i]]
    list_bodies(len(links), count, G)
    return count


@kernel
def join_pulled(system, mechanism):
    """Join what springs and muscles couple: taken implicitly, they hand impulses on."""
    tree, forces = system.tree, system.forces
    for k in range(len(forces.bushings)):
        if forces.bushings[k].parent > 0 and forces.bushings[k].child > 0:
            join(mechanism, forces.bushings[k].parent, forces.bushings[k].child)
    for k in range(len(forces.springs)):
        join_path(tree, forces.points, forces.springs[k].first, forces.springs[k].last, mechanism)
    for k in range(len(forces.muscles)):
        join_path(tree, forces.points, forces.muscles[k].first, forces.muscles[k].last, mechanism)


@kernel
def join_path(tree, points, first, last, mechanism):
    """Join the bodies along a cable."""
    before, markers = 0, len(tree.links) + len(tree.closures)
    for k in range(first, last):
        body = points[k].row
        if body >= markers:
            body = tree.markers[body - markers].link
        if body > 0:
            if before > 0:
                join(mechanism, before, body)
            before = body


@kernel
def list_bodies(links, mechanisms, G):
    """List the bodies of each mechanism."""
    first = G.first_body
    for c in range(mechanisms + 1):
        first[c] = 0
    for i in range(1, links):
        first[G.mechanism[i] + 1] += 1
    for c in range(mechanisms):
        first[c + 1] += first[c]
    for i in range(1, links):
        G.bodies[first[G.mechanism[i]]] = i
        first[G.mechanism[i]] += 1
    shift_back(first, mechanisms)


@kernel
def body_of(term, G):
    """The body that a term of a row moves; 0 for the ground."""
    return term.body if term.iv < 0 else G.owner[term.iv]


@kernel
def shift_back(first, count):
    """Let lists begin where they did before they were filled."""
    for c in range(count, 0, -1):
        first[c] = first[c - 1]
    first[0] = 0


# --- rows -----------------------------------------------------------------------------------------------------------
@kernel
def find_sides(statics, rows, terms, pads, contacts, count, G):
    """On which mechanisms the rows lie that take part."""
    for k in range(statics):
        row = rows[k]
        G.side[k, 0] = G.side[k, 1] = -1
        for i in range(row.first_term, row.last_term):
            body = body_of(terms[i], G)
            if body > 0:
                G.side[k, 0] = G.mechanism[body]
    for p in range(len(pads)):
        for k in range(statics + PER_CONTACT * p, statics + PER_CONTACT * (p + 1)):
            G.side[k, 0] = G.mechanism[pads[p].child]
            G.side[k, 1] = -1
    first = statics + PER_CONTACT * len(pads)
    for c in range(count):
        a, b = G.mechanism[contacts[c].body_a], G.mechanism[contacts[c].body_b]
        for k in range(first + PER_CONTACT * c, first + PER_CONTACT * (c + 1)):
            G.side[k, 0] = a
            G.side[k, 1] = b if b != a else -1


@kernel
def list_halves(m, mechanisms, rows, G):
    """List the halves of rows on each mechanism, but for rows without terms."""
    first = G.first_half
    for c in range(mechanisms + 1):
        first[c] = 0
    for k in range(m):
        for s in range(SIDES):
            if G.side[k, s] >= 0 and has_terms(rows[k]):
                first[G.side[k, s] + 1] += 1
    for c in range(mechanisms):
        first[c + 1] += first[c]
    for k in range(m):
        for s in range(SIDES):
            c = G.side[k, s]
            if c >= 0 and has_terms(rows[k]):
                G.halves[first[c]] = SIDES * k + s
                first[c] += 1
    shift_back(first, mechanisms)


@formula
def has_terms(row):
    """Whether a row restrains anything: those that fill up the three of a pad do not."""
    return row.first_term < row.last_term


@kernel
def find_islands(m, mechanisms, G) -> int:
    """List the rows of each island, in their order; how many islands there are.  Rows on no mechanism are on none."""
    island, number, first = G.island, G.number, G.first_row
    for c in range(mechanisms):
        island[c] = c
        number[c] = -1
    for k in range(m):
        if G.side[k, 0] >= 0 and G.side[k, 1] >= 0:
            join(island, G.side[k, 0], G.side[k, 1])
    islands = 0
    for k in range(m):
        at = island_of(k, G)
        if at >= 0:
            if number[at] < 0:
                number[at] = islands
                islands += 1
                first[islands] = 0
            first[number[at] + 1] += 1
    first[0] = 0
    for i in range(islands):
        first[i + 1] += first[i]
    for k in range(m):
        at = island_of(k, G)
        if at >= 0:
            G.rows[first[number[at]]] = k
            first[number[at]] += 1
    shift_back(first, islands)
    return islands


@kernel
def island_of(k, G):
    """The first mechanism of the island of row k, or -1."""
    side = max(G.side[k, 0], G.side[k, 1])
    return root(G.island, side) if side >= 0 else -1
