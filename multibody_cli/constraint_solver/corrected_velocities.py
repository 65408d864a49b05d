"""Rows of Euler steps with `stabilization: baumgarte_velocity`: J v = u at the end of each step, Sueda (1.82).

Each row has one right-hand side at velocity level, u = -rate error, with J and the error of the start of the step.  A
one-sided row that is at its limit or beyond it has J v >= u; with restitution e, an approach at J v < 0 has
u = -e J v if that is more.  Accelerations satisfy the rows without contacts, and contacts keep them.
"""

from __future__ import annotations

import math

from multibody_cli.constraint_solver.active_rows import ACTIVATION_TOLERANCE
from multibody_cli.constraints.rows import IMPACT_SPEED, velocity_of_row
from multibody_cli.kernel import formula, kernel


@formula
def ends_at_corrected_velocities(work):
    """Whether the rows of a step prescribe the velocities at its end."""
    return work.feedback[2] != 0.0


@kernel
def start_corrected_velocities(work, v):
    """Activate the one-sided rows at or beyond their limits, and set `start_rate`, J v, and `rebound`, u.

    v (nv,) are the rates at the start of the step; rows without one side and account need neither.
    """
    if not ends_at_corrected_velocities(work):
        return
    rate = work.feedback[1] / work.feedback[0]
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        row.start_rate, row.rebound = velocity_of_row(row, work.terms, work.bodies, v), -rate * row.error
        if row.one_sided:
            row.active = row.error * row.weight <= ACTIVATION_TOLERANCE
            if not row.active:
                row.multiplier = 0.0
            elif row.restitution > 0.0 and row.start_rate < -IMPACT_SPEED * row.speed:
                row.rebound = max(row.rebound, -row.restitution * row.start_rate)


@kernel
def account_corrected_velocities(work, ledger):
    """Add the work of the rows in a step to the ledger: their impulses times the mean J v before and after it.

    It is the work of the stabilization, that of rows that prescribe a velocity, and the loss of one-sided rows.
    """
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if not math.isnan(row.start_rate):  # a state that begins a run has no step
            account_impulse(row, work.dual.step[0] * row.multiplier, row.rebound, ledger)


@kernel
def account_impulse(row, impulse, end, ledger):
    """Add the work of an impulse of a row that ends at J v = `end` to the ledger."""
    mean = 0.5 * (row.start_rate + end)
    if row.drive >= 0:
        ledger[row.drive] -= impulse * row.rate
    if row.account >= 0 and row.one_sided:
        ledger[row.account] -= impulse * mean
    elif row.account >= 0:
        ledger[row.account] += impulse * (mean - row.rate)


@kernel
def keep_multipliers(work, kept):
    """Store the multipliers of all rows in `kept`; responses to impulses of contacts change those of primary rows."""
    for r in range(len(work.rows)):
        kept[r] = work.rows[r].multiplier


@kernel
def restore_multipliers(work, kept):
    """Restore the multipliers in `kept`."""
    for r in range(len(work.rows)):
        work.rows[r].multiplier = kept[r]


@kernel
def account_contact_impulses(work, step, ledger):
    """Add the work of the impulses of rows beside contacts, for which limits may end at J v above u."""
    for k in range(step.sizes[0].constraint_rows):
        row = work.rows[step.active_rows[k]]
        if row.one_sided or row.account >= 0:
            end, before = step.velocity_after[k], work.dual.step[0] * row.multiplier
            if row.one_sided:
                account_impulse(row, before + step.x[k], end, ledger)
                account_impulse(row, -before, row.rebound, ledger)
            else:
                account_impulse(row, step.x[k], row.rebound, ledger)
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.primary:  # it has the multiplier of the last response
            account_impulse(row, row.multiplier, row.rebound, ledger)
