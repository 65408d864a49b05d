"""Operations of a projection for free bodies whose rows are all primary (`projection.Projection`).

No row depends on the coordinates of joints there.  Corrections of positions therefore need the poses of bodies and of
loop frames and the errors of rows alone.  The coordinates of joints, and the terms of rows that the factorization does
not read, follow at the final positions.
"""

from __future__ import annotations

from typing import Any

from multibody_cli.constraint_solver.loop_frames import (
    fit_angle,
    fit_ball,
    relative_twist,
    update_loop_frame,
)
from multibody_cli.constraint_solver.loop_joints import (
    compute_rates_of_closure,
    write_errors_of_closure,
    write_rates_of_closure,
    write_terms_of_closure,
)
from multibody_cli.constraint_solver.projection import Projection
from multibody_cli.constraint_solver.solver import (
    VELOCITY,
    is_row_active,
    update_rates_without_loop_motions,
    write_rhs,
)
from multibody_cli.constraints.elements import write_all
from multibody_cli.constraints.rows import velocity_of_row
from multibody_cli.joints.motion import prescribe
from multibody_cli.kernel import bound_kernel, formula, kernel, kernel_parameter, number_parameter, template
from multibody_cli.model import KERNEL_BALL, KERNEL_GENERAL, KERNEL_SCREW
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import motion_in_axes, power
from multibody_cli.tree.configuration import displace_coordinates, free_end, largest_change, normalize_quaternions
from multibody_cli.tree.kinematics import place_bodies
from multibody_cli.tree.markers import update_markers


@kernel_parameter
def respond(system: Any, work: Any, y: Any) -> None:
    """Compute the motions of all bodies for the right-hand sides of the rows, as rates y (nv,) and as (dw, dv)."""


FITS_BY_ITERATION = number_parameter("FITS_BY_ITERATION", bool)
"""Whether the coordinates of any joint are fitted by iteration, and are therefore displaced with those of bodies."""


@kernel
def place_on_bodies(system, t, q, v, a, work):
    """Compute the poses of bodies and loop frames, the errors of all rows, and the scales of both tolerances."""
    tree, closures = system.tree, system.tree.closures
    prescribe(system.motions, t, q, v, a)
    work.dual.scales[0], work.dual.scales[1] = place_bodies(tree, q, v, a, work)
    update_markers(tree, work.bodies)
    for k in range(len(closures)):
        closure = closures[k]
        update_loop_frame(tree, closure, q, v, work, False)
        write_errors_of_closure(closure, work.bodies, work)
        if closure.joint_kernel == KERNEL_GENERAL:
            write_terms_of_closure(closure, work.bodies, work)
    write_all(system.constraints, system.forces.states, t, work.bodies, q, v, work.rows, work.terms)


@template(respond, FITS_BY_ITERATION)
def correct_bodies(system, work, level):
    """Compute the response `projection.correct`; single screws and balls, which are not displaced, have no rates."""
    write_rhs(work, level)
    respond_with_joints(system, work)


@template(respond, FITS_BY_ITERATION)
def respond_with_joints(system, work):
    """Compute the response to the right-hand sides, with rates of joints that are fitted by iteration, 0 for others."""
    tree, y = system.tree, work.response
    respond(system, work, y)
    for j in range(free_end(tree), len(y)):
        y[j] = 0.0
    if FITS_BY_ITERATION:
        for k in range(len(tree.closures)):
            if tree.closures[k].joint_kernel == KERNEL_GENERAL:
                compute_rates_of_closure(tree.driven, tree.closures[k], y, work)


@template(FITS_BY_ITERATION)
def move_bodies(tree, q, y):
    """Displace the coordinates of bodies by a correction y (nv,); return the `largest_change`."""
    displace_bodies(tree, q, y, 1.0)
    return largest_change(tree, y)


@template(FITS_BY_ITERATION)
def displace_bodies(tree, q, rates, h):
    """Displace q (nq,) at the rates (nv,) for the time h, without quaternions of balls, which are fitted."""
    closures, plain, quaternions = tree.closures, tree.plain, tree.quaternions
    last = closures[0].first_quaternion if len(closures) > 0 else len(quaternions)
    displace_coordinates(plain, quaternions[:last], q, rates, h)
    normalize_quaternions(quaternions[:last], q)
    if FITS_BY_ITERATION:
        for k in range(len(closures)):
            if closures[k].joint_kernel == KERNEL_GENERAL:
                of_joint = quaternions[closures[k].first_quaternion : closures[k].last_quaternion]
                displace_coordinates(plain[:0], of_joint, q, rates, h)
                normalize_quaternions(of_joint, q)


@kernel
def complete_joints(system, q, v, work):
    """Fit the coordinates of joints that positions of bodies do not need, and write the terms of all their rows."""
    tree, closures = system.tree, system.tree.closures
    for k in range(len(closures)):
        closure, loop_frame = closures[k], work.bodies[closures[k].loop_frame]
        part = tree.parts[closure.first_part]
        if closure.joint_kernel == KERNEL_SCREW:
            fit_angle(part, closure, loop_frame, q, work)
        elif closure.joint_kernel == KERNEL_BALL:
            fit_ball(part, closure, loop_frame, q, work)
        if closure.joint_kernel != KERNEL_GENERAL:
            write_terms_of_closure(closure, work.bodies, work)


@kernel
def compute_residuals_of_bodies(tree, work, v):
    """Compute the residuals of all rows at velocity level; return the largest relative one."""
    closures, rows, largest = tree.closures, work.rows, 0.0
    for k in range(len(closures)):
        closure = closures[k]
        write_rates_of_closure(tree.driven, closure, v, work)
        largest = max(largest, compute_residuals_of_closure(closure, work))
    for r in range(len(work.constraint_axes), len(rows)):
        rows[r].residual = velocity_of_row(rows[r], work.terms, work.bodies, v)
        if is_row_active(rows[r], VELOCITY):
            largest = max(largest, abs(rows[r].residual) * rows[r].weight)
    return largest


@formula
def compute_residuals_of_closure(closure, work):
    """Compute the residuals of the rows of a closure from the twist of its bodies; return the largest relative one."""
    loop_frame, rows, largest = work.bodies[closure.loop_frame], work.rows, 0.0
    V = motion_in_axes(load(loop_frame.R), relative_twist(closure, loop_frame, work.bodies))
    for r in range(closure.first_row, closure.last_row):
        residual = power(V, load_force(work.constraint_axes[r])) + rows[r].rate
        rows[r].residual = residual
        largest = max(largest, abs(residual) * rows[r].weight)
    return largest


@kernel
def update_rates_and_wrenches(system, t, q, v, a, work, corrected):
    """Update the rates and the inertial wrenches, which `place_on_bodies` leaves out, for the final v."""
    update_rates_without_loop_motions(system, t, q, v, a, work)


def projection_of_bodies(respond: Any, fits_by_iteration: bool) -> Projection:
    """Return the operations for free bodies whose rows are all primary.

    Parameters
    ----------
    respond
        The response of a method to right-hand sides alone.
    fits_by_iteration
        Whether any joint is neither a single screw nor a single ball.
    """
    correct = bound_kernel(correct_bodies, respond=respond, FITS_BY_ITERATION=fits_by_iteration)
    move = bound_kernel(move_bodies, FITS_BY_ITERATION=fits_by_iteration)
    return Projection(
        place_on_bodies,
        correct,
        move,
        complete_joints,
        compute_residuals_of_bodies,
        update_rates_and_wrenches,
    )
