"""The run: advance the state, sample the output, pass it to the sink."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multibody_cli.alarms.contract import Raised, RunSettings
from multibody_cli.alarms.monitor import alarms_of
from multibody_cli.alarms.record import RunRecord
from multibody_cli.diagnostics.joint_domains import JointDomainMonitor
from multibody_cli.diagnostics.outcome import Before, force_alarms, outcome_of, with_alarms
from multibody_cli.immutable import Immutable, replace
from multibody_cli.initial.largest_force import start_of
from multibody_cli.initial.singular_loop import advise_beside_singular_loops
from multibody_cli.kernel import bound_kernel
from multibody_cli.methods.contract import Recording, Report, Status
from multibody_cli.methods.method import Method
from multibody_cli.model import Model, State
from multibody_cli.output.carried_state import Values, collect, restore
from multibody_cli.output.element_rows import element_rows
from multibody_cli.output.observers import contact_observers, observe, observe_states
from multibody_cli.output.recorder import FLUSH_AFTER, Recorder, States
from multibody_cli.output.sink import Header, Outcome, Sink
from multibody_cli.scene.timing import Timing

if TYPE_CHECKING:
    from multibody_cli.events.phase import Phase
    from multibody_cli.events.watch import Watch

INSTANTS_AT_ONCE = 10_000
"""Most output instants that one call of compiled code passes."""

SHOW_AFTER = 0.5
"""Seconds after which the progress within an output interval is reported."""

SHORT, LONG = 0.02, 0.08
"""Bounds of the duration of a call, s: below, the length of the next one is doubled; above, it is halved."""


class Summary(Immutable):
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


class Callbacks(Immutable):
    """Functions that a run calls between calls of compiled code.

    Parameters
    ----------
    on_output
        Called after output instants, several times a second, with the number of instants so far and, within intervals
        that take long, with the part of the interval added.
    stop_asked
        Called between output instants and within long intervals, several times a second; if it returns True, the run
        ends with the status `interrupted`.
    keep
        Receives the carried state of the run when rows have been written to the sink: every `FLUSH_AFTER` seconds, when
        the run stops, and at the end of a run that took longer than that.
    while_computing
        Returns a context for calls of compiled code, which may take long.  Its argument ends the run as `interrupted`
        at the last recorded instant; it returns None if the sink is not open yet.  Another thread may call it while the
        thread of the run is in the context, and must then end the process.
    """

    on_output: Callable[[float], None] = lambda _done: None
    stop_asked: Callable[[], bool] = lambda: False
    keep: Callable[[Values], None] | None = None
    while_computing: Callable[[Callable[[], Summary | None]], AbstractContextManager[None]] = lambda _end: nullcontext()


NO_CALLBACKS = Callbacks()
"""Of a run that nobody watches."""


class _Bound(NamedTuple):
    """Functions that fill row k of a block, and the loop over several output instants, if there is one."""

    observers: list[Callable[[int], None]]
    record: Recording | None


@dataclass(eq=False)
class Driver:
    """Owner of a run: its instants, its calls of compiled code, its blocks of rows, its checkpoints and its end.

    Compiled code cannot be interrupted.  It is called for a fraction of a second: for several output instants, or for a
    part of an interval.  Everything else happens between calls.  The division into calls does not affect the results.

    Parameters
    ----------
    model, state, method
        A compiled scene; the state is advanced in place.
    timing, header, sink
        Output times, metadata of the run, and receiver of the output.
    settings
        Settings of the alarms.
    callbacks
        The functions that the run calls.
    watch
        Advances the state in place of the method, in scenes with events.
    """

    model: Model
    state: State
    method: Method
    timing: Timing
    header: Header
    sink: Sink
    settings: RunSettings
    callbacks: Callbacks = NO_CALLBACKS
    watch: Watch | None = None

    def __post_init__(self) -> None:
        self._monitor = JointDomainMonitor(self.model)
        self._recorder = Recorder(self.model, self.settings, self.header.block_rows, self.sink)
        self._progress, self._record_of_run = self._recorder.progress, self._recorder.record_of_run
        self._rows = element_rows(self.model)
        self._bound: dict[int, _Bound] = {}
        self._is_open = False
        self._steps_before = 0
        self._length = 1  # of the next call, in equal parts of output intervals
        self._computing = self.callbacks.while_computing(self._end_early)
        with self._computing:  # compiles kernels before `open`, so that a failure does not replace an older file
            self._progress.report = self.method.start(self.state)
            if self.watch:
                self.watch.begin(self._progress.report)
            self._observe()
            RunRecord(self.model, self.settings).add_samples(self._recorder.samples, 1)
        self._start = start_of(self.state, self.method.work)
        self._holders: dict[str, Any] = {"state": self.state, "method": self.method, "monitor": self._monitor}
        self._holders |= {"progress": self._progress, "record": self._record_of_run}
        self._holders |= self.watch.holders if self.watch else {}

    # --- the whole run ------------------------------------------------------------------------------------------------
    def run(self, carried: Values | None = None) -> Summary:
        """Run to the end, until a step diverges, or until a stop is asked for.

        `carried` is a carried state from which the run goes on; the sink holds the rows up to it.

        Raises
        ------
        OutputError
            The sink cannot write.
        LayoutError
            `carried` belongs to another model, method or integrator.
        """
        progress, state = self._progress, self.state
        if self._of_block.record:
            with self._computing:
                self._of_block.record(0, 0, 1)
        before, violation = Before(float(state.time[0]), state.v), self._monitor.check(state, self.method.work)
        outcome = self._outcome(before, violation)
        if carried is not None:
            restore(self._holders, carried)
            outcome = Outcome("complete", steps=progress.report.steps)
        self._steps_before = progress.steps
        with self._opened():
            if carried is None and outcome.status == "complete":
                self._add_present_state()
                self.callbacks.on_output(progress.instants)
            while outcome.status == "complete" and progress.instants <= self.timing.outputs and not self._ended_by:
                outcome = self._pass_instants()
            outcome = self._with_alarms(outcome)
        return self._close(outcome)

    def replay(self, states: States) -> Summary:
        """Record a complete run of constant steps whose states at the output instants after the first one are known.

        The joints have no domains and no joint maps, whose monitor needs the single instants.  The method computes
        accelerations and work arrays.
        """
        recorder, state, method = self._recorder, self.state, self.method
        kernel = bound_kernel(observe_states, complete_state=method.completion, fill_row=observe)
        leading, powers = (self.model.system, state, method.work, self._rows), np.zeros_like(state.ledger)
        with self._opened():
            self._add_present_state()
            report = self._progress.report = self._progress.report._replace(steps=self.timing.steps)
            done, count = 0, len(states.time)
            while done < count:
                some = min(recorder.rows_left, count - done)
                kernel.on(*leading, recorder.samples, powers, *states)(done, recorder.filled, some)
                recorder.add(report, some)
                done += some
            outcome = self._with_alarms(Outcome("complete", steps=report.steps))
        return self._close(outcome)

    @contextmanager
    def _opened(self) -> Iterator[None]:
        self.sink.open(self.header)
        self._is_open = True
        self._began = self._kept = self._interval_began = clock.monotonic()
        try:
            yield
        except BaseException:
            try:
                self._recorder.flush()
            finally:
                self.sink.close(None)
            raise

    def _end_early(self) -> Summary | None:
        """End the run at its last recorded instant; return None if the sink is not open yet."""
        if not self._is_open:
            return None
        self._recorder.flush()
        return self._close(self._interrupted(self._progress.time))

    def _close(self, outcome: Outcome) -> Summary:
        outcome = replace(outcome, events=self.watch.table if self.watch else None)
        self.sink.close(outcome)
        progress, drift = self._progress, self._record_of_run.residual.largest
        return Summary(outcome, progress.instants, progress.time, outcome.steps, drift, self._steps_before)

    # --- instants -----------------------------------------------------------------------------------------------------
    def _pass_instants(self) -> Outcome:
        """Advance to the next output instants and record them, or to a request to stop; return the outcome so far."""
        progress, state, recorder = self._progress, self.state, self._recorder
        if self.callbacks.stop_asked():
            self._keep()
            return self._interrupted(float(state.time[0]))
        before = Before(float(state.time[0]), state.v.copy())
        instants = self._advance()
        violation = self._monitor.check(state, self.method.work)
        if instants and not violation:
            recorder.add(progress.report, instants)
            before = Before(*recorder.last)
        if progress.report.status is not Status.OK:
            self._advise(state)
        outcome = self._outcome(before, violation)
        if outcome.status != "complete":
            return outcome
        if self._ended_by:
            return self._end_at_event(outcome)
        if not instants:  # stopped between two output instants
            self._keep()
            self._add_present_state()
            return self._interrupted(float(state.time[0]))
        progress.done, self._interval_began = 0, clock.monotonic()
        self.callbacks.on_output(progress.instants)
        self._keep_late()
        return outcome

    def _advance(self) -> int:
        """Advance the state to the next output instants, and observe them.

        Returns
        -------
        int
            Number of output instants; 0 if a step failed before the first one, or if it stopped there.
        """
        pauses, every, progress = self.timing.pauses, self.timing.every, self._progress
        interval = progress.instants - 1
        left = self.timing.outputs - interval - 1  # the last one alone: a branch stops the run before it
        count = min(self._length // pauses, left, self._recorder.rows_left, INSTANTS_AT_ONCE)
        if count > 0 and not progress.done and self._of_block.record:
            with self._timed(pauses * self.timing.outputs):
                instants, report = self._record(count)
            if instants or report.status is not Status.OK:  # else an event is in the next interval
                progress.report = report._replace(steps=report.steps + progress.earlier_steps)
                return instants
        report = progress.report if progress.done else Report()
        while True:
            done = min(progress.done + self._length, pauses)
            until = (interval + 1) * every if done == pauses else interval * every + done * (every / pauses)
            with self._timed(pauses):
                own = self.watch.advance(until) if self.watch else self.method.advance(self.state, until)
            report = progress.report = own._replace(steps=own.steps + progress.earlier_steps).after(report)
            if self.watch and self.watch.phase.method is not self.method:
                self._begin_phase(self.watch.phase)
            if report.status is not Status.OK or self._ended_by:
                return 0
            if done == pauses:
                self._observe()
                return 1
            progress.done = done
            if clock.monotonic() - self._interval_began > SHOW_AFTER:
                self.callbacks.on_output(progress.instants + done / pauses)
            self._keep_late()
            if self.callbacks.stop_asked():
                return 0

    def _record(self, count: int) -> tuple[int, Report]:
        """Pass `count` output instants in one call; return how many were reached, and the report of the last step."""
        assert self._of_block.record is not None
        return self._of_block.record(self._recorder.filled, count, self.timing.pauses)

    @contextmanager
    def _timed(self, longest: int) -> Iterator[None]:
        """Compute in this context, and choose the length of the next call, up to `longest`, by the duration."""
        began = clock.monotonic()
        with self._computing:
            yield
        seconds = clock.monotonic() - began
        if seconds < SHORT:
            self._length = min(2 * self._length, longest)
        elif seconds > LONG:
            self._length = max(self._length // 2, 1)

    # --- rows ---------------------------------------------------------------------------------------------------------
    @property
    def _of_block(self) -> _Bound:
        """The functions of the block of samples that is filled."""
        system, state, method, samples = self.model.system, self.state, self.method, self._recorder.samples
        if id(samples) not in self._bound:
            observers = [observe.on(system, state, method.work, self._rows, samples)]
            of_contacts = contact_observers(self.model.names)
            observers += [one.on(system, method.contact_work, self._rows, samples) for one in of_contacts]
            recording = self.watch.recording if self.watch else partial(method.recording, state, observe, self._rows)
            self._bound[id(samples)] = _Bound(observers, None if self._monitor.watches else recording(samples))
        return self._bound[id(samples)]

    def _observe(self) -> None:
        """Observe the state as the next row."""
        for observe_all in self._of_block.observers:
            observe_all(self._recorder.filled)

    def _add_present_state(self) -> None:
        self._observe()
        self._recorder.add(self._progress.report)

    # --- checkpoints --------------------------------------------------------------------------------------------------
    def _keep(self) -> None:
        """Keep the carried state, unless the recorder holds rows that must wait for a full block."""
        if (
            self.callbacks.keep is not None
            and not (self.watch and self.watch.changes)
            and self._recorder.flush_if_allowed()
        ):
            self.callbacks.keep(collect(self._holders))
            self._kept = clock.monotonic()

    def _keep_late(self) -> None:
        """Keep the carried state if the last one is old."""
        if clock.monotonic() - self._kept > FLUSH_AFTER:
            self._keep()

    # --- outcome ------------------------------------------------------------------------------------------------------
    def _outcome(self, before: Before, violation: str) -> Outcome:
        report, settings = self._progress.report, self.settings
        return outcome_of(self.model, self.state, report, before, violation, settings, self._start)

    @property
    def _ended_by(self) -> str:
        """Name of the event that has ended the run; empty if none has."""
        return self.watch.record.ended_by if self.watch else ""

    def _begin_phase(self, phase: Phase) -> None:
        """Go on with the model and the method behind an event."""
        for own, earlier in zip(phase.method.work.warnings, self.method.work.warnings, strict=True):
            own |= earlier
        self.model, self.method, self._rows = phase.model, phase.method, element_rows(phase.model)
        self._bound.clear()

    def _end_at_event(self, outcome: Outcome) -> Outcome:
        """Record the state at the event that ends the run, unless it is that of the last output instant."""
        time = float(self.state.time[0])
        if time > self._progress.time:
            self._add_present_state()
        return replace(outcome, message=f"ended by the event `{self._ended_by}` at t = {time:.9g} s")

    def _interrupted(self, time: float) -> Outcome:
        return Outcome("interrupted", f"stopped on request at t = {time:.9g} s", self._progress.steps)

    def _advise(self, end: State | None) -> list[Raised]:
        """Add advice on singular positions to the settings of a run that failed; return the warnings of loops."""
        settings, loop = advise_beside_singular_loops(self.model, self.settings, self._start.state, end)
        self.settings = replace(settings, coordinates=self._monitor.other_coordinates())
        return [loop] if loop else []

    def _with_alarms(self, outcome: Outcome) -> Outcome:
        """Return the outcome of a run that has ended, with its alarms."""
        is_valid, record = outcome.status != "diverged", self._record_of_run
        self._recorder.flush()
        others = [*force_alarms(self.model, self.method.work.warnings)] if is_valid else []
        found = alarms_of(self.settings, record, others)
        if failed := not is_valid or any(alarm.level == "failed" for alarm in found):
            others += self._advise(None if is_valid else self.state)
        others += self._monitor.alarms(failed)
        if outcome.status == "complete" and not self._ended_by and clock.monotonic() - self._began > FLUSH_AFTER:
            self._keep()
        outcome = with_alarms(outcome, alarms_of(self.settings, record, others, diverged=not is_valid))
        self._recorder.flush()
        return outcome
