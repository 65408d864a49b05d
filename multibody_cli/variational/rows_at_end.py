"""Constraint rows at the end of a variational step: velocities are projected, and limits rebound or stay closed.

The impulses of positions act at the start of a step (`constrained`), those of velocities at its end.  A rebound changes
the momenta.  All other impulses of holonomic rows change the velocities alone: those of positions in the next step
contain them.  A row on which the step ends and that the forces there press has a rate with the error of the step.  If
that opened the row, the next step would end in an impact: it is projected instead, as long as the sum of its impulse
and of that by the forces is positive.  A rebound that lifts the row has no duration, and the forces no impulse in it.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.active_rows import (
    ACTIVATION_TOLERANCE,
    activate_unilateral_rows,
    deactivate_separating_rows,
)
from multibody_cli.constraint_solver.drive_work import account_impacts_of_step, account_row_impulses
from multibody_cli.constraint_solver.loop_joints import apply_loop_impulses
from multibody_cli.constraint_solver.projection import PROJECTION_TOLERANCE, compute_velocity_residuals
from multibody_cli.constraint_solver.restitution import (
    account_losses,
    correct,
    limit_rebounds,
    store_start_of_rows,
)
from multibody_cli.constraint_solver.solver import VELOCITY, clear_impulses
from multibody_cli.constraints.rows import IMPACT_SPEED, apply_row_impulse
from multibody_cli.kernel import kernel, lazy_template
from multibody_cli.linalg.vectors import add
from multibody_cli.variational.constrained import clear_loop_coordinates, store_start_multipliers
from multibody_cli.variational.discrete_motion import add_impulses, add_velocity_changes


@lazy_template(correct)
def begin_curved_rows(system, work, step, h):
    """Compute the impulses that momenta of the velocities at the start of a run lack: those that turn one-sided rows.

    The momenta of a step that has ended leave a row that curves by h b / 2, and the impulse of the next step includes
    that of their projection (`constrained`).  The tension of a rope that slides is that of the whole step.
    """
    row_states = step.constrained.row_states
    for r in range(len(work.rows)):
        row = work.rows[r]
        row_states[r].impulse = row.multiplier
        row.residual = 0.5 * h * row.bias if row.one_sided and row.active == 1 else 0.0
    correct(system, work, VELOCITY)
    for r in range(len(work.rows)):
        row = work.rows[r]
        row_states[r].lacking = row.multiplier if row.one_sided and row.active == 1 else 0.0
        row.multiplier = row_states[r].impulse
    clear_impulses(work)


@kernel
def set_rebounds_of_step(work) -> float:
    """Set the rates with which one-sided rows leave their limits; return the largest relative change that they require.

    The impulse of the step has changed the rate at its end, so that the approach is that at its start.
    """
    work.dual.rebound_share[0] = largest = 0.0
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        row.rebound, row.approach = 0.0, row.residual
        if row.active == 1 and row.start_rate < -IMPACT_SPEED * row.speed:
            row.rebound, work.dual.rebound_share[0] = -row.restitution * row.start_rate, 1.0
            largest = max(largest, (row.rebound - row.residual) * row.weight)
    return largest


@kernel
def press_rows(work, row_states, h) -> float:
    """Set the impulses over h that press rows on which the step ends; return their largest relative separation.

    h is the part of the step over which the forces at its end act, 0 with order 1.
    """
    largest = 0.0
    for k in range(len(work.special_rows)):
        row, pressing = work.rows[work.special_rows[k]], h * row_states[work.special_rows[k]].start_multiplier
        if pressing > 0.0 and row.rebound == 0.0 and row.error * row.weight <= ACTIVATION_TOLERANCE:
            row.pressing = pressing
            largest = max(largest, row.residual * row.weight)
    return largest


@kernel
def lift_pressed_rows(work) -> bool:
    """Take the impulses of forces from pressed rows that a response with rebounds lifts; return whether there are any.

    The response has taken back all of the impulse of such a row, and the row separates all the same.  Rows that no
    rebound moves have a part of it, as without rebounds.
    """
    found = False
    for k in range(len(work.special_rows) if work.dual.rebound_share[0] > 0.0 else 0):
        row = work.rows[work.special_rows[k]]
        if 0.0 < row.pressing == -row.multiplier:
            row.pressing, found = 0.0, True
    return found


@kernel
def store_impacts(work, row_states):
    """Store the impulses that stop the arrival of the step at a row, or let it rebound: they act in the next step."""
    for k in range(len(work.special_rows)):
        row, row_state = work.rows[work.special_rows[k]], row_states[work.special_rows[k]]
        if row.one_sided and row.active == 1 and row_state.acted == 0 and row_state.held == 0:
            row_state.impact = row.multiplier


@lazy_template(correct, account_impacts_of_step)
def complete_rows(system, work, step, v, ledger, h):
    """Project the velocities at the end of a step of h onto the constraints; store the multipliers there."""
    tree, rows, constrained = system.tree, work.rows, step.constrained
    store_start_multipliers(work, constrained)
    dissipated = 0.0
    for r in range(len(rows)):
        constrained.row_states[r].lacking = constrained.row_states[r].impact = 0.0
        if rows[r].one_sided:
            rows[r].loss = constrained.row_states[r].dissipation
            dissipated += rows[r].loss
    activate_unilateral_rows(work)
    residual = max(compute_velocity_residuals(work, v), set_rebounds_of_step(work))
    residual = max(residual, press_rows(work, constrained.row_states, (1.0 - step.settings.first_kick) * h))
    corrected = residual > PROJECTION_TOLERANCE * tree.rate
    if corrected:
        correct(system, work, VELOCITY)
        while lift_pressed_rows(work):
            correct(system, work, VELOCITY)
        limit_rebounds(system, work, dissipated)
        add(v, work.response)
        add_velocity_changes(tree, work.bodies)
        store_impacts(work, constrained.row_states)
        account_row_impulses(work, False, ledger)
        clear_impulses(work)
        for r in range(len(rows)):
            if rows[r].rebound > 0.0 or not (rows[r].holonomic or rows[r].one_sided):
                apply_row_impulse(rows[r], work.terms, rows[r].multiplier, work.wrenches, work.impulse)
        apply_loop_impulses(tree, work.impulse, work)
        add_impulses(step.discrete_motions, work.wrenches)
        clear_loop_coordinates(tree, work.impulse)
        add(step.residual_carry_over, work.impulse)
    for r in range(len(rows)):
        constrained.row_states[r].held = constrained.row_states[r].impulse > 0.0
    account_losses(work, ledger)
    account_impacts_of_step(system, work, constrained.row_states, corrected, v, ledger)
    deactivate_separating_rows(work)
    store_start_of_rows(work, v)
