"""Friction of joints in the solution of a step: until the limits and what they bring about agree."""

from __future__ import annotations

import math

from multibody_cli.constraints.rows import change_of_row
from multibody_cli.contact_solver.accounting import NEARLY
from multibody_cli.contact_solver.islands import island_of
from multibody_cli.contact_solver.joint_friction import find_limits, transmit_impulses
from multibody_cli.contact_solver.rows import PER_CONTACT
from multibody_cli.kernel import kernel

LEAST_STRIDE, MOST_STRIDE = 0.5, 20.0
"""How much of what a limit is short of is added to it, at least and at most."""


@kernel
def settle(system, work, touch, h, static, size, tolerance) -> bool:
    """Hold the impulses of all pads against the limits that they bring about: whether they are to be solved for again.

    Islands where they agree are settled.
    """
    journals, G, tree, x = touch.journals, touch.groups, system.tree, touch.x
    transmit_impulses(tree, touch, static, size, work)
    pads, again = system.contacts.journals.pads, False
    find_limits(journals, system.contacts.journals, x[static:size], work, h)
    for island in range(len(touch.settled)):
        touch.settled[island] = 1
        journals.largest[island] = 0.0
    for p in range(len(pads)):
        island = G.number[island_of(static + PER_CONTACT * p, G)]
        journals.largest[island] = max(journals.largest[island], journals.limit[p] / pads[p].coefficient)
    for p in range(len(pads)):
        k, limit = static + PER_CONTACT * p, journals.limit[p]
        island = G.number[island_of(k, G)]
        rub, scale = math.hypot(x[k + 1], x[k + 2]), pads[p].coefficient * journals.largest[island]
        lack = abs(limit - x[k]) if rub >= (1.0 - NEARLY) * x[k] else rub - limit
        if lack > tolerance * scale:
            again = True
            x[k] = next_limit(x[k], limit, journals.tried[p])
            touch.settled[island] = 0
            touch.failed[island] = 1
            touch.left[island] = max(touch.left[island], lack / scale)
    return again


@kernel
def next_limit(used, found, tried):
    """The limit to try next: where the secant through the last two tries says that one brings about itself.

    Where it says nowhere, as with a pad that jams, strides grow until the pad sticks.
    """
    short, factor = found - used, 1.0
    if used != tried[0]:
        slope = (short - tried[1]) / (used - tried[0])
        if slope < 0.0:
            factor = min(max(-1.0 / slope, LEAST_STRIDE), MOST_STRIDE)
            tried[2] = 1.0
        elif slope >= 0.0:
            factor = tried[2]
            tried[2] = min(2.0 * factor, MOST_STRIDE)
    tried[0] = used
    tried[1] = short
    return max(used + factor * short, 0.0)


@kernel
def begin_rounds(journals):
    """Forget which limits were tried in the step before; how points share them stays, as a guess."""
    for p in range(len(journals.tried)):
        journals.tried[p, 0] = journals.tried[p, 1] = math.nan
        journals.tried[p, 2] = 1.0


@kernel
def book_pads(pads, touch, bodies, response, static, ledger):
    """Book what pads dissipate, and keep their impulses, with the limits that they brought about.

    Where a step ends at rest or beyond a turn, x (u + u') may have the wrong sign, by the square of the step: then
    nothing is booked.
    """
    journals = touch.journals
    for p in range(len(pads)):
        first, gained = static + PER_CONTACT * p, 0.0
        for k in range(first + 1, first + PER_CONTACT):
            touch.after[k] += change_of_row(touch.rows[k], touch.terms, bodies, response)
            gained += 0.5 * touch.x[k] * (touch.before[k] + touch.after[k])
        for j in range(PER_CONTACT):
            journals.rubbed[p, j] = touch.x[first + j]
        journals.rubbed[p, 0] = journals.limit[p]
        ledger[pads[p].account] += max(-gained, 0.0)


# --- for scenes without -----------------------------------------------------------------------------------------------
@kernel
def carry_nothing(pads, tree, work, journals):
    """Nothing rubs."""


@kernel
def settle_nothing(system, work, touch, h, static, size, tolerance):
    """Nothing rubs."""
    return False
