"""The only time loop of the project: advance, observe, hand on."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from multibody_cli.alerts import tell_alerts
from multibody_cli.methods.contract import Diagnosis, Method, Report, Status
from multibody_cli.model import Model, State
from multibody_cli.observation.contacts import observe_contacts, observe_journals
from multibody_cli.observation.state import observe
from multibody_cli.output.sink import Header, Outcome, Sink
from multibody_cli.samples import Samples, samples_for
from multibody_cli.scene.timing import Timing
from multibody_cli.watch import Watch

FLUSH_AFTER = 10.0
"""Seconds after which finished rows are handed to a sink that takes any number of them, full block or not."""


@dataclass(frozen=True)
class Summary:
    """How a run went: its outcome, the instants written, the last of them (s), and the steps taken."""

    outcome: Outcome
    instants: int
    reached: float
    steps: int


def simulate(
    model: Model,
    state: State,
    method: Method,
    timing: Timing,
    header: Header,
    sink: Sink,
    on_output: Callable[[int], None] = lambda _done: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> Summary:
    """Run a scene from its first state to its end, to a step that diverges, or until `stop_asked`.

    Parameters
    ----------
    model, state, method
        A compiled scene; the state is advanced in place.
    timing, header, sink
        When output is taken, what is known of the run, and where the output goes.
    on_output
        Called with the number of finished instants, after each.
    stop_asked
        Asked before each instant and, where an interval takes long, several times a second; if it says so, the run ends
        there as interrupted.

    Raises
    ------
    OutputError
        If the sink cannot write.
    """
    recorder = _Recorder(model, method, header.block_rows, sink)
    pace = _Pace(method, timing)
    watch = Watch(model)
    report = method.start(state)
    recorder.prepare(state)  # now all is compiled, and a run that cannot be compiled leaves an older file alone
    sink.open(header)
    outcome = Outcome("interrupted", "the run was ended by an error")
    instants = 0
    try:
        outcome = _judge(model, state, report, state, watch.look(state, method.work))
        while outcome.status == "complete":
            recorder.record(state, report)
            instants += 1
            on_output(instants)
            if instants > timing.outputs:
                break
            if stop_asked():
                outcome = Outcome("interrupted", f"stopped on request at t = {state.time[0]:.9g} s", report.steps)
                break
            before = State(*(array.copy() for array in state))
            report, stopped = pace.advance(state, instants - 1, stop_asked)
            outcome = _judge(model, state, report, before, watch.look(state, method.work))
            if stopped:  # what was reached between two output instants is kept as well
                recorder.record(state, report)
                instants += 1
                outcome = Outcome("interrupted", f"stopped on request at t = {state.time[0]:.9g} s", report.steps)
        told = list(watch.tell(outcome.status == "diverged"))
        if outcome.status == "complete":
            doubts = _doubts(outcome, recorder.unsolved, recorder.halvings, recorder.unforeseen)
            told = [*doubts, *tell_alerts(model, method.work.alerts), *told]
        outcome = replace(outcome, message="; ".join(filter(None, [outcome.message, *told])))
    finally:
        recorder.flush()
        sink.close(outcome)
    return Summary(outcome, instants, recorder.reached, report.steps)


class _Pace:
    """Advances from one output instant to the next in pieces that take a fraction of a second.

    Compiled code cannot be interrupted, so a wish to stop is asked for between pieces.  Where a run pauses is no matter
    for its numbers.
    """

    SHORT, LONG = 0.05, 0.2
    """A piece that took less than `SHORT` seconds is followed by one of twice the length, one above `LONG` by half."""

    def __init__(self, method: Method, timing: Timing) -> None:
        self._method = method
        self._timing = timing
        self._length = 1

    def advance(self, state: State, interval: int, stop_asked: Callable[[], bool]) -> tuple[Report, bool]:
        """Bring the state to the end of an output interval; whether it stopped on the way."""
        every, pauses, done, report = self._timing.every, self._timing.pauses, 0, Report()
        while True:
            done = min(done + self._length, pauses)
            began = clock.monotonic()
            until = (interval + 1) * every if done == pauses else interval * every + done * (every / pauses)
            report = self._method.advance(state, until).after(report)
            seconds = clock.monotonic() - began
            if seconds < self.SHORT:
                self._length = min(2 * self._length, pauses)
            elif seconds > self.LONG:
                self._length = max(self._length // 2, 1)
            if done == pauses or report.status is not Status.OK:
                return report, False
            if stop_asked():
                return report, True


class _Recorder:
    """Collects output instants in a block and hands full blocks to the sink."""

    def __init__(self, model: Model, method: Method, rows: int, sink: Sink) -> None:
        self._system = model.system
        self._work, self._touch = method.work, method.touch
        self._body_rows = model.names.body_rows
        self._joint_rows = np.array([joint.row for joint in model.names.joints], dtype=np.int64)
        self._touches, self._rubs = model.names.contacts > 0, len(model.names.rubbing) > 0
        self._numbers = np.full(len(model.system.tree.links), -1)
        self._numbers[self._body_rows] = np.arange(len(self._body_rows))
        self._samples = samples_for(model, rows)
        self._rows = rows
        self._filled = 0
        self._sink = sink
        self._flushed = clock.monotonic()
        self.reached = 0.0
        self.unsolved = 0
        self.halvings = 0
        self.unforeseen = 0

    def prepare(self, state: State) -> None:
        """Observe a state without keeping it."""
        self._observe(state, 0)

    def _observe(self, state: State, k: int) -> None:
        """Write what a state shows into row k of the samples."""
        samples = self._samples
        observe(self._system, state, self._work, self._body_rows, self._joint_rows, samples, k)
        if self._touches:
            observe_contacts(self._touch, self._numbers, samples, k)
        if self._rubs:
            observe_journals(self._system.contacts.journals.pads, self._touch.journals.pushes, samples, k)

    def record(self, state: State, report: Report) -> None:
        """Take the state as one more instant."""
        k, samples = self._filled, self._samples
        self._observe(state, k)
        samples.iterations[k] = report.iterations
        samples.residual[k] = report.residual
        samples.contact_residual[k] = report.contact_residual
        samples.contacts_unsolved[k] = report.unsolved
        if report.diagnosis is not None:
            _note_diagnosis(report.diagnosis, samples, k)
            self.halvings += report.diagnosis.halvings
        self.unsolved += report.unsolved
        self.unforeseen += report.unforeseen
        self.reached = float(state.time[0])
        self._filled += 1
        late = self._sink.takes_any_rows and clock.monotonic() - self._flushed > FLUSH_AFTER
        if self._filled == self._rows or late:
            self.flush()

    def flush(self) -> None:
        """Hand on what was taken."""
        if self._filled:
            self._sink.write(self._samples, self._filled)
        self._filled = 0
        self._flushed = clock.monotonic()


def _note_diagnosis(diagnosis: Diagnosis, samples: Samples, k: int) -> None:
    """Take what a variational method says of its steps."""
    samples.imbalance[k] = diagnosis.residual
    samples.halvings[k] = diagnosis.halvings
    samples.fallbacks[k] = diagnosis.fallbacks
    samples.modified_energy[k] = diagnosis.modified_energy
    samples.discrete_momentum[k] = diagnosis.momentum


def _judge(model: Model, state: State, report: Report, before: State, departure: str) -> Outcome:
    """How an advance ended, with words where it did not end well; `departure` are those for what left its domain."""
    if report.status is Status.OK:
        return Outcome("diverged" if departure else "complete", departure, report.steps)
    column = report.culprit if report.culprit >= 0 else _fastest_growing(state, before)
    culprit = model.names.coordinates[column] if len(state.v) else "the scene"
    return Outcome("diverged", _explain(report, culprit, float(before.time[0]), float(state.time[0])), report.steps)


def _doubts(outcome: Outcome, unsolved: int, halvings: int, unforeseen: int) -> list[str]:
    """Say in how many steps contacts were not solved, and how often steps were cut or forces not found."""
    doubts = []
    if unsolved:
        doubts.append(
            f"contacts or friction do not meet their tolerance in {unsolved} of {outcome.steps} steps: "
            "`contacts/unsolved` says when, `contacts/residual` by how much; shorter steps help, or more of "
            "`contacts.max_iterations`"
        )
    if halvings:
        doubts.append(
            f"steps were cut in halves {halvings} times, for their ends were not found (`solver/halvings`): the "
            "motion is hardly resolved there, and where the energy jumps, another solution than its own was found; "
            "take a smaller `simulation.step`"
        )
    if unforeseen:
        doubts.append(
            f"accelerations with implicit forces missed their tolerance {unforeseen} times: give them more of "
            "`simulation.options.implicit_iterations`, or take a smaller `simulation.step`"
        )
    return doubts


def _fastest_growing(state: State, before: State) -> int:
    """The coordinate whose velocity grew most since the run was sound, among those that lost their acceleration."""
    lost = ~np.isfinite(state.a)
    growth = np.where(np.isfinite(state.v), np.abs(state.v), np.inf) / (1.0 + np.abs(before.v))
    return int(np.argmax(np.where(lost, growth, -1.0) if lost.any() else growth))


def _explain(report: Report, culprit: str, sound_until: float, reached: float) -> str:
    if report.status is Status.STEP_TOO_SMALL:
        return (
            f"the adaptive step became too small near t = {reached:.9g} s; {culprit} changes fastest there. "
            "Look for a singular position or a force that jumps, or loosen `simulation.tolerance`."
        )
    if report.status is Status.NOT_FOUND:
        return (
            f"the end of step {report.steps + 1} (t = {reached:.9g} s) was not found: {culprit} is farthest off. "
            f"{report.remedy}"
        )
    if report.status is Status.CROWDED:
        step = f"step {report.steps + 1} (t = {reached:.9g} s)"
        return f"{step} has more contacts than there is room for: set `contacts.room`"
    if reached == 0.0 and math.isclose(sound_until, 0.0):
        return (
            f"no finite acceleration at the start: {culprit} moves nothing that has mass or inertia, its axes "
            "coincide there, or a force or a motion is not finite. Give the body that it moves a mass and an inertia, "
            "start it elsewhere, and look for expressions of t such as 1/t or sqrt(t)."
        )
    return (
        f"step {report.steps + 1} (t = {reached:.9g} s) is out of all bounds; the last sound output is at "
        f"t = {sound_until:.9g} s, and {culprit} grew fastest after it. Try a smaller `simulation.step`, "
        "`integrator: dop853`, or softer springs."
    )
