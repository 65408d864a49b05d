"""Displacements that remove the penetration at the end of a contact step, without changing velocities.

A displacement is computed like an impulse, in the metric of M: with the gaps at the end of the step in place of
velocities, normals are unilateral rows and constraint rows stay at their values.  There are no tangents.  An island
whose displacement misses the tolerance counts as failed, like one whose impulses do.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.edges import (
    EXACT,
    choose_compliance,
    edge_residual,
    linearize_edges,
    read_edges,
    start_compliance,
)
from multibody_cli.contact_solver.friction.problem import PER_CONTACT, Factored
from multibody_cli.contact_solver.friction.proximal import solve_proximal
from multibody_cli.contact_solver.friction_states import slide_without_friction
from multibody_cli.contact_solver.laws import COULOMB, EQUALITY, ONE_SIDED
from multibody_cli.contact_solver.parameters import solve_motion
from multibody_cli.contact_solver.results import DISPLACEMENT
from multibody_cli.contact_solver.sleeping import is_solved, set_at_rest
from multibody_cli.contact_solver.solution import gather_row, number_blocks_of_island, remove_ineffective_rows
from multibody_cli.kernel import kernel, template
from multibody_cli.linalg.multipliers import SOLVED

MAX_PASSES = 20
"""Largest number of passes over trees for one displacement."""

PENETRATION_TOLERANCE = 1e-6
"""Largest penetration that is not corrected, relative to the contact margin."""


@kernel
def correct_penetration(settings, contact_work, h, constraint_rows, islands) -> bool:
    """Compute displacements as impulses `contact_work.x` (m,); return whether there is any penetration."""
    tolerance, penetrates = PENETRATION_TOLERANCE * settings.margin, False
    for k in range(len(contact_work.x)):
        contact_work.x[k] = 0.0
    for island in range(islands):
        if contact_work.sleep.island_asleep[island] or is_solved(island, contact_work.groups):
            continue
        if deepest_penetration(island, contact_work, h, constraint_rows) > tolerance:
            penetrates = True
            set_at_rest(island, 0, contact_work.groups, contact_work.sleep)
            F = gather_normals(island, h, constraint_rows, contact_work)
            x = contact_work.island.impulses[: len(F.r)]
            for j in range(len(x)):
                x[j] = 0.0
            report = solve_proximal(F, settings.options, x, contact_work.island.proximal)
            if report.status != SOLVED:
                contact_work.island_failed[island] = DISPLACEMENT
                contact_work.island_residual[island] = max(contact_work.island_residual[island], report.residual)
            for j in range(len(x)):
                contact_work.x[contact_work.gathered_rows[j]] = x[j]
    return penetrates


@template(solve_motion)
def displace_trees(system, work, contact_work, h, v, constraint_rows, islands) -> bool:
    """Compute the displacement `work.response` (nv,) of islands that passes over trees have solved, in O(n).

    Contacts that penetrate are edges of the same passes without friction.  Return whether there is one.
    """
    tolerance, E, T = (
        PENETRATION_TOLERANCE * system.contacts.margin,
        contact_work.tree_friction.edges,
        contact_work.tree_friction,
    )
    penetrates = False
    for island in range(islands):
        if is_solved(island, contact_work.groups):
            penetrates = penetrates or deepest_penetration(island, contact_work, h, constraint_rows) > tolerance
    if not penetrates:
        return False
    for e in range(E.number[0]):
        edge = E.edges[e]
        if edge.law == COULOMB:
            edge.law, edge.rows = ONE_SIDED, 1
            c = contact_of_normal(edge.row, constraint_rows, contact_work)
            E.r[e, 0] = gap_at_step_end(edge.row, c, contact_work, h)
        else:
            edge.law, E.r[e, 0] = EQUALITY, 0.0
        E.x[e, 0], E.u[e, 0] = 0.0, E.r[e, 0]
    slide_without_friction(contact_work.joint_friction, T)
    residual = math.inf
    start_compliance(E)
    for _ in range(MAX_PASSES):
        linearize_edges(E, work.armature)
        if not solve_motion(system, work, contact_work.joint_friction, T, h, v):
            fail_solved(islands, math.inf, contact_work)
            return False
        read_edges(E, work.bodies, work.response)
        residual = edge_residual(E, 0.0, 0.0)
        choose_compliance(E, residual)
        if residual <= EXACT:
            return True
    if not residual <= system.contacts.options.tolerance:
        fail_solved(islands, residual, contact_work)
    return True


@kernel
def fail_solved(islands, residual, contact_work):
    """Mark the islands that passes have solved: a displacement misses the tolerance."""
    for island in range(islands):
        if is_solved(island, contact_work.groups):
            contact_work.island_failed[island] = DISPLACEMENT
            contact_work.island_residual[island] = max(contact_work.island_residual[island], residual)


@kernel
def contact_of_normal(k, constraint_rows, contact_work) -> int:
    """Return the number of the contact whose normal is row k; -1 if it is another row."""
    place = k - constraint_rows - PER_CONTACT * len(contact_work.joint_friction.limit)
    return place // PER_CONTACT if place >= 0 and place % PER_CONTACT == 0 else -1


@kernel
def gap_at_step_end(k, c, contact_work, h) -> float:
    """Return the gap of contact c, with the normal row k, at the end of the step, m."""
    contact = contact_work.detection.contacts[c]
    if contact_work.passed_at[c] > 0.0:
        return (h - contact_work.passed_at[c]) * contact_work.velocity_after[k]
    return contact.gap + (h - contact.delay) * contact_work.velocity_after[k]


@kernel
def deepest_penetration(island, contact_work, h, constraint_rows) -> float:
    """Return the largest penetration in an island at the end of the step, m; 0 if there is none."""
    G, deepest = contact_work.groups, 0.0
    for i in range(G.first_row[island], G.first_row[island + 1]):
        c = contact_of_normal(G.rows[i], constraint_rows, contact_work)
        if c >= 0:
            deepest = max(deepest, -gap_at_step_end(G.rows[i], c, contact_work, h))
    return deepest


@kernel
def gather_normals(island, h, constraint_rows, contact_work):
    """Collect the constraint rows and the normals of an island as one `Factored` problem of displacements."""
    G, T, S = contact_work.groups, contact_work.factors, contact_work.island.factored
    first, last = G.first_row[island], G.first_row[island + 1]
    blocks, m, equalities = number_blocks_of_island(first, last, contact_work), 0, 0
    for i in range(first, last):
        k = G.rows[i]
        c = contact_of_normal(k, constraint_rows, contact_work)
        if k < constraint_rows or c >= 0:
            gather_row(m, k, contact_work)
            contact_work.gathered_rows[m] = k
            S.r[m] = gap_at_step_end(k, c, contact_work, h) if c >= 0 else 0.0
            equalities += k < constraint_rows
            m += 1
    n = 0
    for b in range(blocks):
        n += S.width[b]
    for i in range(n):
        S.xi0[i] = 0.0
    rows = (S.r[:m], S.b[:m], S.w[:m], S.mu[:0])
    kinds = (equalities, m - equalities, 0, False)
    F = Factored(T.B, S.first[:m], S.block[:m], S.start[:blocks], S.width[:blocks], S.xi0, *rows, *kinds)
    remove_ineffective_rows(F, first, equalities, contact_work)
    return F
