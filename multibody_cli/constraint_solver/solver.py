"""Constraint solver: multipliers of the rows from the dual problem, for any method with an inverse mass matrix.

With J the Jacobian of the active rows and r their residual at any level, the response y = M^-1 J^T x satisfies them if

    W x + r = 0,   W = J M^-1 J^T   (one-sided rows: x >= 0, W x + r >= 0, one of both 0)

    accelerations   r = J a + bias     every evaluation; x are forces
    velocities      r = J v + rate     after a step; x are impulses (`projection`)
    positions       r = error          after a step, until the error is round-off; y is a displacement

A column of the Delassus matrix W is one response, so that an O(n)
method takes O(n m) for m rows.  Redundant rows are solved in the least-norm sense (`multipliers`).

A *primary* row is solved by the method itself, within its inverse mass matrix: its right-hand side is in `work.rhs`,
and it is no row of W.

Source: Sueda, notes 2.12, (2.122)-(2.127); Baraff 1996, section 8.
"""

from __future__ import annotations

import math

from multibody_cli.constraint_solver.corrected_velocities import ends_at_corrected_velocities
from multibody_cli.constraint_solver.ineffective_rows import (
    drop_ineffective_row,
    ineffective_tolerances,
    row_size,
    unconstrained_responses,
)
from multibody_cli.constraint_solver.loop_frames import (
    update_loop_motions,
    update_loop_rates,
)
from multibody_cli.constraint_solver.loop_joints import (
    apply_loop_forces,
    apply_loop_impulses,
    compute_loop_accelerations,
    compute_loop_rates,
    place_loops,
    update_loop_row_rates,
    write_rotor_biases,
)
from multibody_cli.constraints import TABLES
from multibody_cli.constraints.elements import write_all
from multibody_cli.constraints.reduction import update_dependent_coordinates
from multibody_cli.constraints.rotor import TABLE as ROTORS
from multibody_cli.constraints.rows import (
    apply_row_impulse,
    bias_acceleration_of_row,
    constraint_violation,
    jacobian_product_of_row,
    prescribed_acceleration_of_row,
    velocity_of_row,
)
from multibody_cli.joints.motion import prescribe
from multibody_cli.kernel import formula, kernel, lazy_kernel, template
from multibody_cli.linalg.multipliers import solve_multipliers
from multibody_cli.linalg.vectors import add, clear
from multibody_cli.method_kernels import apply_inverse_mass
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.spatial.products import no_force
from multibody_cli.tree.kinematics import forward_kinematics, update_motions
from multibody_cli.tree.markers import transfer_marker_wrenches, update_marker_changes, update_markers

ACCELERATION, VELOCITY, POSITION = range(3)

ROTORS_INDEX = TABLES.index(ROTORS)


# --- kinematics ---------------------------------------------------------------------------------------------------
@kernel
def update_kinematics(system, t, q, v, a, work):
    """Apply prescribed motions, compute the kinematics of bodies, markers and loop frames, and write all rows."""
    update_errors(system, t, q, v, a, work)
    update_loop_rates(system.tree, v, work)
    if len(system.tree.closures) > 0:
        add_loop_motions(system, q, v, a, work)


@kernel
def update_errors(system, t, q, v, a, work):
    """`update_kinematics` without rates and motions of loop joints and the biases of their rows."""
    prescribe(system.motions, t, q, v, a)
    update_dependent_coordinates(system.reductions, q, v)
    forward_kinematics(system.tree, q, v, a, work)
    update_markers(system.tree, work.bodies)
    if len(system.tree.closures) > 0:
        place_loops(system.tree, q, v, work)
    write_all(system.constraints, system.forces.states, t, work.bodies, q, v, work.rows, work.terms)


@lazy_kernel
def add_loop_motions(system, q, v, a, work):
    """Compute the motions of loop frames and the biases of their rows, after all else of `update_kinematics`."""
    update_loop_motions(system.tree, q, v, a, work)
    update_loop_row_rates(system.tree, v, work)
    write_rotor_biases(system.tree.closures, system.constraints.tables[ROTORS_INDEX], work)


@kernel
def update_rates(system, t, q, v, a, work):
    """Update all that `update_kinematics` has computed at the same t and q with other v."""
    update_rates_without_loop_motions(system, t, q, v, a, work)
    if len(system.tree.closures) > 0:
        add_loop_motions(system, q, v, a, work)


@kernel
def update_rates_without_loop_motions(system, t, q, v, a, work):
    """`update_rates` without the motions of loop frames and the biases of their rows."""
    update_dependent_coordinates(system.reductions, q, v)
    update_motions(system.tree, q, v, a, work)
    update_markers(system.tree, work.bodies)
    update_loop_rates(system.tree, v, work)
    write_all(system.constraints, system.forces.states, t, work.bodies, q, v, work.rows, work.terms)


@kernel
def largest_position_error(work):
    """Largest weighted error of position: rad, or lengths of the mechanism."""
    rows, largest = work.rows, 0.0
    for r in range(len(rows)):
        largest = max(largest, constraint_violation(rows[r], rows[r].error) * rows[r].weight)
    return largest


# --- the dual problem ---------------------------------------------------------------------------------------------
@kernel
def is_row_active(row, level):
    """Whether a row takes part at a level; displacements onto other rows keep one-sided rows that are active."""
    if row.one_sided:
        return row.active == 1 or (level == POSITION and row.error < 0.0)
    return row.active == 1 and (row.holonomic == 1 or level != POSITION)


@kernel
def select_active_rows(work, level):
    """List the active rows that are not primary in `work.dual.active_rows`; return their number."""
    rows, active_rows, count = work.rows, work.dual.active_rows, 0
    if len(active_rows) == 0:  # all rows are primary
        return 0
    for r in range(len(rows)):
        if not rows[r].primary and is_row_active(rows[r], level):
            active_rows[count] = r
            count += 1
    return count


@kernel
def clear_impulses(work):
    """Set the impulses on all bodies and coordinates to zero."""
    for i in range(len(work.child_inertias)):
        store_force(work.wrenches[i], no_force())
    clear(work.impulse)


@kernel
def write_rhs(work, level):
    """Set the right-hand sides of all rows to minus the errors or residuals.

    Nonholonomic rows do not move positions.

    A method that decides in `accelerate` which rows are primary reads those that it needs.
    """
    rows, rhs = work.rows, work.rhs
    for r in range(len(rhs)):
        if rows[r].active:
            rhs[r] = -value_at_level(rows[r], level) if rows[r].holonomic or level != POSITION else 0.0


@formula
def value_at_level(row, level):
    """Error of a row at the level of positions, its residual at other levels."""
    return row.error if level == POSITION else row.residual


@kernel
def zero_rhs(work):
    """Set the right-hand side of the primary rows to zero."""
    clear(work.rhs)


@template(apply_inverse_mass)
def impulse_response(system, work):
    """Compute the constrained response to `work.wrenches` and `work.impulse`, into `work.response` (nv,)."""
    apply_loop_impulses(system.tree, work.impulse, work)
    transfer_marker_wrenches(system.tree, work.bodies, work.wrenches)
    apply_inverse_mass(system, work, work.impulse, work.response)
    update_marker_changes(system.tree, work.bodies)
    compute_loop_rates(system.tree, work.response, work)


@template(apply_inverse_mass)
def build_delassus(system, work, count):
    """Lower triangle of W (count, count) for the active rows: column k is the response to a unit multiplier of k."""
    tree, rows, terms, active_rows, W = system.tree, work.rows, work.terms, work.dual.active_rows, work.dual.W
    s_f, s_t = ineffective_tolerances(largest_position_error(work))
    for k in range(count):
        clear_impulses(work)
        apply_row_impulse(rows[active_rows[k]], terms, 1.0, work.wrenches, work.impulse)
        apply_loop_impulses(tree, work.impulse, work)
        transfer_marker_wrenches(tree, work.bodies, work.wrenches)
        of_forces, of_moments = unconstrained_responses(tree.links, work)
        apply_inverse_mass(system, work, work.impulse, work.response)
        update_marker_changes(tree, work.bodies)
        compute_loop_rates(tree, work.response, work)
        for i in range(k, count):
            W[i, k] = jacobian_product_of_row(rows[active_rows[i]], terms, work.bodies, work.response)
        work.dual.solver.size[k] = row_size(W[k, k], of_forces + of_moments)
        if W[k, k] <= s_f * of_forces + s_t * of_moments:
            drop_ineffective_row(W, k, count)
            work.dual.r[k] = 0.0


@kernel
def solve_dual(work, count, level):
    """Compute the multipliers of the active rows from W and the residuals of a level in `work.dual.r`.

    An impulse that presses a row displaces by itself times the step.
    """
    dual, duration = work.dual, work.dual.step[0] if level == POSITION else 1.0
    for k in range(count):
        row = work.rows[dual.active_rows[k]]
        dual.lower[k] = 0.0 - duration * row.pressing if row.one_sided else -math.inf
        dual.upper[k] = math.inf
    solve_within_bounds(work, count)


@kernel
def solve_within_bounds(work, count):
    """Compute the multipliers of the active rows as `solve_dual` does, within the bounds in `work.dual`."""
    rows, dual = work.rows, work.dual
    for r in range(len(rows)):
        rows[r].multiplier = 0.0
    for k in range(count):
        dual.x[k] = math.nan  # no warm start: multipliers do not depend on earlier steps
    W = dual.W[:count, :count]
    solve_multipliers(W, dual.r[:count], dual.lower[:count], dual.upper[:count], dual.x[:count], dual.solver)
    for k in range(count):
        rows[dual.active_rows[k]].multiplier = dual.x[k]


@kernel
def apply_active_row_impulses(work, count):
    """Add the impulses J^T x of all active rows."""
    rows, active_rows = work.rows, work.dual.active_rows
    for k in range(count):
        row = rows[active_rows[k]]
        apply_row_impulse(row, work.terms, row.multiplier, work.wrenches, work.impulse)


# --- accelerations ------------------------------------------------------------------------------------------------
@formula
def is_maximal(tree):
    """Whether the bodies have maximal coordinates: without dv/dt, none has an acceleration, except the ground."""
    return len(tree.inboard_joints) > 0


@kernel
def write_acceleration_rhs(system, work, v, a):
    """Set the right-hand sides of equalities to minus their bias accelerations, with Baumgarte feedback.

    Prescribed coordinates contribute with their dv/dt in `a` (nv,), as do the bodies that they move.
    """
    rows, has_motions = work.rows, len(system.motions.rows) > 0
    at_rest = is_maximal(system.tree) and len(system.tree.markers) == 0  # markers that turn have accelerations
    for r in range(len(work.rhs)):
        if rows[r].active and not rows[r].one_sided:
            bias = rows[r].bias if at_rest else bias_acceleration_of_row(rows[r], work.terms, work.bodies)
            rows[r].residual = bias
            if has_motions:
                rows[r].residual += prescribed_acceleration_of_row(rows[r], work.terms, system.tree.driven, a)
            rows[r].residual += feedback_of_row(rows[r], work, v, bias)
            work.rhs[r] = -rows[r].residual


@kernel
def feedback_of_row(row, work, v, bias):
    """Feedback of the errors of velocity and position of a row, given its bias acceleration; 0 with projection.

    With feedback of velocities alone, the bias is removed: an Euler step of h then ends at J v = -rate error.
    """
    of_velocity, of_position, of_bias = work.feedback
    if of_velocity == 0.0:
        return 0.0
    if row.one_sided:
        return of_velocity * (velocity_of_row(row, work.terms, work.bodies, v) - row.rebound) - bias
    return of_velocity * velocity_of_row(row, work.terms, work.bodies, v) + of_position * row.error + of_bias * bias


@template(apply_inverse_mass)
def enforce_constraints(system, work, v, a):
    """Satisfy all active rows at acceleration level.

    Corrects the accelerations `a` (nv,), and applies the multipliers as forces.
    """
    tree, rows, active_rows = system.tree, work.rows, work.dual.active_rows
    update_marker_changes(tree, work.bodies)
    compute_loop_accelerations(tree, a, work)
    count = select_active_rows(work, ACCELERATION)
    if count == 0:
        clear_open_rows(work)
    else:
        for k in range(count):
            row = rows[active_rows[k]]
            bias = bias_acceleration_of_row(row, work.terms, work.bodies)
            feedback = feedback_of_row(row, work, v, bias)
            work.dual.r[k] = bias + jacobian_product_of_row(row, work.terms, work.bodies, a) + feedback
        zero_rhs(work)
        build_delassus(system, work, count)
        solve_dual(work, count, ACCELERATION)
        apply_active_row_forces(tree, work, count)
        write_rhs(work, ACCELERATION)
        apply_inverse_mass(system, work, work.tau, work.response)
        for j in range(len(a)):
            if not tree.driven[j]:
                a[j] = work.response[j]
        update_marker_changes(tree, work.bodies)
        compute_loop_accelerations(tree, a, work)
    if is_maximal(tree):  # the joints of free bodies transmit no wrenches
        apply_primary_rotor_forces(system.constraints.tables[ROTORS_INDEX], work)
    else:
        apply_primary_row_forces(work)


@kernel
def clear_open_rows(work):
    """Set the multipliers of one-sided rows to 0, where impulses may have left others: an open row has no power."""
    for k in range(len(work.special_rows)):
        if work.rows[work.special_rows[k]].one_sided:
            work.rows[work.special_rows[k]].multiplier = 0.0


@kernel
def apply_primary_row_forces(work):
    """Apply the multipliers of the primary rows as forces, from which the wrenches of joints follow."""
    for r in range(len(work.rhs)):
        row = work.rows[r]
        if row.primary:
            for k in range(row.first_term, row.last_term):
                term = work.terms[k]
                if term.iv >= 0:
                    work.tau[term.iv] += row.multiplier * term.coefficient
                else:
                    body = work.bodies[term.body]
                    store_force(body, load_force(body) - row.multiplier * load_force(term))


@kernel
def apply_primary_rotor_forces(rotors, work):
    """Apply the forces of the rotors whose rows are primary to the coordinates."""
    for k in range(len(rotors)):
        row = work.rows[rotors[k].first_row]
        if row.primary:
            work.tau[rotors[k].iv] += row.multiplier


@kernel
def apply_primary_row_impulses(tree, work):
    """Add the impulses of the primary rows that balance the last response; not in maximal coordinates, as above."""
    if not is_maximal(tree):
        for r in range(len(work.rhs)):
            if work.rows[r].primary:
                apply_row_impulse(work.rows[r], work.terms, work.rows[r].multiplier, work.wrenches, work.impulse)


@kernel
def accumulate_row_power(work, v, powers):
    """Add the power of the rows that prescribe a velocity to their accounts in `powers` (na,), W: x . J v."""
    if ends_at_corrected_velocities(work):  # `account_corrected_velocities` adds their work
        return
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.account >= 0 and not row.one_sided:
            powers[row.account] += row.multiplier * (velocity_of_row(row, work.terms, work.bodies, v) - row.rate)
        if row.drive >= 0:
            powers[row.drive] -= row.multiplier * row.rate


@kernel
def apply_active_row_forces(tree, work, count):
    """Apply the multipliers as forces on bodies and coordinates, and store all applied forces as impulses."""
    clear_impulses(work)
    apply_active_row_impulses(work, count)
    apply_impulses_as_forces(tree, work)


@kernel
def apply_impulses_as_forces(tree, work):
    """Add the impulses to the forces on bodies and coordinates, and store all applied forces as impulses."""
    bodies = work.bodies
    transfer_marker_wrenches(tree, work.bodies, work.wrenches)
    add(work.tau, work.impulse)
    for i in range(1, len(tree.links)):
        store_force(bodies[i], load_force(bodies[i]) - load_force(work.wrenches[i]))
    apply_loop_forces(tree, work.impulse, work)
    transfer_marker_wrenches(tree, bodies, bodies)
    for i in range(1, len(tree.links)):
        store_force(work.wrenches[i], -load_force(bodies[i]))
