"""Events of a run: steps whose ends differ in the sign of an expression, and the instants within them.

An event is a change of the sign of its expression from the end of one step to that of the next.  Its instant is the
length of a shortened step, from the state before, at whose end the expression is zero: a root of a function of one
number, by the method of Brent.  In smooth motion it is exact to round-off for the solution of the integrator, whose
error a shortened step does not increase.  A run that records events takes the same steps as without them: after the
shortened steps, the state, the work arrays and the integrator are those of the whole step.

An event that changes values of the scene begins a new phase at its instant: another model of the same layout, whose
method starts from the state there.  The start projects the velocities onto the constraints,

    M (v+ - v-) = J^T lambda,    J v+ = 0,

the balance of momentum with the impulses lambda of the constraints that now act.  An impact lets a constraint act for
an instant: with the restitution e, v = v+ + e (v+ - v-), which satisfies J v = -e J v-.  The energy that an event adds
is work in an account of its own.  The rest of the step is a shortened step, in which other events may occur.  Each
event that changes the scene occurs at most once in a step.

An expression that is zero at the end of a step has not yet changed its sign; the next step shows whether it does, and
its instant is then the start of that step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.escaping import path_component
from multibody_cli.events.conditions import Conditions
from multibody_cli.events.phase import Changes, Make, Phase
from multibody_cli.methods.contract import SHORTEST_PART, Recording, Report, Status
from multibody_cli.methods.method import Method
from multibody_cli.model import Account, Floats, Integers, Model, State
from multibody_cli.output.carried_state import Snapshot
from multibody_cli.output.events import EventTable
from multibody_cli.output.history import History
from multibody_cli.output.samples import Samples
from multibody_cli.scene.events import EventSpec

SIGNS = {"rising": (1,), "falling": (-1,), "either": (1, -1)}
"""Signs behind a change that counts, by direction."""

LARGEST_CHANGE = 0.02
"""Largest displacement at an event, relative to the length of the mechanism, and largest rotation, rad."""


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
    """Advances a state as its method does, with the events of a scene, up to the one that ends the run.

    Parameters
    ----------
    events
        The events of the scene by name.
    model, state, method
        The compiled scene; the state is advanced in place.
    step
        Time between two evaluations of the expressions, s: the step of the integrator, or of an adaptive one the
        output interval.
    make
        Makes the phases behind events.
    """

    def __init__(
        self, events: Mapping[str, EventSpec], model: Model, state: State, method: Method, step: float, make: Make
    ) -> None:
        self._events, self._state, self._step, self._make = events, state, step, make
        self._names, self._specs = tuple(events), tuple(events.values())
        self.record = EventRecord(np.zeros(len(events)), np.zeros(len(events)), np.zeros(len(events), np.int64))
        self._changes: Changes = {}
        self._length = 1  # of the next steps without an event between two evaluations
        self._report = Report()
        self.phase = self._phase(model, method)
        self._phases = {repr(self._changes): self.phase}

    @property
    def holders(self) -> Mapping[str, Any]:
        """The objects that hold the carried state of a run, by name."""
        return {"events": self.record, "history of events": self.phase.conditions.history}

    @property
    def changes(self) -> bool:
        """Whether an event of the scene changes the motion."""
        return any(spec.changes for spec in self._specs)

    @property
    def table(self) -> EventTable:
        """The events so far."""
        event, time, sign = zip(*self.record.rows, strict=True) if self.record.rows else ((), (), ())
        return EventTable(self._names, np.array(event, np.int64), np.array(time, float), np.array(sign, np.int64))

    @property
    def changed(self) -> Changes:
        """The values of the scene that events have changed, by their paths."""
        return self._changes

    def resume(self, changes: Changes) -> None:
        """Return to the phase in which events have changed these values; its state and record are restored after."""
        self._changes, self.phase = changes, self._phase_of(changes)

    def begin(self, report: Report) -> None:
        """Begin at a state that the method has completed, with this report; changes of signs count from here on."""
        self._note(self._values(report)[None])

    def advance(self, until: float) -> Report:
        """Advance the state to the time `until`, or to the event that ends the run; return the report of the method."""
        total, left = Report(), max(1, round((until - self._state.time[0]) / self._step))
        while left and total.status is Status.OK and not self.record.ended_by:
            count = min(left, self._length, self.phase.conditions.rows)
            own, taken = self._take_steps(count, until if count == left else None)
            total, left = own.after(total), left - taken
        return total

    def recording(self, samples: Samples) -> Recording | None:
        """Return the loop over output instants of the present phase, if its method has one.

        It ends before the first interval with an event.
        """
        return partial(self._record_rows, samples) if self.phase.conditions.records else None

    def _record_rows(self, samples: Samples, k: int, count: int, steps: int) -> tuple[int, Report]:
        conditions = self.phase.conditions
        count = min(count, conditions.rows // steps)
        if count == 0:
            return 0, Report()
        report, values, event, undo = self._try(count * steps, None)
        if event is not None:
            undo()
            self._length, count = 1, event // steps
            report, values = conditions.take(count * steps, self._step) if count else (Report(), values[:0])
        count = len(values) // steps
        conditions.copy_rows(samples, k, count, steps)
        self._note(values)
        return count, report

    def _try(self, count: int, until: float | None) -> tuple[Report, Floats, int | None, Callable[[], None]]:
        """Take steps, the last one up to `until`.

        Returns
        -------
        tuple
            The report, the values (n, E), the first step with an event or None, and a function that undoes the steps.
        """
        before, conditions = self.phase.before, self.phase.conditions
        before.take()
        kept = conditions.history.kept()

        def undo() -> None:
            before.restore()
            conditions.history.return_to(kept)

        report, values = conditions.take(count, self._step, until)
        return report, values, self._first_event(values), undo

    def _take_steps(self, count: int, until: float | None) -> tuple[Report, int]:
        """Take up to `count` steps, up to the first with an event, and the last one to `until`; return their number."""
        start = float(self._state.time[0])
        report, values, event, undo = self._try(count, until)
        if event is None:
            self._length = min(2 * self._length, self.phase.conditions.rows)
            self._note(values)
            return report, count
        if count > 1:
            undo()
            earlier = self._take_steps(event, None)[0] if event else Report()
            report, _ = self._take_steps(1, until if event == count - 1 else None)
            return report.after(earlier), event + 1
        self._length, end = 1, float(self._state.time[0])
        self.phase.behind.take()
        self.phase.before.restore()
        try:
            self._note(self._pass(values[0], self._crossed(values[0]), start, end)[None])
        except _StepFailed as failure:
            return failure.report, 1
        return report, 1

    # --- one step -----------------------------------------------------------------------------------------------------
    def _pass(self, values: Floats, crossed: list[int], start: float, end: float) -> Floats:
        """Pass the events of the step from a time to another, s; return the values (E,) of the expressions behind it.

        The state is that at the start; `behind` has that at the end, with these values and crossings.
        """
        state = self._state
        while True:
            found = sorted(self._locate(k, values, end - start) for k in crossed)
            first = self._record(found, start)
            if first is None:
                self.phase.behind.restore()
                return values
            report = self._move(self._acts_after(first, end - start))
            spec = self._specs[first.event]
            if spec.end:
                self.record.ended_by = self._names[first.event]
                return values
            self._act(self._names[first.event], spec, report)
            self.record.signs[first.event] = 0.0  # it occurs once in a step
            start, report = float(state.time[0]), self._report
            if end - start > self.phase.method.shortest_part * self._step:
                self.phase.before.take()
                report = self.phase.method.take_part(state, end - start)
                if report.status is not Status.OK:
                    raise _StepFailed(report)
            self.phase.method.finish_step(state, end)
            values = self._values(report)
            crossed = self._crossed(values)
            if not crossed:
                return values
            self.phase.behind.take()

    def _first_event(self, values: Floats) -> int | None:
        """Return the first of consecutive steps with an event, from the values (n, E) at their ends; None without."""
        signs, before = _signs_of(values), self.record.signs
        if (signs == before).all():
            return None
        for step, behind in enumerate(signs):
            if any(self._is_event(k, *pair) for k, pair in enumerate(zip(behind, before, strict=True))):
                return step
            before = np.where(behind == 0.0, before, behind)
        return None

    def _crossed(self, values: Floats) -> list[int]:
        """Return the events of a step with these values (E,) at its end."""
        pairs = zip(_signs_of(values), self.record.signs, strict=True)
        return [k for k, pair in enumerate(pairs) if self._is_event(k, *pair)]

    def _is_event(self, k: int, sign: float, before: float) -> bool:
        """Whether a change of the sign of an expression within a step makes an event."""
        spec = self._specs[k]
        is_new = sign != 0.0 and before != 0.0 and sign != before
        return is_new and sign in SIGNS[spec.direction] and not (spec.once and self.record.counts[k])

    def _locate(self, k: int, ends: Floats, length: float) -> Crossing:
        """Return the crossing of an expression in the step of a length, s, with these values (E,) at its end."""
        from scipy.optimize import brentq

        start, end = float(self.record.values[k]), float(ends[k])
        sign = 1 if end > 0.0 else -1
        if not start * end <= 0.0:  # it has changed at an event, or beside a state without a value
            return Crossing(0.0, k, sign)

        def value(part: float) -> float:
            if part in (0.0, length):
                return end if part else start
            found = float(self._values(self._move(part))[k])
            return end if np.isnan(found) else found

        return Crossing(brentq(value, 0.0, length, xtol=2.0**-52 * length, rtol=2.0**-50), k, sign)

    def _acts_after(self, crossing: Crossing, length: float) -> float:
        """Return the length of the part of a step of a length, s, after which an event acts.

        A part that the method cannot take is none: the event acts at the start or at the end of the step, unless it
        ends the run there.
        """
        shortest, part = self.phase.method.shortest_part * self._step, crossing.length
        if self._specs[crossing.event].end or shortest <= part <= length - shortest:
            return part
        return length if part > shortest else 0.0

    def _move(self, length: float) -> Report:
        """Move the state from the start of the step by a shortened step, s."""
        self.phase.before.restore()
        if length < SHORTEST_PART * self._step:
            return self._report
        report = self.phase.method.take_part(self._state, length)
        if report.status is not Status.OK:
            raise _StepFailed(report)
        return report

    def _record(self, crossings: list[Crossing], start: float) -> Crossing | None:
        """Record crossings, up to the first one that acts; return this, or None.

        Those at the instant of one that ends the run are recorded too.
        """
        first: Crossing | None = None
        for crossing in crossings:
            if first is not None and crossing.length - first.length > SHORTEST_PART * self._step:
                break
            spec = self._specs[crossing.event]
            self.record.rows.append((crossing.event, start + crossing.length, crossing.sign))
            self.record.counts[crossing.event] += 1
            self.record.signs[crossing.event] = crossing.sign  # the rest of the step does not record it again
            first = first or (crossing if spec.end or spec.changes else None)
            if first is not None and not self._specs[first.event].end:
                break
        return first

    def _values(self, report: Report) -> Floats:
        self._report = report
        return self.phase.conditions.values(report)

    def _note(self, values: Floats) -> None:
        """Note the values (n, E) at the ends of steps."""
        signs = _signs_of(values)
        for present in signs[-1:] if signs[-1:].all() else signs:
            self.record.signs[:] = np.where(present == 0.0, self.record.signs, present)
        if len(values):
            self.record.values[:] = values[-1]

    # --- effects ------------------------------------------------------------------------------------------------------
    def _act(self, name: str, spec: EventSpec, report: Report) -> None:
        """Let the event with this name act on the state, and enter the energy that it adds in its account."""
        conditions = self.phase.conditions
        self._values(report)
        before, pose = conditions.balance, conditions.pose
        if spec.impact is not None:
            earlier, v = self._changes, self._state.v.copy()
            report = self._begin_phase({**earlier, f"constraints.{spec.impact.constraint}.active": True}, {})
            self._state.v[:] += spec.impact.restitution * (self._state.v - v)
            self._changes = earlier
        report = self._begin_phase({**self._changes, **spec.set}, spec.set)
        values = self._values(report)
        account = self.phase.model.names.accounts.index(Account("work", f"events/{path_component(name)}"))
        self._state.ledger[account] += self.phase.conditions.balance - before
        self._require_small_change(name, pose)
        self.record.values[:] = values

    def _require_small_change(self, name: str, before: tuple[Floats, Floats]) -> None:
        """Refuse an event whose constraints displace bodies, as at the start of a run."""
        length = self.phase.model.system.tree.length
        distance, turn = (
            float(np.abs(new - old).max()) for new, old in zip(self.phase.conditions.pose, before, strict=True)
        )
        if distance > LARGEST_CHANGE * length or 2.0 * turn > LARGEST_CHANGE:
            remedy = (
                f"the event `{name}` moves bodies at once, by {distance:.3g} m and {2.0 * turn:.3g} rad: let it occur "
                "where the constraints that begin to act are met, or let them be of the type `velocity`"
            )
            raise _StepFailed(self._report._replace(status=Status.CONSTRAINTS_UNMET, remedy=remedy))

    def _begin_phase(self, changes: Changes, own: Changes) -> Report:
        """Begin a phase with changes at the state, of which an event has its own; return the report of its start."""
        earlier = self.phase
        self._changes, self.phase = changes, self._phase_of(changes)
        self._make.carry(earlier.model, self.phase.model, own)
        self.phase.method.follow(earlier.method)
        report = self.phase.method.start(self._state)
        if report.status is not Status.OK:
            raise _StepFailed(report)
        return report

    def _phase_of(self, changes: Changes) -> Phase:
        """Return the phase with changes."""
        key = repr(changes)
        if key not in self._phases:
            self._phases[key] = self._phase(*self._make(changes), self.phase.conditions.history)
        return self._phases[key]

    def _phase(self, model: Model, method: Method, history: History | None = None) -> Phase:
        holders = {"state": self._state, "method": method}
        conditions = Conditions(self._events, model, method, self._state, history)
        return Phase(model, method, conditions, Snapshot(holders), Snapshot(holders))


def _signs_of(values: Floats) -> Floats:
    """Return the signs of values; 0 where there is none."""
    signs: Floats = np.nan_to_num(np.sign(values))
    return signs
