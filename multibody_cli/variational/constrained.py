"""Constraint rows in a variational step: positions hold at its end, velocities at every node (RATTLE).

The impulses J^T x of the rows act at the start of the step, with J of the start.  They make the errors g of the rows 0
at the end, or nonnegative for unilateral rows:

    g(q') >= 0,   x >= 0,   g x = 0.

With y_0 the correction of the mean rates by the residual alone, M^-1 J^T z corrects the rows, where

    W z + (g / h + J y_0) = 0,      W = J M^-1 J^T

W and J are those of the start: like RIQN, this is a quasi-Newton method, whose error decreases with the step
(`newton_constraints` uses those of the end).  At the end of the step velocities are projected (`rows_at_end`).
Rows that constrain velocities only take part in this projection alone; their impulse is applied once more at the start
of the next step, so that it acts symmetrically about the node: the mean of the momenta before and after it satisfies
the rows.

Errors at the iterate need no velocities and inertias, nor the coordinates of maximal-coordinate joints.  The kernels
that `step` calls in any step loop over the rows; the others are lazy: systems with rows alone call them.

Sources: Andersen's RATTLE, see Hairer, Lubich and Wanner, VII.1.4; Bruedigam and Manchester 2020, section 4; for rows
of velocities, Ferraro, Iglesias and Martin de Diego, Nonlinearity 21 (2008).
"""

from __future__ import annotations

import math
from typing import Any

from multibody_cli.constraint_solver.loop_frames import update_loop_frames
from multibody_cli.constraint_solver.loop_joints import (
    apply_loop_impulses,
    wrench_of_generalized_forces,
    write_loop_rows,
)
from multibody_cli.constraint_solver.solver import (
    build_delassus,
    clear_impulses,
    zero_rhs,
)
from multibody_cli.constraints.elements import write_all
from multibody_cli.constraints.rows import (
    apply_row_impulse,
    constraint_violation,
    jacobian_product_of_row,
)
from multibody_cli.joints.directions import orthonormalize, store_row, write_axes
from multibody_cli.kernel import formula, kernel, kernel_parameter, lazy_kernel, lazy_template, template
from multibody_cli.linalg.multipliers import solve_multipliers
from multibody_cli.linalg.vectors import add, copy
from multibody_cli.method_kernels import apply_inverse_mass, impulse_response
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import no_force, rotated_force, transposed_times
from multibody_cli.tree.markers import transfer_marker_wrenches, update_markers
from multibody_cli.variational.maximal_joints import write_maximal_joint_errors


# --- template parameters ------------------------------------------------------------------------------------------
@kernel_parameter
def solve_row_impulses(system: Any, work: Any, step: Any, h: float) -> None:
    """Compute the corrections of the impulses of the active rows into `work.dual.x`."""


@kernel_parameter
def response_reusing_factors(system: Any, work: Any, step: Any) -> None:
    """Compute the response to other impulses, with the factorization of the last residual response.

    Primary rows keep their errors.
    """


# --- errors at the iterate ----------------------------------------------------------------------------------------
@kernel
def evaluate_rows(system, work, step, t):
    """Compute the errors of the constraint rows at the poses of the iterate."""
    constrained, discrete_motions = step.constrained, step.discrete_motions
    write_maximal_joint_errors(constrained.maximal_joints, discrete_motions, constrained.row_states)
    if len(constrained.tree.closures) > 0 or len(system.rows) > len(system.tree.constraint_axes):
        write_remaining_rows(system, work, step, t)


@lazy_kernel
def write_remaining_rows(system, work, step, t):
    """Write the rows that maximal-coordinate joints do not provide, at the poses of the iterate and zero velocity."""
    constrained, discrete_motions, q = step.constrained, step.discrete_motions, step.q
    bodies, rows, closures = constrained.work.bodies, constrained.work.rows, constrained.tree.closures
    for i in range(1, len(discrete_motions)):
        store(bodies[i].x, load(discrete_motions[i].x))
        store(bodies[i].R, load(discrete_motions[i].R))
    update_markers(system.tree, bodies)
    update_loop_frames(constrained.tree, q, step.scratch, constrained.work)
    for k in range(len(closures)):
        if closures[k].last_constant_row < closures[k].last_row and not closures[k].one_plane:
            start = load(work.bodies[closures[k].loop_frame].R)
            track_constraint_axes(constrained.tree, closures[k], work.constraint_axes, start, constrained.work)
    write_loop_rows(constrained.tree, step.scratch, constrained.work)
    write_all(system.constraints, system.forces.states, t, bodies, q, step.scratch, rows, constrained.work.terms)
    for k in range(len(closures)):
        store_errors(rows, closures[k].first_row, closures[k].last_row, constrained.row_states)
    store_errors(rows, len(constrained.work.constraint_axes), len(rows), constrained.row_states)


@formula
def store_errors(rows, first, last, row_states):
    """Copy the errors of the rows from `first` to `last`."""
    for r in range(first, last):
        row_states[r].error = rows[r].error


@kernel
def track_constraint_axes(tree, closure, start_axes, start, work):
    """Choose the constraint axes of a joint that are closest to those at the start, in the same order.

    Start and end axes are eliminated in pairs, without pivoting; `start_axes` are in M at the start, turned by `start`.
    """
    basis, k, R = work.basis, 0, load(work.bodies[closure.loop_frame].R)
    for j in range(closure.iv, closure.iv + closure.nv):
        if not tree.driven[j]:
            write_axes(basis[k], transposed_times(R, load(work.columns[j].angular)))
            write_axes(basis[k, 3:], transposed_times(R, load(work.columns[j].linear)))
            k += orthonormalize(basis, k)
    for r in range(closure.first_row, closure.last_row):
        T = rotated_force(start, load_force(start_axes[r]))
        write_axes(basis[k], transposed_times(R, T.t))
        write_axes(basis[k, 3:], transposed_times(R, T.f))
        k += orthonormalize(basis, k)
        store_row(work.constraint_axes[r], basis[k - 1])


# --- active set ---------------------------------------------------------------------------------------------------
@kernel
def select_active_rows(work, constrained):
    """Write the active set: rows that constrain positions, and unilateral rows that are active at the start."""
    rows, count = work.rows, 0
    for r in range(len(rows)):
        constrained.row_states[r].impulse = constrained.row_states[r].dissipation = 0.0
        constrained.row_states[r].is_active = 0
        if not rows[r].primary and (rows[r].active if rows[r].one_sided else rows[r].holonomic):
            work.dual.active_rows[count] = r
            constrained.row_states[r].is_active = 1
            count += 1
    constrained.active_count[0], constrained.delassus_count[0] = count, 0


@kernel
def add_violated_rows(work, constrained):
    """Add violated unilateral rows to the active set, loop joints excluded."""
    rows, active_rows, count = work.rows, work.dual.active_rows, constrained.active_count[0]
    for r in range(len(work.constraint_axes), len(rows)):
        if rows[r].one_sided and constrained.row_states[r].error < 0.0 and not constrained.row_states[r].is_active:
            active_rows[count] = r
            constrained.row_states[r].is_active = 1
            count += 1
    constrained.active_count[0] = count


@kernel
def rows_satisfied(work, constrained, max_violation):
    """Return whether the active rows hold at the end, as closely as at the start of the run.

    Small corrections do not imply this: they do not include ineffective or dependent rows.
    """
    rows = work.rows
    for k in range(constrained.active_count[0]):
        r = work.dual.active_rows[k]
        if (
            constraint_violation(rows[r], constrained.row_states[r].error)
            > max_violation / rows[r].weight + 10.0 * constrained.row_states[r].initial_violation
        ):
            return False
    return True


# --- impulses -----------------------------------------------------------------------------------------------------
@lazy_template(solve_row_impulses, response_reusing_factors)
def correct_rows(system, work, step, h):
    """Correct the impulses of the active rows, and add the response to the correction to `work.response`."""
    constrained, response = step.constrained, work.response
    copy(response, constrained.residual_response)
    solve_row_impulses(system, work, step, h)
    apply_impulse_corrections(work, constrained)
    response_reusing_factors(system, work, step)
    accumulate_primary_impulses(work, constrained)
    add(response, constrained.residual_response)


@template(impulse_response)
def response_of_start(system, work, step):
    """Compute the response to `work.wrenches` and `work.impulse` with the factorization of the start."""
    zero_rhs(work)
    impulse_response(system, work)


@template(apply_inverse_mass)
def solve_row_impulses_at_start(system, work, step, h):
    """Compute the corrections z of the impulses of the active rows into `work.dual.x`, with W and J of the start.

    W is computed in the first iteration of a step and where rows were added.
    """
    rows, terms, dual, constrained = work.rows, work.terms, work.dual, step.constrained
    count = constrained.active_count[0]
    for k in range(count):
        r = dual.active_rows[k]
        dual.r[k] = constrained.row_states[r].error / h + jacobian_product_of_row(
            rows[r], terms, work.bodies, work.response
        )
        dual.lower[k] = (
            -constrained.row_states[r].impulse
            - step.settings.first_kick * h * constrained.row_states[r].start_multiplier
            if rows[r].one_sided
            else -math.inf
        )
        dual.upper[k] = math.inf
        dual.x[k] = math.nan
    if constrained.delassus_count[0] != count:
        zero_rhs(work)
        build_delassus(system, work, count)
        constrained.delassus_count[0] = count
    for k in range(count):
        if dual.W[k, k] == 0.0:
            dual.r[k] = 0.0
    solve_multipliers(
        dual.W[:count, :count], dual.r[:count], dual.lower[:count], dual.upper[:count], dual.x[:count], dual.solver
    )


@kernel
def apply_impulse_corrections(work, constrained):
    """Accumulate the corrections `work.dual.x` of the active rows, and apply them to bodies and coordinates."""
    dual = work.dual
    clear_impulses(work)
    for k in range(constrained.active_count[0]):
        r = dual.active_rows[k]
        constrained.row_states[r].impulse += dual.x[k]
        apply_row_impulse(work.rows[r], work.terms, dual.x[k], work.wrenches, work.impulse)


@kernel
def apply_active_impulses(work, constrained):
    """Apply the accumulated impulses of the active rows to bodies and coordinates."""
    for k in range(constrained.active_count[0]):
        r = work.dual.active_rows[k]
        apply_row_impulse(work.rows[r], work.terms, constrained.row_states[r].impulse, work.wrenches, work.impulse)


@kernel
def apply_primary_impulses(work, constrained):
    """Apply the accumulated impulses of the primary rows to bodies and coordinates."""
    for r in range(len(work.rhs)):
        if work.rows[r].primary:
            apply_row_impulse(work.rows[r], work.terms, constrained.row_states[r].impulse, work.wrenches, work.impulse)


@kernel
def write_primary_residuals(work, constrained, h):
    """Set the residuals of the primary rows to the rates that remove their errors within the step."""
    for r in range(len(work.rhs)):
        if work.rows[r].primary:
            work.rows[r].residual = constrained.row_states[r].error / h


@kernel
def accumulate_primary_impulses(work, constrained):
    """Add the multipliers of the primary rows to their accumulated impulses."""
    for r in range(len(work.rhs)):
        if work.rows[r].primary:
            constrained.row_states[r].impulse += work.rows[r].multiplier


@kernel
def transfer_impulses_to_bodies(tree, work):
    """Transfer the impulses on loop joints and markers to the bodies."""
    apply_loop_impulses(tree, work.impulse, work)
    transfer_marker_wrenches(tree, work.bodies, work.wrenches)


@kernel
def clear_loop_coordinates(tree, x):
    """Set the entries of loop joints to 0: their generalized forces have been applied to the bodies."""
    for k in range(len(tree.closures)):
        closure = tree.closures[k]
        for j in range(closure.iv, closure.iv + closure.nv):
            x[j] = 0.0


# --- start and end of a step --------------------------------------------------------------------------------------
@kernel
def begin_rows(work, constrained):
    """Store multipliers and violations of the rows at the start of the run."""
    store_start_multipliers(work, constrained)
    for r in range(len(work.rows)):
        constrained.row_states[r].anticipated = constrained.row_states[r].impact = 0.0
        constrained.row_states[r].held = work.rows[r].active
        constrained.row_states[r].initial_violation = constraint_violation(work.rows[r], work.rows[r].error)


@kernel
def store_start_multipliers(work, constrained):
    """Store which unilateral rows act at the start of the step, and multipliers, which `applied_wrench` includes."""
    for r in range(len(work.rows)):
        constrained.row_states[r].acted = work.rows[r].active
        constrained.row_states[r].start_multiplier = work.rows[r].multiplier if work.rows[r].one_sided else 0.0


@kernel
def store_applied_reactions(tree, work, reactions):
    """Store the part of the reactions of loop joints that the applied wrenches at the start include, world axes.

    It consists of generalized forces and of the multipliers of rows that are not primary: a method in maximal
    coordinates does not apply those of its primary rows (`solver.enforce_constraints`).  There are no places in
    `reactions` without friction of joints.
    """
    for k in range(len(reactions)):
        closure, T = tree.closures[k], no_force()
        W = wrench_of_generalized_forces(tree.driven, closure, work.tau, work.dual_basis)
        for r in range(closure.first_row, closure.last_row):
            if not work.rows[r].primary:
                T = T + work.rows[r].multiplier * load_force(work.constraint_axes[r])
        store_force(reactions[k], W + rotated_force(load(work.bodies[closure.loop_frame].R), T))
