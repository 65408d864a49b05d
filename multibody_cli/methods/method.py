"""A method bound to one model: advances a state by an integrator, with the sampled controllers of the model.

Between calls the state is consistent: `time, q, v, a, ledger` belong together, and the kinematics in the work arrays,
which output reads, are those of the state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from multibody_cli.kernel import Kernel, bound_kernel
from multibody_cli.methods.contract import Causes, Dynamics, Recording, Report, Status, Stepper
from multibody_cli.methods.evaluation import evaluate_repeatedly
from multibody_cli.methods.recording import completion, observe_updated
from multibody_cli.methods.sampling import Sampler
from multibody_cli.model import JointFriction, Model, State
from multibody_cli.tree.workspace import Coupling, ImplicitSolve, Work

if TYPE_CHECKING:
    from multibody_cli.contact_solver.workspace import ContactWorkspace


def with_contacts(report: Report, contact_work: ContactWorkspace, joint_friction: JointFriction) -> Report:
    """Add the contact diagnostics since the last report, and clear them."""
    diagnostics = contact_work.diagnostics
    report = report._replace(
        iterations=max(report.iterations, int(diagnostics.newton_steps[0])),
        contact_residual=float(diagnostics.max_residual[0]),
        jams=int(diagnostics.jammed_steps[0]),
        energizing=int(diagnostics.energizing_steps[0]),
        added_energy=float(diagnostics.added_energy[0]),
    )
    if diagnostics.unsolved_steps.any():
        unsolved = Causes(*diagnostics.unsolved_steps.tolist())
        report = report._replace(causes=report.causes.plus(unsolved))
        if unsolved.limits + unsolved.mean_slip > 0:
            worst = contact_work.joint_friction.worst[1]
            report = report._replace(friction_account=int(joint_friction.accounts[worst]))
    diagnostics.newton_steps[0] = diagnostics.max_residual[0] = diagnostics.jammed_steps[0] = 0
    diagnostics.energizing_steps[0] = diagnostics.added_energy[0] = 0
    diagnostics.unsolved_steps[:] = 0
    return report._replace(status=Status.CONTACT_CAPACITY_EXCEEDED) if contact_work.detection.overflow[0] else report


def with_implicit_solve(report: Report, solve: ImplicitSolve) -> Report:
    """Add the diagnostics of implicit solves since the last report, and clear them."""
    causes = report.causes.plus(Causes(implicit=int(solve.unsolved[0])))
    report = report._replace(iterations=int(solve.iterations[0]), causes=causes)
    solve.iterations[0] = solve.unsolved[0] = 0
    return report


def with_coupled_forces(report: Report, coupling: Coupling) -> Report:
    """Add the diagnostics of coupled forces since the last report, and clear them."""
    limits, contacts = coupling.unsolved.tolist()
    report = report._replace(causes=report.causes.plus(Causes(coupled_limits=limits, coupled_contacts=contacts)))
    if coupling.singular[0]:
        report = report._replace(status=Status.COUPLED_FORCES_SINGULAR)
    coupling.unsolved[:] = coupling.singular[0] = 0
    return report


class Method:
    """A method bound to one model, with an integrator.

    It advances its state in place, without an error inside a step; other states of the model take longer.

    Parameters
    ----------
    model, state
        The model, and its state.
    dynamics, stepper
        The kernels of the method, and the integrator.
    work, contact_work
        The work arrays, and those of contacts, if there are any.
    step
        Step of the step control, s.
    update_work
        The kernel that computes the work arrays which steps leave behind; None if they leave none.
    add_diagnostics
        Adds diagnostics of steps to the report of an output instant; None without.
    """

    def __init__(
        self,
        model: Model,
        state: State,
        dynamics: Dynamics,
        stepper: Stepper,
        work: Work,
        contact_work: Any,
        step: float,
        update_work: Kernel | None = None,
        add_diagnostics: Callable[[Report], Report] | None = None,
    ) -> None:
        self._system, self._state, self.dynamics, self._stepper = model.system, state, dynamics, stepper
        self.work, self.contact_work, self._step = work, contact_work, step
        self.work.dual.step[0] = step
        self._update_work, self._add_diagnostics = update_work, add_diagnostics
        self._update = update_work.on(model.system, work, state) if update_work else None
        self._sampler = Sampler(model, work) if model.controllers else None
        self._advance_sampled = None
        if self._sampler and not self._sampler.external:
            self._advance_sampled = stepper.sampling(state, self._sampler.sampling, update_work)

    @property
    def completion(self) -> Kernel:
        """The kernel `method_kernels.complete_state`."""
        return completion(self.dynamics, self._update_work)

    @property
    def shortest_part(self) -> float:
        """The shortest part of a step that an event divides, relative to the step."""
        return self._stepper.shortest_part

    @property
    def repeats(self) -> bool:
        """Whether steps can be taken again from a copy of the state: without controllers of other programs."""
        return not (self._sampler and self._sampler.external)

    def start(self, state: State) -> Report:
        """Complete the state at its time: accelerations and work arrays."""
        self.work.rows["start_rate"] = math.nan
        self.work.rows["multiplier"] = 0.0
        self._stepper.restart()
        if self._sampler:
            self._sampler.start(state)
            self._advance(state, float(state.time[0]))  # a sample reads the work arrays
        return self.advance(state, float(state.time[0]))

    def advance(self, state: State, until: float) -> Report:
        """Advance the state to the time `until`."""
        if not self._sampler:
            return self._advance(state, until)
        if state is not self._state or not self._advance_sampled:
            return self._sampler.advance(state, until, self._advance, self._stepper.restart)
        return self._completed(state, self._advance_sampled(until))

    def step(self, state: State, count: int) -> Report | None:
        """Advance the state by `count` steps of the step control; return None, or a report if a step failed.

        This is the fast way for single steps: work arrays that only output reads are left behind the state until
        `advance` is called, which may be with the present time.
        """
        if self._sampler:
            report = self.advance(state, float(state.time[0]) + count * self._step)
            return None if report.status is Status.OK else report
        failed = self._stepper.step(state, count)
        return None if failed is None else self._completed(state, failed)

    def take_part(self, state: State, length: float) -> Report:
        """Advance the state by a part of the next step, s, with the values that sampled controllers hold."""
        if self._sampler:
            self._sampler.hold()
        self.work.dual.step[0] = length
        report = self._completed(state, self._stepper.take_part(state, length))
        self.work.dual.step[0] = self._step
        return report

    def finish_step(self, state: State, end: float) -> None:
        """Count the parts of a step, after which the state is at its end, s, as a step."""
        self._stepper.finish_step(state, end)

    def follow(self, earlier: Method) -> None:
        """Take the steps after those of another method of this kind and integrator."""
        self._stepper.follow(earlier._stepper)

    def recording(self, state: State, observe: Kernel, rows: Any, samples: Any) -> Recording | None:
        """Return the compiled loop over output instants of a state, which the method advances in place.

        None if Python is needed at each instant: for sampled controllers, for the reports of contacts, of implicit
        solves and of variational steps, and for integrators without such a loop.

        Parameters
        ----------
        state
            The state.
        observe
            The kernel `observe(system, state, work, rows, samples, k)`.
        rows, samples
            Its arguments.
        """
        if self._sampler or self.contact_work or self._system.implicit or self._add_diagnostics:
            return None
        if self._update_work:
            observe = bound_kernel(observe_updated, update_work=self._update_work, observe=observe)
        record = self._stepper.recording(state, observe, rows, samples)
        if record is None or not self._system.coupled:
            return record

        def record_coupled(k: int, count: int, steps: int) -> tuple[int, Report]:
            filled, report = record(k, count, steps)
            return filled, with_coupled_forces(report, self.work.coupling)

        return record_coupled

    def restart(self) -> None:
        """Use nothing of earlier steps in the next one: state or forces were changed from outside."""
        self.work.rows["start_rate"] = math.nan
        self.work.rows["multiplier"] = 0.0
        if self._sampler:
            self._sampler.read_again(float(self._state.time[0]))
            self._stepper.restart(self._sampler.next_instant())
        else:
            self._stepper.restart()

    def _advance(self, state: State, until: float) -> Report:
        return self._completed(state, self._stepper.advance(state, until))

    def _completed(self, state: State, report: Report) -> Report:
        """Complete the work arrays of a state, and the report of the steps that led to it."""
        if self._update and state is self._state:
            self._update()
        elif self._update_work:
            self._update_work(self._system, self.work, state)
        if self._system.implicit:
            report = with_implicit_solve(report, self.work.implicit_solve)
        if self._system.coupled:
            report = with_coupled_forces(report, self.work.coupling)
        if self._add_diagnostics:
            report = self._add_diagnostics(report)
        if not self.contact_work:
            return report
        return with_contacts(report, self.contact_work, self._system.contacts.joint_friction)

    def evaluate_repeatedly(self, state: State, count: int) -> None:
        """Evaluate the accelerations of a state `count` times in one call of compiled code, for timing."""
        powers = np.zeros_like(state.ledger)
        timed = bound_kernel(evaluate_repeatedly, evaluate=self.dynamics.evaluate)
        timed(self._system, self.work, state.time[0], state.q, state.v, state.a, powers, count)
