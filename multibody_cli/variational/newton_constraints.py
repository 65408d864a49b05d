"""Constraint rows in Newton's method for a step: errors and derivatives K at its end, impulses J^T z at its start.

With y_0 the response of the root finder to the residual, and y_k its response to a unit impulse of row k, with the same
factorization, the impulses z of the active rows satisfy

    W z + (g / h + K y_0) = 0,      W = K [y_1 y_2 ...]

`constrained` uses K = J instead: one symmetric W for all iterations, which suffices where lever arms keep their sign.
In a singular configuration of a loop a lever arm passes through 0: with K the iteration passes it; with J it diverges.

A unilateral row is either active, or satisfied with zero impulse (complementarity).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from multibody_cli.constraint_solver.ineffective_rows import ineffective_threshold, primary_threshold
from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.constraints.rows import apply_row_impulse, jacobian_product_of_row, write_wrench
from multibody_cli.kernel import allocate, formula, kernel, template
from multibody_cli.linalg.ranked_lu import RankedLU, solve_ranked
from multibody_cli.model import Floats, Integers, System
from multibody_cli.spatial.products import shift_force
from multibody_cli.variational.constrained import (
    clear_loop_coordinates,
    response_reusing_factors,
    transfer_impulses_to_bodies,
)
from multibody_cli.variational.discrete_motion import extent_of
from multibody_cli.variational.maximal_joints import joint_lever_arms, rotated_constraint_axis
from multibody_cli.variational.workspace import ROUND_OFF

PIVOTS_PER_ROW = 4
"""Iterations of the active-set method per row, in addition to 20."""

RELATIVE_ROUND_OFF = 1e-12
"""Violation of a row, relative to the sizes of its terms, that counts as round-off."""

STALLED = 1e3
"""Round-off of a row that follows from others, relative to theirs; the same as of stalled iterations."""


class NewtonConstraintWork(NamedTuple):
    """Work arrays for m rows."""

    factors: RankedLU
    b: Annotated[Floats, "m"]
    z: Annotated[Floats, "m"]
    in_active_set: Annotated[Integers, "m"]  # whether a row is in the active set
    indices: Annotated[Integers, "m"]  # of those rows in W


def newton_constraint_work_for(system: System) -> NewtonConstraintWork:
    """Allocate the work arrays."""
    return allocate(NewtonConstraintWork, m=len(system.rows))


# --- correction ---------------------------------------------------------------------------------------------------
@template(response_reusing_factors)
def solve_row_impulses_at_end(system, work, step, h):
    """Compute the corrections z of the impulses of the active rows into `work.dual.x`, with W and K of the end."""
    rows, constrained, dual, ends = work.rows, step.constrained, work.dual, step.constrained.work.terms
    count = constrained.active_count[0]
    round_off = ROUND_OFF * extent_of(system.tree, step.discrete_motions) / abs(h)
    write_maximal_joint_terms(
        constrained.maximal_joints, system.tree.closures, step.discrete_motions, constrained.row_states, ends
    )
    for k in range(count):
        r = dual.active_rows[k]
        dual.r[k] = constrained.row_states[r].error / h + jacobian_product_of_row(
            rows[r], ends, work.bodies, work.response
        )
        if abs(dual.r[k]) <= round_off / rows[r].weight:
            dual.r[k] = 0.0
        pressing = step.settings.first_kick * h * constrained.row_states[r].start_multiplier
        dual.lower[k] = -constrained.row_states[r].impulse - pressing
    fill_newton_delassus(system, work, step, count)
    solve_complementarity(work, step.solver.constraint_work, count, STALLED * round_off)


@kernel
def write_maximal_joint_terms(maximal_joints, closures, poses, row_states, terms):
    """Write the derivatives of active maximal-coordinate joints as terms of their rows."""
    for k in range(len(maximal_joints.table)):
        maximal_joint = maximal_joints.table[k]
        if not row_states[maximal_joint.first_row].is_active:
            continue
        term = closures[maximal_joint.closure].first_term
        R, child_arm, parent_arm = joint_lever_arms(
            maximal_joint, poses[maximal_joint.parent], poses[maximal_joint.child]
        )
        for r in range(maximal_joint.first_row, maximal_joint.last_row):
            T = rotated_constraint_axis(R, maximal_joints.constraint_axes[r])
            at_child, at_parent = shift_force(T, child_arm), shift_force(T, parent_arm)
            write_wrench(terms[term], maximal_joint.child, at_child.t, at_child.f)
            write_wrench(terms[term + 1], maximal_joint.parent, -at_parent.t, -at_parent.f)
            term += 2


@template(response_reusing_factors)
def fill_newton_delassus(system, work, step, count):
    """Compute W of the active rows: column k is their response, at the end, to a unit impulse of row k.

    Ineffective rows, with a zero diagonal, are dropped.
    """
    tree, rows, W, active_rows = system.tree, work.rows, work.dual.W, work.dual.active_rows
    ends = step.constrained.work.terms
    is_ineffective = step.solver.constraint_work.in_active_set  # scratch
    for k in range(count):
        clear_impulses(work)
        apply_row_impulse(rows[active_rows[k]], work.terms, 1.0, work.wrenches, work.impulse)
        transfer_impulses_to_bodies(tree, work)
        clear_loop_coordinates(tree, work.impulse)
        threshold = ineffective_threshold(tree.links, work, 0.0)
        response_reusing_factors(system, work, step)
        threshold += primary_threshold(tree.links, work)
        for i in range(count):
            W[i, k] = jacobian_product_of_row(rows[active_rows[i]], ends, work.bodies, work.response)
        is_ineffective[k] = abs(W[k, k]) <= threshold
    for k in range(count):
        if is_ineffective[k]:
            work.dual.r[k] = 0.0
            for i in range(count):
                W[i, k] = W[k, i] = 0.0


# --- active-set method --------------------------------------------------------------------------------------------
@kernel
def solve_complementarity(work, constraint_work, count, round_off):
    """Compute the impulses of the active rows; unilateral rows satisfy complementarity.

    Where more rows meet than there are degrees of freedom, those outside the active set follow from the others, up to
    the `round_off` of weighted rates, 1/s: without it the method would cycle there.  If it cycles, the first impulse is
    NaN.
    """
    rows, dual, in_active_set = work.rows, work.dual, constraint_work.in_active_set
    for k in range(count):
        in_active_set[k] = 1
        dual.x[k] = 0.0
    for _ in range(20 + PIVOTS_PER_ROW * count):
        solve_active_set(rows, dual, constraint_work, count)
        settled = True
        for k in range(count):
            row = rows[dual.active_rows[k]]
            if row.one_sided and violates_complementarity(dual, k, count, in_active_set[k], round_off / row.weight):
                in_active_set[k] = 1 - in_active_set[k]
                settled = False
        if settled:
            return
    dual.x[0] = math.nan


@kernel
def solve_active_set(rows, dual, constraint_work, count):
    """Compute the impulses of the rows in the active set, of weighted rows, with all others at their bounds."""
    W, x, A, indices = dual.W, dual.x, constraint_work.factors.A, constraint_work.indices
    b, z = constraint_work.b, constraint_work.z
    n = 0
    for k in range(count):
        if constraint_work.in_active_set[k]:
            indices[n] = k
            n += 1
        else:
            x[k] = dual.lower[k]
    for i in range(n):
        weight = rows[dual.active_rows[indices[i]]].weight
        b[i] = -dual.r[indices[i]]
        for k in range(count):
            if not constraint_work.in_active_set[k]:
                b[i] -= W[indices[i], k] * x[k]
        b[i] *= weight
        for j in range(n):
            A[i, j] = W[indices[i], indices[j]] * (weight * rows[dual.active_rows[indices[j]]].weight)
    solve_ranked(constraint_work.factors, n, b, z)
    for i in range(n):
        x[indices[i]] = z[i] * rows[dual.active_rows[indices[i]]].weight


@formula
def violates_complementarity(dual, k, count, active, round_off):
    """Return whether a unilateral row pulls, or is violated outside the active set."""
    if active:
        return dual.x[k] < dual.lower[k]
    rate, size = dual.r[k], abs(dual.r[k])
    for j in range(count):
        part = dual.W[k, j] * dual.x[j]
        rate, size = rate + part, size + abs(part)
    return rate < -RELATIVE_ROUND_OFF * size - round_off
