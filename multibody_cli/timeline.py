"""The time loop: advance the state, sample the output, pass it to the sink."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from multibody_cli.alarms.contract import Raised, RunSettings
from multibody_cli.alarms.monitor import alarms_of
from multibody_cli.alarms.remedies import said_once
from multibody_cli.force_warnings import force_warnings
from multibody_cli.initial.largest_force import start_of
from multibody_cli.initial.singular_loop import advise_beside_singular_loops
from multibody_cli.methods.contract import Method, Report, Status
from multibody_cli.model import Model, State
from multibody_cli.outcome import Before, outcome_of
from multibody_cli.output.carried_state import Values, collect, restore
from multibody_cli.output.recorder import FLUSH_AFTER, Recorder, States
from multibody_cli.output.sink import Header, Outcome, Sink
from multibody_cli.scene.timing import Timing
from multibody_cli.watch import JointDomainMonitor

if TYPE_CHECKING:
    from multibody_cli.methods.by_acceleration import AccelerationMethod

INSTANTS_AT_ONCE = 10_000
"""Most output instants that one call of compiled code passes."""

SHOW_AFTER = 0.5
"""Seconds after which the progress within an output interval is reported."""


@dataclass(frozen=True)
class Summary:
    """Result of a run: outcome, number of instants written, time of the last (s), and number of steps.

    `energy_drift` is the largest absolute residual of the energy ledger, J; `steps_before` counts the steps up to the
    checkpoint from which the run went on.
    """

    outcome: Outcome
    instants: int
    reached: float
    steps: int
    energy_drift: float
    steps_before: int = 0


WhileComputing = Callable[[Callable[[], Summary | None]], AbstractContextManager[None]]
"""Function that returns a context for calls of compiled code, which may take long.

Its argument ends the run as `interrupted` at the last recorded instant; it returns None if the sink is not open yet.
Another thread may call it while the thread of the run is in the context, and must then end the process.
"""


def simulate(
    model: Model,
    state: State,
    method: Method,
    timing: Timing,
    header: Header,
    sink: Sink,
    settings: RunSettings,
    on_output: Callable[[float], None] = lambda _done: None,
    stop_asked: Callable[[], bool] = lambda: False,
    keep: Callable[[Values], None] | None = None,
    carried: Values | None = None,
    while_computing: WhileComputing = lambda _end_run: nullcontext(),
) -> Summary:
    """Run a scene to its end, until a step diverges, or until `stop_asked` returns True.

    Parameters
    ----------
    model, state, method
        A compiled scene; the state is advanced in place.
    timing, header, sink
        Output times, metadata of the run, and receiver of the output.
    settings
        Settings of the alarms.
    on_output
        Called after output instants, several times a second, with the number of instants so far and, within intervals
        that take long, with the part of the interval added.
    stop_asked
        Called between output instants and within long intervals, several times a second; if it returns True, the run
        ends with the status `interrupted`.
    keep
        Receives the carried state of the run when rows have been written to the sink: every `FLUSH_AFTER` seconds, when
        the run stops, and at the end of a run that took longer than that.
    carried
        A carried state from which the run goes on; the sink holds the rows up to it.
    while_computing
        See `WhileComputing`.

    Raises
    ------
    OutputError
        The sink cannot write.
    LayoutError
        `carried` belongs to another model, method or integrator.
    """
    monitor = JointDomainMonitor(model)
    recorder = Recorder(model, method, settings, header.block_rows, sink, at_once=not monitor.watches)
    is_open = False

    def summary_of(outcome: Outcome) -> Summary:
        drift = recorder.record_of_run.residual.largest
        return Summary(outcome, reached.instants, reached.time, report.steps, drift, steps_before)

    def end_run() -> Summary | None:
        if not is_open:
            return None
        recorder.flush()
        outcome = Outcome("interrupted", _stopped_at(reached.time), report.steps)
        sink.close(outcome)
        return summary_of(outcome)

    computing = while_computing(end_run)
    with computing:
        report = method.start(state)
        recorder.prepare(state)  # compiles all kernels before `open`, so that a failure does not replace an older file
    pace = _Pace(method, timing, report, computing)
    start, before = start_of(state, method.work), Before(float(state.time[0]), state.v)
    outcome = outcome_of(model, state, report, before, monitor.check(state, method.work), settings, start)
    reached = recorder.reached
    holders = {"state": state, "method": method, "monitor": monitor, "pace": pace.progress}
    checkpoints = _Checkpoints(holders | {"reached": reached, "record": recorder.record_of_run}, recorder, keep)
    if carried is not None:
        checkpoints.restore(carried)
        report = pace.progress.report
        outcome = Outcome("complete", steps=report.steps)

    def show_and_ask() -> bool:
        if pace.seconds > SHOW_AFTER:
            on_output(reached.instants + pace.progress.done / timing.pauses)
        return checkpoints.keep_late() or stop_asked()

    steps_before = report.steps
    sink.open(header)
    is_open = True
    try:
        if carried is None and outcome.status == "complete":
            recorder.observe()
            recorder.add(report)
            on_output(reached.instants)
        while outcome.status == "complete" and reached.instants <= timing.outputs:
            if stop_asked():
                checkpoints.keep()
                outcome = Outcome("interrupted", _stopped_at(float(state.time[0])), report.steps)
                break
            before = Before(float(state.time[0]), state.v.copy())
            report, instants = pace.advance(state, recorder, show_and_ask)
            violation = monitor.check(state, method.work)
            if instants and not violation:
                recorder.add(report, instants)
                before = Before(*recorder.last)
            if report.status is not Status.OK:
                settings, _ = _advised(model, settings, monitor, start.state, state)
            outcome = outcome_of(model, state, report, before, violation, settings, start)
            if outcome.status == "complete" and not instants:  # stopped between two output instants
                checkpoints.keep()
                recorder.observe()
                recorder.add(report)
                outcome = Outcome("interrupted", _stopped_at(float(state.time[0])), report.steps)
            elif outcome.status == "complete":
                pace.begin_interval(report)
                on_output(reached.instants)
                checkpoints.keep_late()
        is_valid = outcome.status != "diverged"
        recorder.flush()
        forces = force_warnings(model, method.work.warnings) if is_valid else ()
        others = [Raised("forces", "warning", text) for text in forces]
        found = alarms_of(settings, recorder.record_of_run, ())
        if failed := not is_valid or any(alarm.level == "failed" for alarm in found):
            settings, loops = _advised(model, settings, monitor, start.state, None if is_valid else state)
            others += loops
        others += monitor.alarms(failed)
        if outcome.status == "complete":
            checkpoints.keep_at_end()
        outcome = with_alarms(outcome, alarms_of(settings, recorder.record_of_run, others, diverged=not is_valid))
        recorder.flush()
    except BaseException:
        try:
            recorder.flush()
        finally:
            sink.close(None)
        raise
    sink.close(outcome)
    return summary_of(outcome)


def _advised(
    model: Model, settings: RunSettings, monitor: JointDomainMonitor, start: State, end: State | None
) -> tuple[RunSettings, list[Raised]]:
    """Return the settings of a run that failed with advice on singular positions, and the warnings of loops."""
    settings, loop = advise_beside_singular_loops(model, settings, start, end)
    return replace(settings, coordinates=monitor.other_coordinates()), [loop] if loop else []


def replay(
    model: Model,
    state: State,
    method: AccelerationMethod,
    states: States,
    steps: int,
    header: Header,
    sink: Sink,
    settings: RunSettings,
) -> Summary:
    """Record a complete run whose states at the output instants are known.

    The joints have no domains and no joint maps, whose monitor needs the single instants.

    Parameters
    ----------
    model, state, method, header, sink, settings
        As in `simulate`; the method computes accelerations and work arrays.
    states, steps
        The states at the output instants after the first one, and the number of steps of the run.

    Raises
    ------
    OutputError
        The sink cannot write.
    """
    recorder = Recorder(model, method, settings, header.block_rows, sink)
    report = method.start(state)
    recorder.prepare(state)
    sink.open(header)
    try:
        recorder.observe()
        recorder.add(report)
        recorder.add_states(state, method, states, report._replace(steps=steps))
        recorder.flush()
        others = [Raised("forces", "warning", text) for text in force_warnings(model, method.work.warnings)]
        outcome = Outcome("complete", steps=steps)
        outcome = with_alarms(outcome, alarms_of(settings, recorder.record_of_run, others, diverged=False))
    except BaseException:
        sink.close(None)
        raise
    sink.close(outcome)
    drift = recorder.record_of_run.residual.largest
    return Summary(outcome, recorder.reached.instants, recorder.reached.time, steps, drift)


def with_alarms(outcome: Outcome, alarms: tuple[Raised, ...]) -> Outcome:
    """Add the alarms of a run to its outcome: a failed one makes it untrusted."""
    if outcome.status == "complete" and any(alarm.level == "failed" for alarm in alarms):
        outcome = replace(outcome, status="untrusted")
    outcome = replace(outcome, alarms=alarms)
    shown = map(str, said_once(outcome.later_alarms, outcome.message))
    return replace(outcome, message="; ".join(filter(None, [outcome.message, *shown])))


def _stopped_at(time: float) -> str:
    return f"stopped on request at t = {time:.9g} s"


class _Pace:
    """Advances in calls of compiled code of a fraction of a second: to several output instants, or to a part of one.

    Compiled code, which runs in the context `computing`, cannot be interrupted, so `stop_asked` is called between
    calls.  The division into calls does not affect the results.  `progress` is the position within the output interval.
    """

    SHORT, LONG = 0.02, 0.08
    """Bounds of the duration of a call, s: below, the length of the next one is doubled; above, it is halved."""

    def __init__(self, method: Method, timing: Timing, report: Report, computing: AbstractContextManager[None]) -> None:
        self._method = method
        self._computing = computing
        self._timing = timing
        self._length = 1
        self._began = clock.monotonic()
        self.progress = IntervalProgress(report)

    @property
    def seconds(self) -> float:
        """Time since the beginning of the output interval, s."""
        return clock.monotonic() - self._began

    def begin_interval(self, report: Report) -> None:
        """Note that an output instant was reached with a report."""
        self.progress.done, self.progress.report = 0, report
        self._began = clock.monotonic()

    def advance(self, state: State, recorder: Recorder, stop_asked: Callable[[], bool]) -> tuple[Report, int]:
        """Advance the state to the next output instants, and observe them.

        Returns
        -------
        Report
            That of the last instant, or of a step that failed.
        int
            Number of output instants; 0 if a step failed before the first one, or if it stopped there.
        """
        pauses, progress = self._timing.pauses, self.progress
        interval = recorder.reached.instants - 1
        left = self._timing.outputs - interval - 1  # the last one alone: a branch stops the run before it
        count = min(self._length // pauses, left, recorder.most_at_once, INSTANTS_AT_ONCE)
        if count > 0 and not progress.done:
            with self._timed(pauses * self._timing.outputs):
                instants, report = recorder.take(count, pauses)
            return report._replace(steps=report.steps + progress.earlier_steps), instants
        every = self._timing.every
        report = progress.report if progress.done else Report()
        while True:
            done = min(progress.done + self._length, pauses)
            until = (interval + 1) * every if done == pauses else interval * every + done * (every / pauses)
            with self._timed(pauses):
                report = self._method.advance(state, until).after(report)
            report = report._replace(steps=report.steps + progress.earlier_steps)
            if report.status is not Status.OK:
                return report, 0
            if done == pauses:
                recorder.observe()
                return report, 1
            progress.done, progress.report = done, report
            if stop_asked():
                return report, 0

    @contextmanager
    def _timed(self, longest: int) -> Iterator[None]:
        """Compute in this context, and choose the length of the next call, up to `longest`, by the duration."""
        began = clock.monotonic()
        with self._computing:
            yield
        seconds = clock.monotonic() - began
        if seconds < self.SHORT:
            self._length = min(2 * self._length, longest)
        elif seconds > self.LONG:
            self._length = max(self._length // 2, 1)


@dataclass
class IntervalProgress:
    """The last report, how many of the equal parts of the output interval are done, and the steps of earlier scenes."""

    report: Report
    done: int = 0
    earlier_steps: int = 0


class _Checkpoints:
    """Keeps the carried state of a run, after the recorded instants have been written.

    Parameters
    ----------
    holders
        Objects that hold the state, by name.
    recorder
        The recorder, which writes before the state is kept.
    receive
        Receives the carried state; None keeps nothing.
    """

    def __init__(
        self, holders: Mapping[str, Any], recorder: Recorder, receive: Callable[[Values], None] | None
    ) -> None:
        self._holders = holders
        self._recorder = recorder
        self._receive = receive
        self._began = self._kept = clock.monotonic()

    def restore(self, carried: Values) -> None:
        """Assign a carried state to the holders."""
        restore(self._holders, carried)

    def keep(self) -> None:
        """Keep the state, unless the recorder holds rows that must wait for a full block."""
        if self._receive is not None and self._recorder.flush_if_allowed():
            self._receive(collect(self._holders))
            self._kept = clock.monotonic()

    def keep_late(self) -> bool:
        """Keep the state if the last one is old; return False."""
        if clock.monotonic() - self._kept > FLUSH_AFTER:
            self.keep()
        return False

    def keep_at_end(self) -> None:
        """Keep the state at the end of a run that took long."""
        if clock.monotonic() - self._began > FLUSH_AFTER:
            self.keep()
