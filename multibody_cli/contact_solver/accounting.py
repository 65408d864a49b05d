"""What a step with contacts leaves behind: energy that they dissipated, their modes, and what was not solved."""

from __future__ import annotations

import math

from multibody_cli.constraints.rows import change_of_row
from multibody_cli.contact_solver.rows import PER_CONTACT
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load_force
from multibody_cli.spatial.products import power
from multibody_cli.tree.jacobian import column_of

NEARLY = 1e-9
"""Share of the limit of friction by which a contact may be below it and slip."""

STILL = 1e-10
"""A point that moves by less than this across the normal, m/s, does not slip."""

OPEN, STICK, SLIP = range(3)


@kernel
def book(settings, touch, bodies, response, first_row, count, ledger):
    """Book what contacts dissipate, and keep impulses and velocities with each contact."""
    sides = settings.options.sides
    share = (1.0 - NEARLY) * (math.cos(math.pi / sides) if sides > 0 else 1.0)
    for c in range(count):
        contact, first = touch.found.contacts[c], first_row + PER_CONTACT * c
        for j in range(PER_CONTACT):
            k = first + j
            x = touch.x[k]
            touch.after[k] += change_of_row(touch.rows[k], touch.terms, bodies, response)
            contact.impulse[j] = x
            account = settings.friction_account if j > 0 else settings.impact_account
            ledger[account] -= 0.5 * x * (touch.before[k] + touch.after[k])
        contact.mode = mode_of(contact, share, touch.after[first + 1], touch.after[first + 2])


@kernel
def mode_of(contact, share, along, across):
    """Whether a contact is open, sticks, or slips: it moves, with that share of its limit of friction at least."""
    n, t, b = contact.impulse
    if n <= 0.0:
        return OPEN
    at_limit = math.sqrt(t * t + b * b) >= share * contact.friction * n
    return SLIP if at_limit and math.sqrt(along * along + across * across) > STILL else STICK


@kernel
def book_drives(motions, work, v, ledger):
    """Book the work that prescribed coordinates do against the impulses that their joints carry.

    What rows push on the coordinate itself is carried as well, and no work of the drive.
    """
    rows = motions.rows
    for k in range(len(rows)):
        iv = rows[k].iv
        carried = power(column_of(work.columns[iv]), load_force(work.wrenches[rows[k].row]))
        ledger[rows[k].account] += (carried - work.impulse[iv]) * v[iv]


@kernel
def tell(touch, islands):
    """Note what there is to tell of the solution."""
    failed = 0
    for island in range(islands):
        failed += touch.failed[island]
        touch.residual[0] = max(touch.residual[0], touch.left[island])
    touch.unsolved_steps[0] += failed > 0
