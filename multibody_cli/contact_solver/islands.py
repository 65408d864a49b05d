"""Articulations and islands: which rows of a contact step are coupled.

An *articulation* is a set of bodies coupled by joints, constraint rows and implicit springs, without regard to
contacts: a free body, or all bodies of a mechanism.  Impulses propagate within it only.  The Jacobian of a contact has
up to two *body blocks*, one for the articulation of each of its bodies; that of any other row has one.  Articulations
connected by contacts are an *island*, which is a separate problem.

Rows are numbered consecutively: active constraint rows, three rows for each friction patch, three for each brake of a
combination or of a path, three for each contact.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.corrected_velocities import ends_at_corrected_velocities
from multibody_cli.contact_solver.friction.problem import BLOCKS_PER_ROW, PER_CONTACT
from multibody_cli.kernel import allocate, formula, kernel
from multibody_cli.model import Floats, Integers, Tree
from multibody_cli.tree.markers import bodies_of_rows


class Groups(NamedTuple):
    """Membership lists of a step for l bodies and m rows, stored one after the other.

    Member k of list i is `members[first[i] + k]`; the list ends at `first[i + 1]`.
    """

    body_of_coordinate: Integers  # (nv,) a body moved by each coordinate; coordinates of loop joints come last
    body_of_row: Integers  # a body that moves with each row of the table of bodies
    articulation: Annotated[Integers, "l"]  # articulation of each body
    row_articulations: Annotated[Integers, "m", BLOCKS_PER_ROW]  # articulations of each row, -1 for none
    first_body: Annotated[Integers, "l + 1"]  # start of the bodies of an articulation
    bodies: Annotated[Integers, "l"]
    index_of_body: Annotated[Integers, "l"]  # number of each body among those of its articulation
    first_body_block: Annotated[Integers, "l + 1"]  # start of the body blocks of an articulation
    body_blocks: Annotated[Integers, "2 * m"]  # block s of row k is 2 k + s
    block_articulation: Annotated[Integers, "2 * m"]  # articulation of each block, -1 if it is not factored
    island: Annotated[Integers, "l"]  # union-find parent: smallest articulation of the island
    island_number: Annotated[Integers, "l"]  # number of the island whose smallest articulation this is, else -1
    row_island: Annotated[Integers, "m"]  # number of the island of each row, -1 for none
    has_other_rows: Annotated[Integers, "l"]  # whether an island has rows that are no edges of passes over a tree
    solved: Annotated[Integers, "l"]  # whether such passes have solved the rows of an articulation
    first_row: Annotated[Integers, "l + 1"]  # start of the rows of an island
    rows: Annotated[Integers, "m"]
    articulations: Annotated[Integers, 1]  # number of articulations
    islands: Annotated[Integers, 1]  # number of islands


class IslandReports(NamedTuple):
    """Reports of the solutions of the islands, for l bodies."""

    converged: Annotated[Integers, "l"]  # whether its impulses have converged
    failed: Annotated[Integers, "l"]  # cause for which it is unsolved (`results`), or 0
    jams: Annotated[Integers, "l"]  # whether a contact stops without a collision (`solution.jams`)
    residual: Annotated[Floats, "l"]
    steps: Annotated[Integers, "l"]  # largest number of Newton steps in one solve


def groups_for(tree: Tree, m: int) -> Groups:
    """Allocate the lists for up to m rows."""
    body_of_coordinate = np.zeros(len(tree.driven), np.int64)
    for i, link in enumerate(tree.links):
        body_of_coordinate[link["iv"] : link["iv"] + link["nv"]] = i
    for closure in tree.closures:
        body_of_coordinate[closure["iv"] : closure["iv"] + closure["nv"]] = closure["child"]
    of_rows = bodies_of_rows(tree)
    return allocate(Groups, body_of_coordinate=of_rows[body_of_coordinate], body_of_row=of_rows, l=len(tree.links), m=m)


@kernel
def root(group, i):
    """Return the representative of i in a union-find forest."""
    while group[i] != i:
        group[i] = group[group[i]]
        i = group[i]
    return i


@kernel
def join(group, i, j):
    """Merge the sets of i and j."""
    a, b = root(group, i), root(group, j)
    group[max(a, b)] = min(a, b)


# --- articulations --------------------------------------------------------------------------------------------------
@kernel
def find_articulations(system, work, groups):
    """Number the articulations by their first bodies, and list their bodies, once, as rows keep their bodies."""
    if groups.articulations[0] > 0:
        return
    rows, terms = work.rows, work.terms
    links, closures, articulation = system.tree.links, system.tree.closures, groups.articulation
    for i in range(len(links)):
        articulation[i] = i
    for i in range(1, len(links)):
        if links[i].parent > 0:
            join(articulation, i, links[i].parent)
        join(articulation, i, groups.body_of_row[i])
    for k in range(len(closures)):
        if closures[k].parent > 0 and closures[k].child > 0:
            join(articulation, groups.body_of_row[closures[k].parent], groups.body_of_row[closures[k].child])
    for r in range(len(rows)):
        last = 0
        for k in range(rows[r].first_term, rows[r].last_term):
            body = body_of_term(terms[k], groups)
            if body > 0:
                if last > 0:
                    join(articulation, last, body)
                last = body
    if system.implicit:
        join_implicit_forces(system, groups)
    join_brakes(system, articulation)
    count = 0
    for i in range(1, len(links)):
        first = root(articulation, i)
        groups.island_number[i] = count
        count += first == i
        articulation[i] = first
    articulation[0] = -1
    for i in range(1, len(links)):
        articulation[i] = groups.island_number[articulation[i]]
    groups.articulations[0] = count
    list_members(articulation, count, groups.first_body, groups.bodies)
    for c in range(count):
        for k in range(groups.first_body[c], groups.first_body[c + 1]):
            groups.index_of_body[groups.bodies[k]] = k - groups.first_body[c]


@kernel
def join_implicit_forces(system, groups):
    """Merge the articulations coupled by implicit springs, bushings and muscles."""
    pairs = system.forces.pairs
    for k in range(len(pairs)):
        join(groups.articulation, groups.body_of_row[pairs[k, 0]], groups.body_of_row[pairs[k, 1]])


@kernel
def join_brakes(system, articulation):
    """Merge the articulations on which the brake of a combination or of a path acts."""
    table, entries, motions = system.contacts.joint_friction, system.forces.points.entries, system.forces.points.motions
    patches = len(table.patches)
    for b in range(len(table.brakes)):
        brake, own = table.brakes[b], table.moved[patches + b]
        for k in range(brake.first_term, brake.last_term):
            of = table.brake_terms[k]
            join(articulation, own, of.child)
            if of.parent > 0:
                join(articulation, own, of.parent)
        for k in range(brake.first_point, brake.last_point):
            if entries[k].row > 0:
                join(articulation, own, entries[k].row)
            if entries[k].motion >= 0:
                for body in (motions[entries[k].motion].parent, motions[entries[k].motion].child):
                    if body > 0:
                        join(articulation, own, body)


@kernel
def body_of_term(term, groups):
    """Return the body moved by a term of a row; 0 for the ground."""
    return groups.body_of_row[term.body] if term.iv < 0 else groups.body_of_coordinate[term.iv]


@kernel
def list_members(group, count, first, members):
    """List the members of each of so many groups: those k with group[k] = i, from `members[first[i]]` on, ascending."""
    for i in range(count + 1):
        first[i] = 0
    for k in range(len(group)):
        if group[k] >= 0:
            first[group[k] + 1] += 1
    for i in range(count):
        first[i + 1] += first[i]
    for k in range(len(group)):
        if group[k] >= 0:
            members[first[group[k]]] = k
            first[group[k]] += 1
    for i in range(count, 0, -1):  # they have advanced to the ends
        first[i] = first[i - 1]
    first[0] = 0


# --- rows -----------------------------------------------------------------------------------------------------------
@kernel
def assign_articulations(moved, contacts, step, groups):
    """Store the articulations of each row of constraints, friction patches, brakes and contacts.

    `moved` is a body that each patch and each brake moves.
    """
    sizes, of_row = step.sizes[0], groups.row_articulations
    for k in range(sizes.constraint_rows):
        row = step.rows[k]
        of_row[k, 0] = of_row[k, 1] = -1
        for i in range(row.first_term, row.last_term):
            body = body_of_term(step.terms[i], groups)
            if body > 0:
                of_row[k, 0] = groups.articulation[body]
    for k in range(sizes.constraint_rows, sizes.first_contact):
        of_row[k, 0] = groups.articulation[moved[(k - sizes.constraint_rows) // PER_CONTACT]]
        of_row[k, 1] = -1
    for k in range(sizes.first_contact, sizes.rows):
        if k < sizes.first_resistance:
            contact = contacts[(k - sizes.first_contact) // PER_CONTACT]
        else:
            contact = contacts[step.resistances[(k - sizes.first_resistance) // PER_CONTACT].contact]
        a = groups.articulation[groups.body_of_row[contact.body_a]]
        b = groups.articulation[groups.body_of_row[contact.body_b]]
        of_row[k, 0] = a
        of_row[k, 1] = b if b != a else -1


@kernel
def list_body_blocks(step, groups, asleep):
    """List the body blocks of the Jacobian rows of each articulation; rows without terms have none.

    Articulations that are `asleep`, or solved already, have none, so that they are not factored.
    """
    of_block, m = groups.block_articulation, step.sizes[0].rows
    for k in range(m):
        for side in range(BLOCKS_PER_ROW):
            c = groups.row_articulations[k, side]
            listed = c >= 0 and not asleep[c] and not groups.solved[c] and has_nonzero_terms(step.rows[k])
            of_block[BLOCKS_PER_ROW * k + side] = c if listed else -1
    articulations = groups.articulations[0]
    list_members(of_block[: BLOCKS_PER_ROW * m], articulations, groups.first_body_block, groups.body_blocks)


@formula
def has_nonzero_terms(row):
    """Return whether a row has terms; the placeholder rows of friction patches have none."""
    return row.first_term < row.last_term


@kernel
def find_islands(step, groups):
    """Number the islands by their first rows, and list their rows, ascending; rows without articulation have none.

    No articulation is solved yet.
    """
    island, number, of_row, m = groups.island, groups.island_number, groups.row_articulations, step.sizes[0].rows
    for c in range(groups.articulations[0]):
        island[c] = c
        number[c] = -1
        groups.solved[c] = 0
    for k in range(m):
        if of_row[k, 0] >= 0 and of_row[k, 1] >= 0:
            join(island, of_row[k, 0], of_row[k, 1])
    islands = 0
    for k in range(m):
        c = max(of_row[k, 0], of_row[k, 1])
        first = root(island, c) if c >= 0 else -1
        if first >= 0 and number[first] < 0:
            number[first] = islands
            islands += 1
        groups.row_island[k] = number[first] if first >= 0 else -1
    list_members(groups.row_island[:m], islands, groups.first_row, groups.rows)
    groups.islands[0] = islands


@formula
def island_number(k, groups):
    """Return the number of the island of row k, or -1."""
    return groups.row_island[k]


@kernel
def mark_limits_in_contact(work, step, groups):
    """Mark the limits of coordinates whose bodies are in an island of contacts; none are without contacts.

    With corrected velocities none are: the impulse of a limit is that of its row in the accelerations.

    Limits between points of bodies curve: stopped bodies leave them in the step that follows.
    """
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        row.in_contact = 0
        if row.one_sided and step.sizes[0].contacts > 0 and not ends_at_corrected_velocities(work):
            for i in range(row.first_term, row.last_term):
                iv = work.terms[i].iv
                body = groups.body_of_coordinate[iv] if iv >= 0 else 0
                at = root(groups.island, groups.articulation[body]) if body > 0 else -1
                row.in_contact |= at >= 0 and groups.island_number[at] >= 0


# --- friction of joints apart from all other rows ---------------------------------------------------------------------
@kernel
def count_other_rows(rows, satisfied_by_tree) -> int:
    """Return the number of active equality rows that the passes over a tree do not satisfy."""
    count = 0
    for r in range(len(rows)):
        count += is_other_row(rows[r], satisfied_by_tree[r])
    return count


@formula
def is_other_row(row, satisfied_by_tree):
    """Return whether a row is an active equality that the passes over a tree do not satisfy."""
    return row.active == 1 and not row.one_sided and not satisfied_by_tree


@kernel
def mark_islands(row, terms, groups):
    """Mark the islands of the bodies of a row: they have other rows."""
    for k in range(row.first_term, row.last_term):
        body = body_of_term(terms[k], groups)
        at = root(groups.island, groups.articulation[body]) if body > 0 else -1
        if at >= 0 and groups.island_number[at] >= 0:
            groups.has_other_rows[groups.island_number[at]] = 1


@kernel
def mark_patches_of_passes(solved_by_passes, first, groups) -> bool:
    """Mark the friction patches, with rows from `first` on, in islands without other rows; return whether any are."""
    found = False
    for p in range(len(solved_by_passes)):
        solved_by_passes[p] = groups.has_other_rows[groups.row_island[first + PER_CONTACT * p]] == 0
        found = found or solved_by_passes[p] != 0
    return found


@kernel
def mark_solved(joint_friction, step, groups):
    """Mark the articulations of islands without other rows as solved; guess the impulses of all others again."""
    sizes = step.sizes[0]
    for k in range(sizes.rows):
        number = groups.row_island[k]
        if number < 0:
            continue
        if not groups.has_other_rows[number]:
            for side in range(BLOCKS_PER_ROW):
                if groups.row_articulations[k, side] >= 0:
                    groups.solved[groups.row_articulations[k, side]] = 1
        elif k < sizes.constraint_rows:
            step.x[k] = 0.0
        elif k < sizes.first_contact:
            p, j = (k - sizes.constraint_rows) // PER_CONTACT, (k - sizes.constraint_rows) % PER_CONTACT
            step.x[k] = joint_friction.previous_impulses[p, j]


@kernel
def is_solved(island, groups) -> bool:
    """Return whether passes over a tree have solved an island."""
    k, solved = groups.rows[groups.first_row[island]], False
    for side in range(BLOCKS_PER_ROW):
        solved = solved or (
            groups.row_articulations[k, side] >= 0 and groups.solved[groups.row_articulations[k, side]] != 0
        )
    return solved


@kernel
def all_solved(groups) -> bool:
    """Return whether passes over trees have solved all islands."""
    solved = True
    for island in range(groups.islands[0]):
        solved = solved and is_solved(island, groups)
    return solved


@kernel
def reset_reports(groups, reports):
    """Set the reports of all islands to those of solved ones."""
    for island in range(groups.islands[0]):
        reports.steps[island] = reports.failed[island] = reports.jams[island] = 0
        reports.residual[island] = 0.0
