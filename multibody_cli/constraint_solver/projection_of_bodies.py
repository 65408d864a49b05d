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
    fit_position,
    place_ball,
    place_screw,
    relative_twist,
    update_constraint_axes,
)
from multibody_cli.constraint_solver.loop_joints import (
    compute_rates_of_closure,
    write_errors_of_closure,
    write_rates_of_closure,
    write_terms_of_closure,
)
from multibody_cli.constraint_solver.projection import Projection, largest_entry
from multibody_cli.constraint_solver.solver import (
    VELOCITY,
    is_row_active,
    update_rates_without_loop_motions,
    write_rhs,
)
from multibody_cli.constraints.elements import write_all
from multibody_cli.constraints.rows import velocity_of_row
from multibody_cli.joints.motion import prescribe
from multibody_cli.kernel import bound_kernel, formula, kernel, kernel_parameter, template
from multibody_cli.model import KERNEL_BALL, KERNEL_GENERAL, KERNEL_SCREW
from multibody_cli.spatial.memory import load_force
from multibody_cli.spatial.products import power
from multibody_cli.tree.configuration import displace_coordinates, normalize_quaternions
from multibody_cli.tree.kinematics import place_bodies
from multibody_cli.tree.markers import update_markers


@kernel_parameter
def respond(system: Any, work: Any, y: Any) -> None:
    """Compute the motions of all bodies for the right-hand sides of the rows, as rates y (nv,) and as (dw, dv)."""


@kernel
def place_on_bodies(system, t, q, v, a, work):
    """Compute the poses of bodies and loop frames, and the errors of all rows."""
    tree, closures = system.tree, system.tree.closures
    prescribe(system.motions, t, q, v, a)
    place_bodies(tree, q, v, a, work)
    update_markers(tree, work.bodies)
    for k in range(len(closures)):
        closure, loop_frame = closures[k], work.bodies[closures[k].loop_frame]
        if closure.joint_kernel == KERNEL_SCREW:
            place_screw(tree.parts[closure.first_part], closure, loop_frame, q, work, False)
        elif closure.joint_kernel == KERNEL_BALL:
            place_ball(closure, loop_frame, work)
        else:
            fit_position(tree, closure, loop_frame, q, v, work)
        update_constraint_axes(tree, closure, loop_frame, work)
        write_errors_of_closure(closure, work.bodies, work)
        if closure.joint_kernel == KERNEL_GENERAL:
            write_terms_of_closure(closure, work.bodies, work)
    write_all(system.constraints, t, work.bodies, q, work.rows, work.terms)


@template(respond)
def correct_bodies(system, work, level):
    """Compute the response `projection.correct`; the rates of single screws and balls are left out."""
    tree = system.tree
    write_rhs(work, level)
    respond(system, work, work.response)
    for k in range(len(tree.closures)):
        if tree.closures[k].joint_kernel == KERNEL_GENERAL:
            compute_rates_of_closure(tree.driven, tree.closures[k], work.response, work)


@kernel
def move_bodies(tree, q, y):
    """Displace the coordinates of bodies by a correction y (nv,); return its largest entry for bodies.

    Coordinates of joints that are fitted by iteration are displaced too, so that this starts close to its solution.
    """
    closures, plain, quaternions, n = tree.closures, tree.plain, tree.quaternions, len(y)
    n_plain, n_quaternions = len(plain), len(quaternions)
    if len(closures) > 0:
        n_plain, n_quaternions, n = closures[0].first_plain, closures[0].first_quaternion, closures[0].iv
    displace_and_normalize(plain[:n_plain], quaternions[:n_quaternions], q, y)
    for k in range(len(closures)):
        if closures[k].joint_kernel == KERNEL_GENERAL:
            displace_and_normalize(
                plain[closures[k].first_plain : closures[k].last_plain],
                quaternions[closures[k].first_quaternion : closures[k].last_quaternion],
                q,
                y,
            )
    return largest_entry(y[:n])


@formula
def displace_and_normalize(plain, quaternions, q, y):
    """Displace the given coordinates by y (nv,)."""
    displace_coordinates(plain, quaternions, q, y, 1.0)
    normalize_quaternions(quaternions, q)


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
    """Compute the residuals of all rows at velocity level; return the largest among the active rows."""
    closures, rows, largest, first = tree.closures, work.rows, 0.0, 0
    for k in range(len(closures)):
        closure = closures[k]
        write_rates_of_closure(tree.driven, closure, v, work)
        largest = max(largest, compute_residuals_of_closure(closure, work))
        first = closure.last_row
    for r in range(first, len(rows)):
        rows[r].residual = velocity_of_row(rows[r], work.terms, work.bodies, v)
        if is_row_active(rows[r], VELOCITY):
            largest = max(largest, abs(rows[r].residual))
    return largest


@formula
def compute_residuals_of_closure(closure, work):
    """Compute the residuals of the rows of a closure from the relative twist of its bodies; return the largest."""
    V, rows, largest = relative_twist(closure, work.bodies[closure.loop_frame], work.bodies), work.rows, 0.0
    for r in range(closure.first_row, closure.last_row):
        residual = power(V, load_force(work.constraint_axes[r])) + rows[r].rate
        rows[r].residual = residual
        largest = max(largest, abs(residual))
    return largest


@kernel
def update_rates_and_wrenches(system, t, q, v, a, work, corrected):
    """Update the rates and the inertial wrenches, which `place_on_bodies` leaves out, for the final v."""
    update_rates_without_loop_motions(system, t, q, v, a, work)


def projection_of_bodies(respond: Any) -> Projection:
    """Return the operations for free bodies whose rows are all primary, with the response `respond` of a method."""
    correct = bound_kernel(correct_bodies, respond=respond)
    return Projection(
        place_on_bodies, correct, move_bodies, complete_joints, compute_residuals_of_bodies, update_rates_and_wrenches
    )
