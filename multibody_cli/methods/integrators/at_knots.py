"""Steps of constant length at the knots of functions of time.

Between knots, steps are taken as if there were none.  Integrators of higher order divide a step at its knots: each part
ends with the values before a knot, and the next one begins with those behind it, so that the order of the integrator
holds.  Schemes that apply an impulse h f once or twice in a step keep the step, on whose length contacts, friction and
symplectic schemes depend: functions of time are smoothed over it, so that the impulses of forces are exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from multibody_cli.constraints import TABLES
from multibody_cli.constraints.velocity import VELOCITY as VELOCITY_ROW
from multibody_cli.forces.quantities import QuantityCode
from multibody_cli.joints.motion import ACCELERATION, POSITION, VELOCITY
from multibody_cli.knots import ROUND_OFF, Knots, is_of_time, knots_of
from multibody_cli.model import Floats, Integers, State, System
from multibody_cli.signals import Signals, evaluate, with_signals

Take = Callable[[float, float, int, int, int], int]
"""Function `take(h, start, first, count, fresh)` of a state: see `FixedStepper`."""

AtKnots = Callable[[System, float, float], "DividedSteps | None"]
"""Function of a system, the step and the end of a run that returns its steps at knots; None if there are none."""

Coefficients = tuple[float, float, float, float]
"""Coefficients of a cubic in the time since the start of the step, lowest power first."""

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(4)


class _StepsWithKnots:
    """The numbers of the steps with knots, for one start of the steps; no part of the state of a run."""

    __slots__ = ("found", "start")

    def __init__(self) -> None:
        self.start: float | None = None
        self.found: Integers


class DividedSteps:
    """Divides steps at knots."""

    def __init__(self, knots: Knots, h: float, system: System) -> None:
        self._knots, self._h, self._steps = knots, h, _StepsWithKnots()
        self.system = system
        """The system of the kernels."""

    def take(self, take: Take, state: State, start: float, first: int, count: int, fresh: int) -> int:
        """Take `count` steps; return how many ended valid, -1 if the accelerations at the start were not finite."""
        if self._steps.start != start:
            self._steps.start, self._steps.found = start, self._with_knots(start)
        done, h, numbers = 0, self._h, self._steps.found
        while done < count:
            index = int(numbers.searchsorted(first + done))
            clear = min(int(numbers[index]) - first if index < len(numbers) else count, count) - done
            if clear > 0:
                taken = int(take(h, start, first + done, clear, fresh))
                if taken < clear:
                    return taken if taken < 0 and not done else done + max(taken, 0)
                done += clear
            else:
                if not self._cross(take, state, h, start, first + done, fresh):
                    return done
                done += 1
            fresh = 0
        if not count:
            take(h, start, first, 0, fresh)
        return done

    def take_part(self, take: Take, state: State, length: float, fresh: int) -> bool:
        """Take one step of another length, s, from the time of the state; return whether it is valid."""
        t = float(state.time[0])
        if ((self._knots.after > t) & (self._knots.before < t + length)).any():
            return self._cross(take, state, length, t, 0, fresh)
        return take(length, t, 0, 1, fresh) == 1

    def _with_knots(self, start: float) -> Integers:
        lower, upper = self._range_of_steps(start)
        return np.unique(np.concatenate([lower, upper]))

    def _range_of_steps(self, start: float) -> tuple[Integers, Integers]:
        """Return the first steps that end after `before` of the knots, and the last that begin before their `after`."""
        before, after, h = self._knots.before, self._knots.after, self._h
        lower = np.floor((before - start) / h).astype(np.int64) - 1
        for _ in range(2):
            lower += start + (lower + 1) * h <= before
        upper = np.floor((after - start) / h).astype(np.int64) + 1
        for _ in range(2):
            upper -= start + upper * h >= after
        return lower, upper

    def _cross(self, take: Take, state: State, h: float, start: float, index: int, fresh: int) -> bool:
        """Take the step of h with this number, divided at its knots; return whether it is valid."""
        t, end = start + index * h, start + (index + 1) * h
        knots, shortest = self._knots, ROUND_OFF * end
        first, last = int(knots.after.searchsorted(t, "right")), int(knots.before.searchsorted(end))
        for before, after in zip(knots.before[first:last].tolist(), knots.after[first:last].tolist(), strict=True):
            if before > t + shortest and take(before - t, t, 0, 1, fresh) != 1:
                return False
            t = max(t, after)
            state.time[0], fresh = t, 1
        if end > t + shortest and take(end - t, t, 0, 1, fresh) != 1:
            return False
        state.time[0] = end
        return end > t + shortest or take(h, end, 0, 0, 1) == 0


class SmoothedSteps(DividedSteps):
    """Takes steps with knots as a whole, with one polynomial for each function of time over them.

    Forces and given accelerations have their mean, and targets, whose rates count too, are parabolas with all their
    means.  Given rates are linear between their values at both ends, and given positions cubic with the rates there, so
    that the mean acceleration is that of the function: its power, by the rule of the ends, has no error of the order of
    a jump.  The polynomials are tables in arrays of `system` of their own.  A jump between two steps counts in both,
    each of which has the values of its own side.
    """

    def __init__(self, knots: Knots, h: float, system: System, end: float) -> None:
        written, n = system.forces.signals, len(system.forces.signals.first)
        signals = written._replace(
            is_table=written.is_table.copy(),
            first=written.first.copy(),
            last=written.last.copy(),
            knots=np.concatenate([written.knots, np.zeros(2 * n)]),
            pieces=np.concatenate([written.pieces, np.zeros((2 * n, written.pieces.shape[1]))]),
        )
        super().__init__(knots, h, with_signals(system, signals))
        self._written, self._signals = written, signals
        read = np.asarray(system.forces.quantities)
        with_rates = read[(read["kind"] == QuantityCode.TIME_FUNCTION) & (read["component"] > 0)]["index"]
        fits = dict.fromkeys(range(n), mean) | dict.fromkeys(with_rates.tolist(), parabola)
        for row in system.motions.rows:
            fits[int(row["signal"])] = _FITS[int(row["given"])]
        for table, records in zip(TABLES, system.constraints.tables, strict=True):
            if table.dtype == VELOCITY_ROW:
                fits |= dict.fromkeys(map(int, records["value"]), line)
        self._fits = {k: fit for k, fit in fits.items() if is_of_time(written, k)}
        self._moves = np.isin(
            knots.at, knots_of(written, end, [k for k, fit in fits.items() if fit in (line, cubic)]).at
        )

    def _with_knots(self, start: float) -> Integers:
        lower, upper = self._range_of_steps(start)
        t, end = start + lower * self._h, start + (lower + 1) * self._h
        inside = (self._knots.before > t) & (self._knots.after < end - ROUND_OFF * end)  # not at an end of the step
        jumps = ~inside & self._knots.jumps
        found = np.unique(np.concatenate([lower[inside | self._moves], lower[jumps], upper[jumps]]))
        return found[found >= 0]

    def _cross(self, take: Take, state: State, h: float, start: float, index: int, fresh: int) -> bool:
        t, end = start + index * h, start + (index + 1) * h
        knots = self._knots
        first, last = int(knots.before.searchsorted(t, "right")), int(knots.after.searchsorted(end))
        begin = max(t, float(knots.after[first - 1])) if first else t  # behind a knot at the start
        stop = min(end, float(knots.before[last])) if last < len(knots.at) else end  # before a knot at the end
        instants = np.concatenate([[begin], knots.at[first:last], [stop]])
        signals, written = self._signals, self._written
        for k, fit in self._fits.items():
            piece = len(written.knots) + 2 * k
            signals.knots[piece : piece + 2] = t, end + h
            signals.pieces[piece, :4] = fit(written, k, instants)
            signals.is_table[k], signals.first[k], signals.last[k] = True, piece, piece + 2
        valid = take(h, start, index, 1, 1) == 1
        for name in ("is_table", "first", "last"):
            getattr(signals, name)[:] = getattr(written, name)
        return valid and take(h, start, index + 1, 0, 1) == 0


def mean(signals: Signals, k: int, instants: Floats) -> Coefficients:
    """Return the mean of signal k over instants that enclose its knots, by Gaussian quadrature between these."""
    lengths, total = np.diff(instants), 0.0
    for t, h in zip(instants[:-1].tolist(), lengths.tolist(), strict=True):
        values = [evaluate(signals, k, t + 0.5 * h * (1.0 + x))[0] for x in _POINTS.tolist()]
        total += 0.5 * h * float(_WEIGHTS @ values)
    return total / float(lengths.sum()), 0.0, 0.0, 0.0


def parabola(signals: Signals, k: int, instants: Floats) -> Coefficients:
    """Return the parabola with the means of signal k, of its rate and of the rate of that, over the instants."""
    h = float(instants[-1] - instants[0])
    average = mean(signals, k, instants)[0]
    _, first, second, third = cubic(signals, k, instants)
    change, curve = first + (second + third * h) * h, second + 1.5 * third * h
    slope = change - curve * h
    return average - slope * h / 2.0 - curve * h**2 / 3.0, slope, curve, 0.0


def line(signals: Signals, k: int, instants: Floats) -> Coefficients:
    """Return the line through the values of signal k at the first and the last instant."""
    (first, _, _), (last, _, _) = (evaluate(signals, k, float(t)) for t in instants[[0, -1]])
    return first, (last - first) / float(instants[-1] - instants[0]), 0.0, 0.0


def cubic(signals: Signals, k: int, instants: Floats) -> Coefficients:
    """Return the cubic with the values and slopes of signal k at the first and the last instant."""
    h = float(instants[-1] - instants[0])
    value, change, _, _ = line(signals, k, instants)
    inside = 1e-9 * h  # a knot at an end belongs to the step beside it
    (_, first, _), (_, last, _) = (
        evaluate(signals, k, float(t)) for t in (instants[0] + inside, instants[-1] - inside)
    )
    return value, first, (3.0 * change - 2.0 * first - last) / h, (first + last - 2.0 * change) / h**2


_FITS = {POSITION: cubic, VELOCITY: line, ACCELERATION: mean}


def divided_steps(system: System, h: float, end: float) -> DividedSteps | None:
    """Return the division of steps at the knots of a system up to `end`; None if there are no knots."""
    knots = knots_of(system.forces.signals, end)
    return DividedSteps(knots, h, system) if len(knots.at) else None


def smoothed_steps(system: System, h: float, end: float) -> SmoothedSteps | None:
    """Return the steps of a system with smoothed functions of time up to `end`; None if there are no knots."""
    knots = knots_of(system.forces.signals, end)
    return SmoothedSteps(knots, h, system, end) if len(knots.at) else None
