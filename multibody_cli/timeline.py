"""The time loop: advance the state, sample the output, pass it to the sink."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from multibody_cli.force_warnings import force_warnings
from multibody_cli.methods.contract import Method, Report, Status, VariationalDiagnostics
from multibody_cli.model import Model, State
from multibody_cli.observation.contacts import observe_contacts, observe_joint_friction
from multibody_cli.observation.state import observe
from multibody_cli.output.sink import Header, Outcome, Sink
from multibody_cli.samples import Samples, samples_for
from multibody_cli.scene.timing import Timing
from multibody_cli.watch import JointDomainMonitor

FLUSH_AFTER = 10.0
"""Seconds after which a partial block is written, to a sink that accepts partial blocks."""


@dataclass(frozen=True)
class Summary:
    """Result of a run: outcome, number of instants written, time of the last (s), and number of steps."""

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
    """Run a scene from its initial state to its end, until a step diverges, or until `stop_asked` returns True.

    Parameters
    ----------
    model, state, method
        A compiled scene; the state is advanced in place.
    timing, header, sink
        Output times, metadata of the run, and receiver of the output.
    on_output
        Called after each output instant with the number of instants so far.
    stop_asked
        Called before each output instant and, within long intervals, several times a second; if it returns True, the
        run ends with the status `interrupted`.

    Raises
    ------
    OutputError
        The sink cannot write.
    """
    recorder = _Recorder(model, method, header.block_rows, sink)
    pace = _Pace(method, timing)
    monitor = JointDomainMonitor(model)
    report = method.start(state)
    recorder.prepare(state)  # compiles all kernels before `open`, so that a failure does not replace an older file
    sink.open(header)
    outcome = Outcome("interrupted", "the run was ended by an error")
    instants = 0
    try:
        outcome = _outcome_of(model, state, report, state, monitor.check(state, method.work))
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
            outcome = _outcome_of(model, state, report, before, monitor.check(state, method.work))
            if stopped:  # the state between two output instants is recorded as well
                recorder.record(state, report)
                instants += 1
                outcome = Outcome("interrupted", f"stopped on request at t = {state.time[0]:.9g} s", report.steps)
        messages = list(monitor.warnings(outcome.status == "diverged"))
        if outcome.status == "complete":
            cautions = _accuracy_warnings(
                outcome, recorder.unsolved, recorder.step_subdivisions, recorder.implicit_unsolved
            )
            messages = [*cautions, *force_warnings(model, method.work.warnings), *messages]
        outcome = replace(outcome, message="; ".join(filter(None, [outcome.message, *messages])))
    finally:
        recorder.flush()
        sink.close(outcome)
    return Summary(outcome, instants, recorder.reached, report.steps)


class _Pace:
    """Advances from one output instant to the next in pieces of a fraction of a second.

    Compiled code cannot be interrupted, so `stop_asked` is called between pieces.  The pieces do not affect the
    results.
    """

    SHORT, LONG = 0.05, 0.2
    """Bounds of the duration of a piece, s: below, the length of the next piece is doubled; above, it is halved."""

    def __init__(self, method: Method, timing: Timing) -> None:
        self._method = method
        self._timing = timing
        self._length = 1

    def advance(self, state: State, interval: int, stop_asked: Callable[[], bool]) -> tuple[Report, bool]:
        """Advance the state to the end of an output interval; also return whether it stopped before."""
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
    """Collects output instants in a block and writes full blocks to the sink."""

    def __init__(self, model: Model, method: Method, rows: int, sink: Sink) -> None:
        self._system = model.system
        self._work, self._contact_work = method.work, method.contact_work
        self._body_rows = model.names.body_rows
        self._joint_rows = np.array([joint.row for joint in model.names.joints], dtype=np.int64)
        self._has_contacts, self._has_joint_friction = model.names.contacts > 0, len(model.names.friction_joints) > 0
        self._numbers = np.full(len(model.system.tree.links), -1)
        self._numbers[self._body_rows] = np.arange(len(self._body_rows))
        self._samples = samples_for(model, rows)
        self._rows = rows
        self._filled = 0
        self._sink = sink
        self._flushed = clock.monotonic()
        self.reached = 0.0
        self.unsolved = 0
        self.step_subdivisions = 0
        self.implicit_unsolved = 0

    def prepare(self, state: State) -> None:
        """Sample a state without recording it."""
        self._observe(state, 0)

    def _observe(self, state: State, k: int) -> None:
        """Write the output quantities of a state into row k of the samples."""
        samples = self._samples
        observe(self._system, state, self._work, self._body_rows, self._joint_rows, samples, k)
        if self._has_contacts:
            observe_contacts(self._contact_work, self._numbers, samples, k)
        if self._has_joint_friction:
            observe_joint_friction(
                self._system.contacts.joint_friction.patches,
                self._contact_work.joint_friction.friction_forces,
                samples,
                k,
            )

    def record(self, state: State, report: Report) -> None:
        """Record the state as the next output instant."""
        k, samples = self._filled, self._samples
        self._observe(state, k)
        samples.iterations[k] = report.iterations
        samples.residual[k] = report.residual
        samples.contact_residual[k] = report.contact_residual
        samples.contacts_unsolved[k] = report.unsolved
        if report.diagnostics is not None:
            _store_diagnostics(report.diagnostics, samples, k)
            self.step_subdivisions += report.diagnostics.step_subdivisions
        self.unsolved += report.unsolved
        self.implicit_unsolved += report.implicit_unsolved
        self.reached = float(state.time[0])
        self._filled += 1
        late = self._sink.accepts_partial_blocks and clock.monotonic() - self._flushed > FLUSH_AFTER
        if self._filled == self._rows or late:
            self.flush()

    def flush(self) -> None:
        """Write the recorded instants to the sink."""
        if self._filled:
            self._sink.write(self._samples, self._filled)
        self._filled = 0
        self._flushed = clock.monotonic()


def _store_diagnostics(diagnostics: VariationalDiagnostics, samples: Samples, k: int) -> None:
    """Store the diagnostics of a variational method."""
    samples.residual_impulse[k] = diagnostics.residual_impulse
    samples.step_subdivisions[k] = diagnostics.step_subdivisions
    samples.fallbacks[k] = diagnostics.fallbacks
    samples.modified_energy[k] = diagnostics.modified_energy
    samples.discrete_momentum[k] = diagnostics.momentum


def _outcome_of(model: Model, state: State, report: Report, before: State, domain_violation: str) -> Outcome:
    """Outcome of an advance, with a message if it failed; `domain_violation` is the message of the domain monitor."""
    if report.status is Status.OK:
        return Outcome("diverged" if domain_violation else "complete", domain_violation, report.steps)
    column = report.culprit if report.culprit >= 0 else _fastest_growing(state, before)
    culprit = model.names.coordinates[column] if len(state.v) else "the scene"
    return Outcome("diverged", _explain(report, culprit, float(before.time[0]), float(state.time[0])), report.steps)


def _accuracy_warnings(outcome: Outcome, unsolved: int, step_subdivisions: int, implicit_unsolved: int) -> list[str]:
    """Warnings: steps with unconverged contacts, subdivided steps, unconverged implicit forces."""
    cautions = []
    if unsolved:
        cautions.append(
            f"contacts or friction did not converge to their tolerance in {unsolved} of {outcome.steps} steps "
            "(see `contacts/unsolved` and `contacts/residual`): reduce `simulation.step` or increase "
            "`contacts.max_iterations`"
        )
    if step_subdivisions:
        cautions.append(
            f"steps were halved {step_subdivisions} times because the solver did not converge "
            "(`solver/step_subdivisions`): the motion is poorly resolved there, and a jump of the energy indicates "
            "convergence to a wrong solution; reduce `simulation.step`"
        )
    if implicit_unsolved:
        cautions.append(
            f"accelerations with implicit forces did not converge to their tolerance {implicit_unsolved} times: "
            "increase `simulation.options.implicit_iterations` or reduce `simulation.step`"
        )
    return cautions


def _fastest_growing(state: State, before: State) -> int:
    """Coordinate whose velocity grew most since the last valid state, among those with a non-finite acceleration."""
    non_finite = ~np.isfinite(state.a)
    growth = np.where(np.isfinite(state.v), np.abs(state.v), np.inf) / (1.0 + np.abs(before.v))
    return int(np.argmax(np.where(non_finite, growth, -1.0) if non_finite.any() else growth))


def _explain(report: Report, culprit: str, last_valid: float, reached: float) -> str:
    if report.status is Status.STEP_TOO_SMALL:
        return (
            f"the adaptive step became too small near t = {reached:.9g} s; {culprit} changes fastest there. "
            "Check for a singular position or a discontinuous force, or loosen `simulation.tolerance`."
        )
    if report.status is Status.NOT_CONVERGED:
        return (
            f"step {report.steps + 1} (t = {reached:.9g} s) did not converge; {culprit} has the largest correction. "
            f"{report.remedy}"
        )
    if report.status is Status.CONTACT_CAPACITY_EXCEEDED:
        step = f"step {report.steps + 1} (t = {reached:.9g} s)"
        return f"{step} has more contacts than the contact capacity: increase `contacts.max_contacts`"
    if reached == 0.0 and math.isclose(last_valid, 0.0):
        return (
            f"the initial acceleration is not finite: {culprit} moves no mass or inertia, its axes coincide, or a "
            "force or a prescribed motion is not finite. Give the body mass and inertia, change the initial position, "
            "or check expressions of t such as 1/t or sqrt(t)."
        )
    return (
        f"step {report.steps + 1} (t = {reached:.9g} s) diverged; last valid output at t = {last_valid:.9g} s; "
        f"{culprit} grew fastest after it. Try a smaller `simulation.step`, `integrator: dop853`, or softer springs."
    )
