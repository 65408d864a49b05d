"""Events of a run: steps whose ends differ in the sign of an expression, and the instants within them.

An event is a change of the sign of its expression from the end of one step to that of the next.  Its instant is the
length of a shortened step, from the state before, at whose end the expression is zero: a root of a function of one
number, by the method of Brent.  In smooth motion it is exact to round-off for the solution of the integrator, whose
error a shortened step does not increase.  A run that records events takes the same steps as without them: after the
shortened steps, the state, the work arrays and the integrator are those of the whole step.

An expression that is zero at the end of a step has not yet changed its sign; the next step shows whether it does, and
its instant is then the start of that step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.events.conditions import Conditions
from multibody_cli.methods.contract import Report, Status
from multibody_cli.methods.method import Method
from multibody_cli.model import Floats, Integers, Model, State
from multibody_cli.output.carried_state import Snapshot
from multibody_cli.output.events import EventTable
from multibody_cli.scene.events import EventSpec

SIGNS = {"rising": (1,), "falling": (-1,), "either": (1, -1)}
"""Signs behind a change that counts, by direction."""


class Crossing(NamedTuple):
    """A change of sign within a step: the length of the step up to it, s; its event, and the sign behind it."""

    length: float
    event: int
    sign: int


@dataclass
class EventRecord:
    """The part of a watch that a run carries.

    The value (E,) of each expression, its last sign (E,) that is not zero, and the number (E,) of its events; the
    event, instant and sign of each row; the name of the event that ended the run, or nothing.
    """

    values: Floats
    signs: Floats
    counts: Integers
    rows: list[tuple[int, float, int]] = field(default_factory=list)
    ended_by: str = ""


class _StepFailed(Exception):
    """A shortened step failed, with this report."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


class Watch:
    """Advances a state as its method does, up to the event that ends the run.

    Parameters
    ----------
    events
        The events of the scene by name.
    model, state, method
        The compiled scene; the state is advanced in place.
    step
        Time between two evaluations of the expressions, s: the step of the integrator, or of an adaptive one the
        output interval.
    """

    def __init__(
        self, events: Mapping[str, EventSpec], model: Model, state: State, method: Method, step: float
    ) -> None:
        self._names, self._specs = tuple(events), tuple(events.values())
        self._state, self._method, self._step = state, method, step
        self._conditions = Conditions(events, model, method)
        self.record = EventRecord(np.zeros(len(events)), np.zeros(len(events)), np.zeros(len(events), np.int64))
        self._snapshots: tuple[Snapshot, Snapshot] | None = None  # of the start and of the end of a step

    @property
    def holders(self) -> Mapping[str, Any]:
        """The objects that hold what a run carries, by name."""
        return {"events": self.record, "history of events": self._conditions.history}

    @property
    def table(self) -> EventTable:
        """The events so far."""
        event, time, sign = zip(*self.record.rows, strict=True) if self.record.rows else ((), (), ())
        return EventTable(self._names, np.array(event, np.int64), np.array(time, float), np.array(sign, np.int64))

    def begin(self, report: Report) -> None:
        """Begin a run at a state that the method has completed, with this report."""
        self.record.values[:] = self._conditions.values(self._state, report)
        self.record.signs[:] = _signs_of(self.record.values)

    def advance(self, until: float) -> Report:
        """Advance the state to the time `until`, or to the event that ends the run; return the report of the method."""
        state, record = self._state, self.record
        if self._snapshots is None:
            holders = {"state": state, "method": self._method}
            self._snapshots = Snapshot(holders), Snapshot(holders)
        before, behind = self._snapshots
        before.take()
        total, steps, is_at_start = Report(), max(1, round((until - state.time[0]) / self._step)), True
        for left in reversed(range(steps)):
            start = float(state.time[0])
            own = self._method.advance(state, until if left == 0 else start + self._step)
            total = own.after(total)
            if total.status is not Status.OK:
                return total
            values = self._conditions.values(state, own)
            signs = _signs_of(values)
            crossed = [k for k in range(len(signs)) if self._is_event(k, int(signs[k]))]
            if crossed:
                length = float(state.time[0]) - start
                behind.take()
                before.restore()
                if not is_at_start:
                    self._method.advance(state, start)
                    before.take()
                is_at_start = True
                try:
                    found = sorted(self._locate(k, values, length) for k in crossed)
                    self._pass(found, start)
                except _StepFailed as failure:
                    return failure.report.after(total)
                if record.ended_by:
                    return total
                behind.restore()
            else:
                is_at_start = False
            record.values[:], record.signs[:] = values, np.where(signs == 0.0, record.signs, signs)
        return total

    def _is_event(self, k: int, sign: int) -> bool:
        """Whether the sign of an expression at the end of a step makes an event."""
        spec, before = self._specs[k], self.record.signs[k]
        is_new = sign != 0 and before != 0.0 and sign != before
        return is_new and sign in SIGNS[spec.direction] and not (spec.once and self.record.counts[k])

    def _locate(self, k: int, ends: Floats, length: float) -> Crossing:
        """Return the crossing of an expression in the step of a length, s, with these values (E,) at its end."""
        from scipy.optimize import brentq

        start, end = float(self.record.values[k]), float(ends[k])
        sign = 1 if end > 0.0 else -1
        if not start * end <= 0.0:  # it has changed beside a state without a value
            return Crossing(0.0, k, sign)

        def value(part: float) -> float:
            if part in (0.0, length):
                return end if part else start
            found = float(self._conditions.values(self._state, self._move(part))[k])
            return end if np.isnan(found) else found

        return Crossing(brentq(value, 0.0, length, xtol=2.0**-52 * length, rtol=2.0**-50), k, sign)

    def _move(self, length: float) -> Report:
        """Move the state from the start of the step by a shortened step, s."""
        assert self._snapshots is not None
        self._snapshots[0].restore()
        if length == 0.0:
            return Report()
        report = self._method.take_part(self._state, length)
        if report.status is not Status.OK:
            raise _StepFailed(report)
        return report

    def _pass(self, crossings: list[Crossing], start: float) -> None:
        """Record crossings, up to the one that ends the run, at which the state then is."""
        for crossing in crossings:
            self.record.rows.append((crossing.event, start + crossing.length, crossing.sign))
            self.record.counts[crossing.event] += 1
            if self._specs[crossing.event].end:
                self._move(crossing.length)
                self.record.ended_by = self._names[crossing.event]
                return


def _signs_of(values: Floats) -> Floats:
    """Return the signs of values; 0 where there is none."""
    signs: Floats = np.nan_to_num(np.sign(values))
    return signs
