"""Displacements that remove the penetration at the end of a contact step, without changing velocities.

A displacement is computed like an impulse, in the metric of M: with the gaps at the end of the step in place of
velocities, normals and limits are unilateral rows and other constraint rows stay at their values.  There are no
tangents.  An island
whose displacement misses the tolerance counts as failed, like one whose impulses do.  A displacement that misses it by
far is left out: that of faces across the axis of a hinge, which no motion separates, is a quotient of round-off.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.edge_compliance import EXACT, choose_compliance, start_compliance
from multibody_cli.contact_solver.edges import (
    edge_residual,
    linearize_edges,
    read_edges,
)
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.friction.proximal import solve_proximal
from multibody_cli.contact_solver.friction_states import slide_without_friction
from multibody_cli.contact_solver.islands import is_solved
from multibody_cli.contact_solver.laws import COULOMB, EQUALITY, ONE_SIDED
from multibody_cli.contact_solver.results import DISPLACEMENT
from multibody_cli.contact_solver.sleeping import set_at_rest
from multibody_cli.contact_solver.solution import (
    factored_problem,
    gather_row,
    number_blocks,
    remove_ineffective_rows,
)
from multibody_cli.contact_solver.tree_motion import solve_motion
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.linalg.multipliers import SOLVED

MAX_PASSES = 20
"""Largest number of passes over trees for one displacement."""

PENETRATION_TOLERANCE = 1e-6
"""Largest penetration that is not corrected, relative to the contact margin."""

LARGEST_RESIDUAL = 1e-6
"""Residual above which a displacement is left out, relative to its size."""


@kernel
def correct_penetration(settings, contacts, step, groups, factors, sleep, impact_times, reports, scratch) -> bool:
    """Compute displacements as impulses `step.x` (m,); return whether there is any penetration."""
    tolerance, penetrates = PENETRATION_TOLERANCE * settings.margin, False
    for k in range(len(step.x)):
        step.x[k] = 0.0
    for island in range(groups.islands[0]):
        if sleep.island_asleep[island] or is_solved(island, groups):
            continue
        island_rows = groups.rows[groups.first_row[island] : groups.first_row[island + 1]]
        if deepest_penetration(island_rows, contacts, step, impact_times) > tolerance:
            penetrates = True
            set_at_rest(island, 0, groups, sleep)
            problem = gather_normals(island_rows, contacts, step, groups, factors, impact_times, scratch)
            x = scratch.impulses[: len(problem.r)]
            for j in range(len(x)):
                x[j] = 0.0
            report = solve_proximal(problem, settings.options, x, scratch.proximal)
            if report.status != SOLVED:
                fail_displacement(island, report.residual, reports)
                if not report.residual <= LARGEST_RESIDUAL:
                    for j in range(len(x)):
                        x[j] = 0.0
            for j in range(len(x)):
                step.x[scratch.gathered_rows[j]] = x[j]
    return penetrates


@kernel
def fail_displacement(island, residual, reports):
    """Report that the displacement of an island misses the tolerance."""
    reports.failed[island] = DISPLACEMENT
    reports.residual[island] = max(reports.residual[island], residual)


@lazy_kernel
def displace_trees(
    system, work, detected, step, groups, joint_friction, tree_friction, impact_times, reports, v
) -> bool:
    """Compute the displacement `work.response` (nv,) of islands that passes over trees have solved, in O(n).

    Contacts that penetrate are edges of the same passes without friction.  Return whether there is one.
    """
    h, contacts, edges = step.sizes[0].h, system.contacts, tree_friction.edges
    tolerance, penetrates = PENETRATION_TOLERANCE * contacts.margin, False
    for island in range(groups.islands[0]):
        if is_solved(island, groups):
            depth = deepest_penetration(
                groups.rows[groups.first_row[island] : groups.first_row[island + 1]], detected, step, impact_times
            )
            penetrates = penetrates or depth > tolerance
    if not penetrates:
        return False
    while edges.number[0] > 0 and edges.edges[edges.number[0] - 1].load != edges.number[0] - 1:
        edges.number[0] -= 1
    for e in range(edges.number[0]):
        edge = edges.edges[e]
        if edge.rows == PER_CONTACT:
            edge.law, edge.rows = ONE_SIDED, 1
            c = contact_of_normal(edge.row, step)
            edges.r[e, 0] = gap_at_step_end(edge.row, c, detected, step, impact_times)
        elif edge.row >= step.sizes[0].equalities:
            edge.law, edges.r[e, 0] = ONE_SIDED, limit_at_step_end(edge.row, step)
        else:
            edge.law, edges.r[e, 0] = EQUALITY, 0.0
        edges.x[e, 0], edges.u[e, 0], edges.given[e, 0] = 0.0, edges.r[e, 0], 0.0
    slide_without_friction(joint_friction, tree_friction)
    residual = math.inf
    start_compliance(edges, False)
    for _ in range(MAX_PASSES):
        linearize_edges(edges, work.armature)
        if not solve_motion(system, work, joint_friction, tree_friction, h, v):
            residual = math.inf
            break
        read_edges(edges, work.bodies, work.response)
        residual = edge_residual(edges, 0.0, 0.0)
        choose_compliance(edges, residual)
        if residual <= EXACT:
            return True
    if not residual <= contacts.options.tolerance:
        for island in range(groups.islands[0]):
            if is_solved(island, groups):
                fail_displacement(island, residual, reports)
    return residual < math.inf


@kernel
def contact_of_normal(k, step) -> int:
    """Return the number of the contact whose normal is row k; -1 if it is another row."""
    row = k - step.sizes[0].first_contact
    is_normal = row >= 0 and k < step.sizes[0].first_resistance and row % PER_CONTACT == 0
    return row // PER_CONTACT if is_normal else -1


@kernel
def gap_at_step_end(k, c, contacts, step, impact_times) -> float:
    """Return the gap of contact c, with the normal row k, at the end of the step, m."""
    h = step.sizes[0].h
    if impact_times.passed_at[c] > 0.0:
        return (h - impact_times.passed_at[c]) * step.velocity_after[k]
    return contacts[c].gap + (h - contacts[c].delay) * step.velocity_after[k]


@formula
def limit_at_step_end(k, step):
    """Return the distance from the limit of row k at the end of the step."""
    return max(step.rows[k].error + step.sizes[0].h * step.velocity_after[k], 0.0)


@kernel
def deepest_penetration(island_rows, contacts, step, impact_times) -> float:
    """Return the largest penetration in an island at the end of the step, m; 0 if there is none."""
    deepest = 0.0
    for j in range(len(island_rows)):
        k = island_rows[j]
        c = contact_of_normal(k, step)
        if c >= 0:
            deepest = max(deepest, -gap_at_step_end(k, c, contacts, step, impact_times))
    return deepest


@kernel
def gather_normals(island_rows, contacts, step, groups, factors, impact_times, scratch):
    """Collect the constraint rows and the normals of an island as one `Factored` problem of displacements."""
    blocks, m, equalities, constraint_rows = number_blocks(island_rows, groups, factors, scratch), 0, 0, 0
    for i in range(len(island_rows)):
        k = island_rows[i]
        c = contact_of_normal(k, step)
        if k < step.sizes[0].constraint_rows or c >= 0:
            gather_row(m, k, step, groups, factors, scratch)
            scratch.gathered_rows[m] = k
            if c >= 0:
                scratch.factored.r[m] = gap_at_step_end(k, c, contacts, step, impact_times)
            else:
                is_limit = k >= step.sizes[0].equalities
                scratch.factored.r[m] = limit_at_step_end(k, step) if is_limit else 0.0
                equalities += not is_limit
                constraint_rows += 1
            m += 1
    problem = factored_problem(factors.B, blocks, m, 0, 0, (equalities, m, 0, COULOMB), scratch.factored)
    n = 0
    for b in range(blocks):
        n += problem.width[b]
    for i in range(n):
        problem.xi0[i] = 0.0
    remove_ineffective_rows(problem, island_rows, constraint_rows, factors.diagonal_bound)
    return problem
