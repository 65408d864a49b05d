"""Projection of positions and velocities onto the constraints, after a step.

Both are minimal in the metric of M. Positions are corrected until the error is round-off; then velocities.  The kernels
in `Projection` are those of any system in this file, and those of free bodies on primary rows alone in
`projection_of_bodies`.

Source: Sueda, notes 2.12, (2.122)-(2.127).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from multibody_cli.constraint_solver.active_rows import (
    activate_unilateral_rows,
    deactivate_separating_rows,
    press_curved_rows,
    resume_rows,
    suspend_nonholonomic_rows,
    suspend_one_sided_rows,
)
from multibody_cli.constraint_solver.corrected_velocities import (
    account_corrected_velocities,
    ends_at_corrected_velocities,
)
from multibody_cli.constraint_solver.drive_work import (
    account_impacts,
    account_row_impulses,
)
from multibody_cli.constraint_solver.loop_frames import update_loop_rates
from multibody_cli.constraint_solver.restitution import (
    account_displacement,
    account_losses,
    correct,
    energy_at,
    energy_of_arrival,
    limit_rebounds,
    set_rebounds,
    store_depths,
    store_start_of_rows,
)
from multibody_cli.constraint_solver.row_elimination import set_primary
from multibody_cli.constraint_solver.solver import (
    POSITION,
    VELOCITY,
    apply_active_row_impulses,
    build_delassus,
    clear_impulses,
    impulse_response,
    is_row_active,
    largest_position_error,
    select_active_rows,
    solve_dual,
    update_errors,
    update_rates_without_loop_motions,
    value_at_level,
    write_rhs,
    zero_rhs,
)
from multibody_cli.constraints.rows import constraint_violation, jacobian_product_of_row, velocity_of_row
from multibody_cli.kernel import bound_kernel, kernel, kernel_parameter, template
from multibody_cli.linalg.vectors import add, copy
from multibody_cli.method_kernels import accelerate, apply_inverse_mass
from multibody_cli.tree.configuration import displace, largest_change, normalize
from multibody_cli.tree.kinematics import largest_speed

MAX_PROJECTIONS = 25
"""Maximum number of position projections after a step."""

PROJECTION_TOLERANCE = 4e-16
"""Relative error of position or of velocity that is not corrected, for the largest coordinate or speed.

The value is at round-off level: with an error c of a row whose effect vanishes as x, a mechanism that passes a singular
configuration is displaced by c/x from its branch, and changes branch where that reaches x.  The row must be dropped
(`ineffective_rows`) well before.
"""

REUSED_ERROR = 1e-13
"""Relative error of position or of velocity up to which factors of another state of the same step are used.

The error that remains is smaller by the displacement between both states.  Larger errors of position reuse the factors
of the last projection where its displacement makes the error that remains smaller than the tolerance; if such a
projection does not halve the error, the next one has new factors.
"""


# --- operations of a projection -----------------------------------------------------------------------------------
@kernel_parameter
def place(system: Any, t: float, q: Any, v: Any, a: Any, work: Any) -> None:
    """Compute the poses at q, the errors of all rows with their Jacobian, and the scale of positions."""


@kernel_parameter
def move(tree: Any, q: Any, y: Any) -> Any:
    """Displace q (nq,) by a correction y (nv,), in place; return the `largest_change`."""
    raise NotImplementedError


@kernel_parameter
def complete_positions(system: Any, q: Any, v: Any, work: Any) -> None:
    """Compute all that `place` has left out for corrections of positions but evaluations need."""


@kernel_parameter
def compute_residuals(tree: Any, work: Any, v: Any) -> Any:
    """Compute the residuals of all rows at velocity level, and the scale; return the largest relative active one."""
    raise NotImplementedError


@kernel_parameter
def complete_velocities(system: Any, t: float, q: Any, v: Any, a: Any, work: Any, corrected: bool) -> None:
    """Update the kinematics, except the motions of loop frames, for the final v; it has changed if `corrected`."""


class Projection(NamedTuple):
    """The operations of a projection of one method."""

    place: Any
    correct: Any
    move: Any
    complete_positions: Any
    compute_residuals: Any
    complete_velocities: Any


PARAMETERS = (
    accelerate,
    place,
    correct,
    move,
    complete_positions,
    compute_residuals,
    complete_velocities,
    account_impacts,
)


@template(*PARAMETERS)
def project_onto_constraints(system, work, t, q, v, a, ledger):
    """Project q and v onto the constraint manifold after a step, in place.

    With projection, `work` then has the kinematics of these q and v, except the motions of loop frames.
    """
    work.dual.factored_time[0] = math.nan
    if work.feedback[0] > 0.0:
        if ends_at_corrected_velocities(work):
            account_corrected_velocities(work, ledger)
        return
    tree, before, reused, suspended, reach, energy = system.tree, math.inf, False, False, math.inf, math.nan
    work.dual.arrivals[0] = 0
    press_curved_rows(work)
    for iteration in range(MAX_PROJECTIONS):
        place(system, t, q, v, a, work)
        if iteration == 0:
            store_depths(work)
        activate_unilateral_rows(work)
        energy = energy_of_arrival(system, q, v, work) if iteration == 0 else energy
        error, tolerance = largest_position_error(work), PROJECTION_TOLERANCE * work.dual.scales[0]
        halved = error <= 0.5 * before
        if error <= tolerance or not (halved or (reused and error > REUSED_ERROR)):
            break
        is_small = error <= REUSED_ERROR or reach * error <= tolerance
        reused = halved and is_small and work.dual.has_near_factors[0] != 0
        if not reused:
            suspended = suspend_nonholonomic_rows(work)
            accelerate(system, work, work.response)
            work.dual.has_near_factors[0] = 1
        before = error
        correct(system, work, POSITION)
        reach = move(tree, q, work.response)
    else:
        place(system, t, q, v, a, work)
    complete_positions(system, q, v, work)
    resume_rows(work)
    gain = restore_equalities(system, work, t, q, v, a) - energy if not math.isnan(energy) else 0.0
    residual = max(compute_residuals(tree, work, v), set_rebounds(work))
    account_displacement(work, gain, ledger)
    corrected = residual > PROJECTION_TOLERANCE * work.dual.scales[1]
    if corrected:
        if residual > REUSED_ERROR * tree.rate or suspended or not work.dual.has_near_factors[0]:
            accelerate(system, work, work.response)
            store_factored_positions(work, t, q)
        correct(system, work, VELOCITY)
        limit_rebounds(system, work, 0.0)
        add(v, work.response)
        account_row_impulses(work, True, ledger)
        account_losses(work, ledger)
        if work.dual.arrivals[0] > 0:
            account_impacts(system, work, v, ledger)
    complete_velocities(system, t, q, v, a, work, corrected)
    deactivate_separating_rows(work)
    store_start_of_rows(work, v)


@template(accelerate, correct, compute_residuals, complete_velocities)
def restore_equalities(system, work, t, q, v, a) -> float:
    """Bring v onto the equalities after a displacement onto one-sided rows; return the energy of the state, J.

    These rows are left out.  No equality then has a residual in their impact, which has losses of these rows alone.
    """
    suspend_one_sided_rows(work)
    if compute_residuals(system.tree, work, v) > PROJECTION_TOLERANCE * work.dual.scales[1]:
        accelerate(system, work, work.response)
        correct(system, work, VELOCITY)
        add(v, work.response)
        complete_velocities(system, t, q, v, a, work, True)
    resume_rows(work)
    return energy_at(system, q, v, work.bodies)


# --- for any system -----------------------------------------------------------------------------------------------
@template(apply_inverse_mass)
def project(system, work, level):
    """Compute the response `correct` from the dual problem of the rows that are not primary."""
    rows, active_rows = work.rows, work.dual.active_rows
    count = select_active_rows(work, level)
    for k in range(count):
        row = rows[active_rows[k]]
        work.dual.r[k] = value_at_level(row, level) - (
            work.dual.rebound_share[0] * row.rebound if level == VELOCITY else 0.0
        )
    if len(work.rhs) > 0 and count > 0:
        clear_impulses(work)
        write_rhs(work, level)
        impulse_response(system, work)
        for k in range(count):
            work.dual.r[k] += jacobian_product_of_row(rows[active_rows[k]], work.terms, work.bodies, work.response)
        zero_rhs(work)
    if len(active_rows) > 0:  # or else all rows are primary
        build_delassus(system, work, count)
        solve_dual(work, count, level)
    clear_impulses(work)
    apply_active_row_impulses(work, count)
    write_rhs(work, level)
    impulse_response(system, work)


@kernel_parameter
def project_velocities(system, work) -> None:
    """Compute the response that removes the residuals of the active rows at velocity level."""


@template(apply_inverse_mass)
def project_velocities_of_all_rows(system, work):
    """Compute this response with the rows that are primary now."""
    project(system, work, VELOCITY)


@template(apply_inverse_mass)
def project_velocities_by_eliminated_rows(system, work):
    """Compute this response in a contact step in which no row is primary, before it has lost the factors of rows."""
    set_primary(work, work.elimination.regular[0])
    project(system, work, VELOCITY)
    set_primary(work, 0)


@kernel
def place_any_system(system, t, q, v, a, work):
    """Compute the poses at q, the errors of all rows with their Jacobian, and the scale of positions."""
    update_errors(system, t, q, v, a, work)
    work.dual.scales[0] = coordinate_scale(system.tree, work)


@kernel
def move_coordinates(tree, q, y):
    """Displace q (nq,) by a correction y (nv,), in place; return the `largest_change`."""
    displace(tree, q, y, 1.0)
    normalize(tree, q)
    return largest_change(tree, y)


@kernel
def complete_loop_rates(system, q, v, work):
    """Compute the rates of loop joints, which corrections of positions do not read."""
    update_loop_rates(system.tree, v, work)


@kernel
def compute_residuals_of_rows(tree, work, v):
    """Compute the residuals of all rows at velocity level, and the scale; return the largest relative active one."""
    work.dual.scales[1] = speed_scale(tree, work)
    return compute_velocity_residuals(work, v)


@kernel
def update_corrected_rates(system, t, q, v, a, work, corrected):
    """Update the kinematics, except the motions of loop frames, if v has changed."""
    if corrected:
        update_rates_without_loop_motions(system, t, q, v, a, work)


def projection_with(apply_inverse_mass: Any) -> Projection:
    """Return the operations for any system, with the inverse mass matrix of a method."""
    correct = bound_kernel(project, apply_inverse_mass=apply_inverse_mass)
    return Projection(
        place_any_system,
        correct,
        move_coordinates,
        complete_loop_rates,
        compute_residuals_of_rows,
        update_corrected_rates,
    )


# --- factors and residuals -------------------------------------------------------------------------------------------
@kernel
def store_factored_positions(work, t, q):
    """Store the time and the positions of the last factorization."""
    work.dual.factored_time[0] = t
    copy(q, work.dual.factored_q)


@kernel
def forget_factors(work):
    """Let the next projection compute factors: which state the last ones belong to depends on the calls before it."""
    work.dual.has_near_factors[0] = 0


@kernel
def take_factored_positions(work, t, q) -> bool:
    """Whether the last factorization is that of t and q; the next call returns False.  Counts the evaluations."""
    work.dual.evaluations[0] += 1
    work.dual.has_near_factors[0] = 1
    same = len(work.dual.factored_q) > 0 and work.dual.factored_time[0] == t
    work.dual.factored_time[0] = math.nan
    if same:
        for k in range(len(q)):
            same = same and work.dual.factored_q[k] == q[k]
    return same


@kernel
def coordinate_scale(tree, work):
    """Largest coordinate of the origin of a body, relative to the length of the mechanism, but at least 1."""
    farthest = tree.length
    for i in range(len(work.bodies)):
        x = work.bodies[i].x
        farthest = max(farthest, abs(x[0]), abs(x[1]), abs(x[2]))
    return farthest / tree.length


@kernel
def speed_scale(tree, work):
    """`fastest_body`, but at least the slowest rate, 1/s.

    The arms of the wrenches of rows have the round-off of the coordinates, and the velocities of rows that of their
    products with angular velocities.
    """
    return max(tree.rate, fastest_body(tree, work))


@kernel
def fastest_body(tree, work):
    """`largest_speed` of all bodies, 1/s."""
    fastest, per_length = 0.0, 1.0 / tree.length
    for i in range(len(work.child_inertias)):  # without loop frames, whose motions are not known
        fastest = max(fastest, largest_speed(work.bodies[i], per_length))
    return fastest


@kernel
def compute_velocity_residuals(work, v):
    """Compute the residuals of all rows at velocity level; return the largest relative active one."""
    rows, largest = work.rows, 0.0
    for r in range(len(rows)):
        row = rows[r]
        if row.active or row.one_sided:
            row.residual = velocity_of_row(row, work.terms, work.bodies, v)
        if is_row_active(row, VELOCITY):
            largest = max(largest, constraint_violation(row, row.residual) * row.weight)
    return largest


@kernel
def add_response_to_residuals(work):
    """Add the change due to the last response to the residuals of all rows at velocity level."""
    for r in range(len(work.rows)):
        row = work.rows[r]
        row.residual += jacobian_product_of_row(row, work.terms, work.bodies, work.response)
