"""Energy accounts of contacts, contact modes, and diagnostics of the contact solver."""

from __future__ import annotations

import math

from multibody_cli.constraints.rows import jacobian_product_of_row
from multibody_cli.contact_solver.rows import PER_CONTACT
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load_force
from multibody_cli.spatial.products import power
from multibody_cli.tree.jacobian import column_of

AT_LIMIT = 1e-9
"""Relative distance to the friction limit within which a contact may slip."""

SLIP_SPEED = 1e-10
"""Tangential speed above which a contact at its friction limit slips, m/s."""

OPEN, STICK, SLIP = range(3)


@kernel
def account_contacts(settings, contact_work, bodies, response, first_row, count, ledger):
    """Add the energy dissipated by contacts to the ledger; store impulse, mode and velocity after the step of each."""
    sides = settings.options.sides
    share = (1.0 - AT_LIMIT) * (math.cos(math.pi / sides) if sides > 0 else 1.0)
    for c in range(count):
        contact, first = contact_work.detection.contacts[c], first_row + PER_CONTACT * c
        for j in range(PER_CONTACT):
            k = first + j
            x = contact_work.x[k]
            contact_work.velocity_after[k] += jacobian_product_of_row(
                contact_work.rows[k], contact_work.terms, bodies, response
            )
            contact.impulse[j] = x
            account = settings.friction_account if j > 0 else settings.impact_account
            ledger[account] -= 0.5 * x * (contact_work.velocity_before[k] + contact_work.velocity_after[k])
        contact.mode = contact_mode(
            contact, share, contact_work.velocity_after[first + 1], contact_work.velocity_after[first + 2]
        )


@kernel
def contact_mode(contact, share, along, across):
    """Return OPEN, STICK or SLIP; a slipping contact moves and has at least that share of its friction limit."""
    n, t, b = contact.impulse
    if n <= 0.0:
        return OPEN
    at_limit = math.sqrt(t * t + b * b) >= share * contact.friction * n
    return SLIP if at_limit and math.sqrt(along * along + across * across) > SLIP_SPEED else STICK


@kernel
def account_drive_work(motions, work, v, ledger):
    """Add the work of prescribed coordinates against the joint reaction impulses to the ledger.

    Generalized impulses of rows on the coordinate itself are part of the reaction, but no work of the drive.
    """
    rows = motions.rows
    for k in range(len(rows)):
        iv = rows[k].iv
        carried = power(column_of(work.columns[iv]), load_force(work.wrenches[rows[k].row]))
        ledger[rows[k].account] += (carried - work.impulse[iv]) * v[iv]


@kernel
def record_diagnostics(contact_work, islands):
    """Record the residual of the step, and count the step as unsolved if an island failed."""
    failed = 0
    for island in range(islands):
        failed += contact_work.island_failed[island]
        contact_work.max_residual[0] = max(contact_work.max_residual[0], contact_work.island_residual[island])
    contact_work.unsolved_steps[0] += failed > 0
