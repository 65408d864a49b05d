"""The rows that take part in a projection: those of limits that a step has reached, and those that it leaves out."""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel

SUSPENDED = -1
"""Value of `active` of an active row that a part of a projection leaves out."""

ARRIVED = 2
"""Value of `active` of a one-sided row that a step has reached; its impulse is left to the next contact step."""

ACTIVATION_TOLERANCE = 1e-9
"""Weighted distance from its limit within which a one-sided row becomes active."""

SEPARATION_VELOCITY = 1e-9
"""Rate, relative to `speed` of the row, up to which an active one-sided row stays active after a step."""


@kernel
def press_curved_rows(work):
    """Set the impulses of the step by which curved one-sided rows press, N s; those of other rows are 0.

    An Euler step, whose rates lag behind its path, leaves such a limit by its curvature although it presses: its
    corrections may take back as much.
    """
    duration = work.dual.step[0] if work.dual.lag[0] > 0.0 else 0.0
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        presses = row.one_sided and row.active == 1 and row.bias != 0.0
        row.pressing = duration * max(row.multiplier, 0.0) if presses else 0.0


@kernel
def activate_unilateral_rows(work):
    """Activate the one-sided rows at or beyond their limits; called in each iteration of the position projection.

    A limit that curves, as that of a rope, is left by the square of the step and with a rate in proportion to the step
    while it acts: the row stays active there.  Where bodies in contact arrive at a limit, the next contact step stops
    them, limits and contacts at once: after an impulse of the limit alone, a mechanism on both would never rest.
    """
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        near = row.error * row.weight <= ACTIVATION_TOLERANCE
        near = near or (row.active == 1 and not rebounds(row) and curves_along(row, work, 0.0))
        if row.one_sided and near:
            work.dual.arrivals[0] += not row.active
            if row.active == 0:
                row.active = ARRIVED if row.in_contact and row.restitution == 0.0 else 1


@formula
def rebounds(row):
    """Return whether a row with restitution separated at the start of the step."""
    return row.restitution > 0.0 and row.start_rate > SEPARATION_VELOCITY * row.speed


@formula
def curves_along(row, work, rate):
    """Return whether a row leaves its limit by no more than the curvature of that in a step; never for coordinates."""
    change = work.dual.step[0] * abs(row.bias)
    return change > 0.0 and rate <= change and row.error <= work.dual.step[0] * change


@kernel
def suspend_nonholonomic_rows(work) -> bool:
    """Suspend the active nonholonomic equalities while positions are projected; return whether there are any.

    A method that eliminates them itself leaves out those that are suspended.
    """
    found = False
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if not row.holonomic and not row.one_sided and row.active:
            row.active = SUSPENDED
            found = True
    return found


@kernel
def suspend_one_sided_rows(work):
    """Suspend the active one-sided rows while velocities are brought onto the equalities."""
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.one_sided and row.active == 1:
            row.active = SUSPENDED


@kernel
def resume_rows(work):
    """Activate the rows that were suspended."""
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.active == SUSPENDED:
            row.active = 1


@kernel
def deactivate_separating_rows(work):
    """Deactivate the one-sided rows that separate; none is pressed any more."""
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.one_sided:
            row.active, row.pressing = min(row.active, 1), 0.0
            near = row.residual <= SEPARATION_VELOCITY * row.speed
            near = near or (row.rebound == 0.0 and curves_along(row, work, row.residual))
            row.active = row.active == 1 and near
            if not row.active:
                row.multiplier = 0.0
