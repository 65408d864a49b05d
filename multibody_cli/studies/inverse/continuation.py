"""Continuation of a motion through its singular positions.

At a dead centre or a branching point, the constraints determine neither the position to more than the root of the
round-off, nor the rates.  A motion is smooth there along its branch.  The instants before, each at half the distance of
the one before it, approach the singular position while it is still far enough for round-off; the Hermite
polynomial of the rates of three of them leads to it.  Behind it, the motion starts from there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.interpolate import KroghInterpolator

from multibody_cli.errors import RunFailed
from multibody_cli.kernel import Floats
from multibody_cli.model import State
from multibody_cli.studies.inverse.consistency import ConsistentMotion

SINGULAR = 1e-4
"""Measure of determinacy (`ConsistentMotion.determinacy`) of an instant below which its rates are extrapolated.

The error of accelerations is that of positions over the third power of the measure.
"""

REGULAR = 3e-3
"""Least measure of the instants from which they are extrapolated."""

LEAST = 3
"""Number of the instants from which they are extrapolated."""

FIRST_STEP = 2.0**-8
"""First step from a singular start, relative to the first interval."""

MOST_HALVES = 20
"""Largest number of instants that approach a singular one."""

NODES, WEIGHTS = (0.5 * part for part in np.polynomial.legendre.leggauss(3))
NODES += 0.5
"""Nodes and weights of Gauss and Legendre on the interval from 0 to 1."""

Wanted = Callable[[float], tuple[Floats, Floats, Floats]]
"""Values, rates and accelerations (given,) of the given coordinates at a time, s."""


class Reached(NamedTuple):
    """A state of a motion, the accelerations (n,), the change of the given coordinates, and the determinacy."""

    state: State
    a: Floats
    change: Floats
    determinacy: float

    @property
    def time(self) -> float:
        """The instant, s."""
        return float(self.state.time[0])


def continued(consistent: ConsistentMotion, state: State, wanted: Wanted, times: Sequence[float]) -> Iterator[Reached]:
    """Return the motion at rising times, also at singular positions.

    Parameters
    ----------
    consistent, state
        The motion at the first of these times, and its state, which is changed.
    wanted
        The motion of the given coordinates.
    times
        The instants, s.

    Raises
    ------
    RunFailed
        The constraints cannot be satisfied.
    """
    regular: list[Reached] = []
    for time in times:
        found = _reach(consistent, wanted, time)
        if found.determinacy < SINGULAR:
            if regular:
                near = _approach(consistent, state, wanted, regular, time)
            else:
                near = _leave(consistent, wanted, found, times) if time == times[0] else []
            found = (near and _extrapolated(consistent, state, near, time)) or found
        if found.determinacy > REGULAR:
            regular.append(found)
        _resume(state, found)
        yield found


def _reach(consistent: ConsistentMotion, wanted: Wanted, time: float) -> Reached:
    state, a = consistent.advance(time, *wanted(time))
    return Reached(state.copy(), a, consistent.change.copy(), consistent.determinacy())


def _resume(state: State, reached: Reached) -> None:
    for own, there in zip(state, reached.state, strict=True):
        own[:] = there


def _approach(
    consistent: ConsistentMotion, state: State, wanted: Wanted, regular: list[Reached], time: float
) -> list[Reached]:
    """Return up to three regular instants that approach a singular one, the nearest last."""
    last = regular[-1]
    gap, times = time - last.time, [one.time for one in regular[:-1]]
    places = {bisect_right(times, last.time - part * gap) - 1 for part in (3.0, 1.0)}
    near = [*(regular[k] for k in sorted(places) if k >= 0), last]
    _resume(state, last)
    for _ in range(MOST_HALVES):
        try:
            one = _reach(consistent, wanted, 0.5 * (near[-1].time + time))
        except RunFailed:
            return []
        if one.determinacy < REGULAR:
            break
        near = [*near[-2:], one]
    return near


def _leave(consistent: ConsistentMotion, wanted: Wanted, start: Reached, times: Sequence[float]) -> list[Reached]:
    """Return three regular instants after a singular start, the nearest last; none if there are fewer."""
    near: list[Reached] = []
    step = FIRST_STEP * (times[min(1, len(times) - 1)] - start.time)
    while 0.0 < step < times[-1] - start.time and len(near) < LEAST:
        try:
            one = _reach(consistent, wanted, start.time + step)
        except RunFailed:
            return []
        if one.determinacy > REGULAR:
            near = [one, *near]
        step *= 2.0
    return near if len(near) == LEAST else []


def _extrapolated(consistent: ConsistentMotion, state: State, near: list[Reached], time: float) -> Reached | None:
    """Return the motion at a singular position from regular instants; None if it is not smooth there."""
    _resume(state, near[-1])
    n, start = len(near[-1].a), near[-1].time
    data = [values for one in near for values in (one.state.v[:n], one.a)]
    rates = KroghInterpolator(np.repeat([one.time - time for one in near], 2), data)
    displacement = (time - start) * WEIGHTS @ rates((start - time) * NODES)
    a = consistent.displace(time, displacement, rates(0.0), rates.derivative(0.0))
    if a is None:
        return None
    return Reached(state.copy(), a, np.zeros_like(near[-1].change), consistent.determinacy())
