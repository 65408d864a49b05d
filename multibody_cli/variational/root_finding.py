"""The search for the end of a step: corrections of its mean rates until none is left.

How the bodies are looked at where the coordinates ahead put them, and how the rates are corrected by what is missing
there, is up to whether anything restrains the mechanism (`free`, `held`); `prepare`, `look`, `correct`, `holds` and
`carry_over` stand for that.
"""

from __future__ import annotations

import math
from typing import Any

from multibody_cli.joints.motion import prescribe
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load
from multibody_cli.tree.configuration import displace, displace_some, normalize
from multibody_cli.variational.discrete_motion import kick, turns_too_far
from multibody_cli.variational.initial_guess import guess_rates, prescribe_rates
from multibody_cli.variational.workspace import TOLD_ITERATIONS, largest

STALLED = 0.7
"""A correction that is no smaller than this part of the one before tells that the search has stalled.

The first two are not compared: rows push from nothing, and where the guess is good, the second is what the first has
left of a large response that it took back.
"""

LEAST = 0.05
"""A correction is not taken to shrink to less than this part of the one before.

What is answered by the factors of the start shrinks at a steady rate, which may lie hidden under what Newton's method
answers to at once.
"""

SLACK = 1e3
"""Error of a row at the end, over that of the coordinates there and round-off, by which the row has been let go."""

ROUND_OFF = 1e-15
"""Of positions relative to the extent of the mechanism; by a factor of 1000, a search may stall there and be done."""


# --- stand-ins ----------------------------------------------------------------------------------------------------
def prepare(system: Any, work: Any, ahead: Any, h: float) -> None:
    """Stand for the kernel that makes everything ready that stays through a search."""


def look(system: Any, work: Any, ahead: Any, t: float) -> None:
    """Stand for the kernel that places the bodies, at the time t, at the coordinates ahead."""


def correct(system: Any, work: Any, ahead: Any, h: float) -> None:
    """Stand for the kernel that works out the correction of the mean rates, `ahead.change`."""


def holds(work: Any, ahead: Any, slack: float) -> bool:
    """Stand for the kernel that tells whether all rows hold at the end, those too that could not push."""
    return True


def carry_over(system: Any, work: Any, ahead: Any, h: float) -> None:
    """Stand for the kernel that keeps what is left of the equations of the step, in `ahead.carry`."""


# --- the search -----------------------------------------------------------------------------------------------------
def find_step(system, work, ahead, t, h, q, v) -> bool:
    """Find the end of a step of h from the start at (t, q, v) into `ahead`; whether that was possible.

    If not, `ahead.rate` is as it was, for the next guess.
    """
    tree, settings = system.tree, ahead.settings
    for j in range(len(v)):
        ahead.rate_before[j] = ahead.rate[j]
    guess_rates(ahead, v, h)
    prescribe_rates(system.motions, t, h, settings.first_kick, v, ahead.rate)
    for k in range(len(q)):
        ahead.q[k] = q[k]
    displace(tree, ahead.q, ahead.rate, h)
    prescribe(system.motions, t + h, ahead.q, ahead.change, ahead.change)
    prepare(system, work, ahead, h)
    fastest = 1.0 + largest(v)
    if search(system, work, ahead, t + h, h, fastest):
        normalize(tree, ahead.q)
        look(system, work, ahead, t + h)
        slack = SLACK * (settings.tolerance * abs(h) * fastest + ROUND_OFF * extent_of(ahead.strides))
        if holds(work, ahead, slack) and not turns_too_far(ahead.strides):
            carry_over(system, work, ahead, h)
            return True
    kick(ahead.strides, -settings.first_kick * h)
    for j in range(len(v)):
        ahead.rate[j] = ahead.rate_before[j]
    return False


def search(system, work, ahead, t, h, fastest) -> bool:
    """Correct the mean rates until nothing is left to correct, relative to the rate `fastest`; whether that was so."""
    settings, before = ahead.settings, math.inf
    for k in range(settings.max_iterations):
        ahead.corrected[0] = k
        look(system, work, ahead, t)
        correct(system, work, ahead, h)
        size = largest(ahead.change) / fastest
        ahead.told[TOLD_ITERATIONS] = max(ahead.told[TOLD_ITERATIONS], k + 1.0)
        if not size < math.inf:
            return False
        displace_some(ahead.plain, ahead.quaternions, ahead.q, ahead.change, h)
        for j in range(len(ahead.rate)):
            ahead.rate[j] += ahead.change[j]
        if is_found(size, before, settings.tolerance):
            return True
        if k > 1 and size > STALLED * before:
            return size <= 1e3 * ROUND_OFF * extent_of(ahead.strides) / abs(h * fastest)
        before = size
    return False


@formula
def is_found(size, before, tolerance):
    """Whether the corrections that are still to come, which shrink as the last two did, stay below the tolerance."""
    shrinking = max(size / before, LEAST) if before < math.inf else 1.0
    return size <= tolerance or (shrinking < STALLED and size * shrinking <= tolerance * (1.0 - shrinking))


@kernel
def extent_of(strides):
    """Largest coordinate of a body, and 1 m at least."""
    most = 1.0
    for i in range(1, len(strides)):
        x = load(strides[i].x)
        most = max(most, abs(x.x), abs(x.y), abs(x.z))
    return most
