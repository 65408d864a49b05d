"""Singular positions of a motion: where the coordinates that drive do not determine the rates of the others.

With the Jacobian G of the constraints, its columns in rad and lengths of the mechanism, and its rows relative to their
scales, so that units have no effect, and G_d its columns of the coordinates that do not drive,

    at a dead centre, G_d loses rank: the mechanism can move although the driving coordinates rest;
    at a branching point, all of G loses rank: the mechanism has more degrees of freedom there, and branches meet.

The measure is the smallest singular value that is not 0 elsewhere, relative to the largest one.  Between instants, it
is minimized over the motion that the quintic Hermite polynomial of the driving coordinates leads to.  Where that leads
beyond the last position in which the constraints can be satisfied, this one is singular, and is located by bisection.
Where the motion only touches it, displacements of the other coordinates change the constraints in second order: the
measure there is the root of their errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from multibody_cli.immutable import Immutable, replace
from multibody_cli.kernel import Floats

SINGULAR = 1e-6
"""Largest measure of a singular position."""

ROUND_OFF = 10.0
"""Largest measure of a singular position, relative to the root of the errors of the constraints there."""

NEAR_END = 1e-3
"""Largest measure next to the last position in which the constraints can be satisfied."""

EFFECTIVE = 1e-9
"""Singular value, relative to the largest, above which it is not 0 anywhere else."""

PRECISION = 1e-12
"""Precision of the instant, relative to the interval; for a minimum, SciPy adds the root of the round-off."""

COARSE, FALLS = 0.01, 0.5
"""Precision of a first search, relative to the interval, and the share of the larger measure at its ends below which a
second one follows: the measure falls in proportion to the distance from a singular position, so that the first search
leaves 0.02 of it.
"""


class SingularPosition(Immutable):
    """A singular position.

    Parameters
    ----------
    time
        The instant, s.
    measure
        Smallest relevant singular value, relative to the largest.
    is_end
        Whether the constraints cannot be satisfied behind it, up to an instant of the motion where they can again.
    error
        Largest error of the constraints, relative to their scales.
    """

    time: float
    measure: float
    is_end: bool = False
    error: float = 0.0

    @property
    def is_singular(self) -> bool:
        """Whether the measure is 0.

        Near an end it is in proportion to the root of the distance, and the assembly has an error.
        """
        return self.measure <= max(NEAR_END if self.is_end else SINGULAR, ROUND_OFF * math.sqrt(self.error))


def relative_rank(values: Sequence[Floats]) -> int:
    """Return the largest number of singular values (k,) of any instant that are not round-off."""
    return max((int(np.count_nonzero(own > EFFECTIVE * own.max(initial=0.0))) for own in values), default=0)


def measure_of(values: Floats, rank: int) -> float:
    """Return the singular value with the number `rank`, from 1, relative to the largest; 1 without any."""
    return float(values[rank - 1] / values[0]) if rank and values[0] > 0.0 else 1.0


def singular_positions(
    times: Floats,
    measures: Floats,
    measure_at: Callable[[int, float], float],
    error_at: Callable[[int, float], float],
) -> list[SingularPosition]:
    """Return the minima of a measure that are singular.

    Parameters
    ----------
    times, measures
        (T,) instants, s, and the measure there; infinite if the constraints cannot be satisfied.
    measure_at
        The measure at a time, reached from the instant with a number; infinite if the constraints cannot be
        satisfied.
    error_at
        The largest error of the constraints, relative to their scales, likewise.
    """
    found: list[SingularPosition] = []
    for k, own in enumerate(measures):
        before, after = max(k - 1, 0), min(k + 1, len(times) - 1)
        is_end = math.isinf(measures[after])
        if math.isinf(own) or before == after or (own > min(measures[before], measures[after]) and not is_end):
            continue
        best = SingularPosition(float(times[k]), float(own), is_end)
        if own > SINGULAR:
            for first, last in ((before, k), (k, after)):
                if first < last and math.isfinite(measures[first]):
                    ends = max(measures[first], measures[last])
                    locate = _end_between if math.isinf(ends) else partial(_least_between, ends=ends)
                    least = locate(float(times[first]), float(times[last]), partial(measure_at, first))
                    best = min(best, least, key=lambda one: one.measure)
        first = before if best.time < times[k] else k
        best = replace(best, error=error_at(first, best.time))
        near = found and abs(found[-1].time - best.time) <= 1e-3 * (times[after] - times[before])
        if best.is_singular and not near:
            found.append(best)
    return found


def _least_between(start: float, end: float, measure_at: Callable[[float], float], ends: float) -> SingularPosition:
    """Return the minimum of a measure between two times, or the last position behind which it is infinite.

    A minimum that is not much less than `ends`, the larger measure at both times, is approximate.
    """
    impossible: list[float] = []

    # The precision of SciPy is relative to the argument: a part of the interval, since times may be large.
    def finite_measure(part: float) -> float:
        time = start + float(part) * (end - start)
        value = measure_at(time)
        if math.isinf(value):
            impossible.append(time)
        return min(value, 1.0)

    for precision in (COARSE, PRECISION):
        least = minimize_scalar(finite_measure, bounds=(0.0, 1.0), method="bounded", options={"xatol": precision})
        if impossible:
            return _end_between(start, min(impossible), measure_at)
        if least.fun > max(FALLS * ends, NEAR_END):
            break
    return SingularPosition(start + float(least.x) * (end - start), float(least.fun))


def _end_between(start: float, end: float, measure_at: Callable[[float], float]) -> SingularPosition:
    """Return the last position behind which a measure is infinite, between a possible time and an impossible one."""
    first, last, least = start, end, PRECISION * (end - start)
    while last - first > least and first < (middle := 0.5 * (first + last)) < last:
        first, last = (first, middle) if math.isinf(measure_at(middle)) else (middle, last)
    return SingularPosition(first, measure_at(first), is_end=True)
