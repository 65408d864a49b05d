"""Methods that compute accelerations: each provides two kernels; everything else is common to all.

    accelerate(system, work, a)               dv/dt of the free coordinates; kinematics and forces are in `work`
    apply_inverse_mass(system, work, x, y)    response of the rates to impulses, with the same factorization

`method_kernels` defines them, and `evaluation` has the kernels that call them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.prediction import Prediction
from multibody_cli.constraint_solver.projection import Projection, projection_with
from multibody_cli.constraint_solver.solver import update_rates
from multibody_cli.contact_solver import tree_friction
from multibody_cli.contact_solver.joint_friction import no_implicit_impulses
from multibody_cli.contact_solver.workspace import ContactWorkspace, contact_workspace_for
from multibody_cli.implicit import coupled_forces, coupled_impulses, implicit_forces
from multibody_cli.implicit.implicit_forces import add_implicit_joint_terms
from multibody_cli.kernel import bound_kernel
from multibody_cli.methods.completion import completion, skip_work_update
from multibody_cli.methods.contract import (
    Causes,
    Dynamics,
    Feature,
    Integrator,
    Kernel,
    Recording,
    Report,
    Status,
    StepControl,
)
from multibody_cli.methods.evaluation import (
    constrained_dynamics,
    contact_dynamics,
    keep_accelerations,
    repeated_evaluation,
    shortcut_dynamics,
    unconstrained_dynamics,
)
from multibody_cli.methods.recording import observe_updated
from multibody_cli.methods.sampling import Sampler
from multibody_cli.methods.stabilization import StabilizationOptions, set_stabilization
from multibody_cli.model import JointFriction, Model, State, System
from multibody_cli.spec import Spec
from multibody_cli.tree.kinematics import update_tree_rates
from multibody_cli.tree.workspace import Coupling, ImplicitSolve, Work, workspace_for


def plain_workspace(model: Model, options: Any) -> Work:
    """Allocate the work arrays that all methods need."""
    return workspace_for(model.system)


class Shortcut(NamedTuple):
    """A faster evaluation of simple systems, without kinematics of the bodies.

    Parameters
    ----------
    suits
        Whether it applies to a system; never with constraint rows, markers, contacts or implicit forces.
    evaluate
        The kernel; see `method_kernels.evaluate`.
    update_work
        The kernel `update_work(system, work, state)` that computes the work arrays of a state.
    """

    suits: Callable[[System], bool]
    evaluate: Kernel
    update_work: Kernel


class BesideJointFriction(NamedTuple):
    """Kernels of a method that eliminates rows, for systems with joint friction.

    Parameters
    ----------
    factor, apply_inverse_mass
        The two kernels of the contact step, in which no row is eliminated.
    enclose
        Returns the kernel of a contact step before which the rows are released, and after which they are eliminated.
    """

    factor: Kernel
    apply_inverse_mass: Kernel
    enclose: Callable[[Kernel], Kernel]


@dataclass(frozen=True)
class AccelerationKind:
    """An entry of the catalogue of methods.

    Parameters
    ----------
    name, description
        The keyword of the scene format, and one line for lists.
    accelerate, apply_inverse_mass
        The two kernels; see the top of this file.
    factor
        `accelerate` for the factors alone, if that is faster.
    accelerate_again
        `accelerate` with the factors of `factor` for the same positions, if the method keeps them.
    projection
        Returns faster operations of projections for a system without implicit forces, or None if there are none.
    prediction
        Returns the kernels that predict position errors for a system without implicit forces, or None.
    finish
        Computes the accelerations once more, when the multipliers of all rows are among the forces; or None.
    beside_joint_friction
        Other kernels for the contact steps of systems with joint friction, or None.
    supports
        The supported features.
    Options
        The options under `simulation.options`.
    workspace
        Allocates the work arrays for a model and options.
    maximal
        Whether it uses maximal coordinates instead of reduced ones.
    eliminates_constraints
        Whether constraints between two bodies are nodes of its elimination tree, beside joints.
    implicit
        Makes the kernels with implicit forces from the two kernels.
    shortcut
        A faster evaluation of simple systems, or None.
    chosen
        Returns the kind for given options and a given system, where kinds share a keyword.
    """

    name: str
    description: str
    accelerate: Kernel
    apply_inverse_mass: Kernel
    supports: frozenset[Feature] = frozenset(Feature)
    Options: type[StabilizationOptions] = StabilizationOptions
    workspace: Callable[[Model, Any], Work] = plain_workspace
    maximal: bool = False
    eliminates_constraints: bool = False
    implicit: Callable[[Kernel, Kernel], implicit_forces.Implicit] = implicit_forces.by_iteration
    shortcut: Shortcut | None = None
    chosen: Callable[[Any, System], AccelerationKind] | None = None
    factor: Kernel | None = None
    accelerate_again: Kernel | None = None
    projection: Callable[[System], Projection | None] | None = None
    prediction: Callable[[System], Prediction | None] | None = None
    finish: Kernel | None = None
    beside_joint_friction: BesideJointFriction | None = None

    def objections(self, feature: Feature, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield options that a scene cannot combine with a feature, each with the reason."""
        moving = feature in (Feature.LIMITS, Feature.CONTACT, Feature.JOINT_FRICTION)
        if moving and options.get("stabilization") == "baumgarte":
            message = "impacts and dry friction require `stabilization: projection`, the default"
            yield "stabilization", message

    def longest_stage(self, options: Spec) -> float:
        """Return 1: steps are not composed."""
        return 1.0

    @property
    def own_integrator(self) -> None:
        """None: it accepts any integrator of the catalogue."""

    def dynamics(self, system: System) -> Dynamics:
        """Return the kernels for a system."""
        accelerate, apply_inverse_mass, rates_kernel = self.accelerate, self.apply_inverse_mass, update_rates
        factor, terms = self.factor or accelerate, add_implicit_joint_terms
        if system.implicit:
            factor, accelerate, apply_inverse_mass = self.implicit(self.accelerate, self.apply_inverse_mass)
            terms = implicit_forces.add_implicit_terms
        finish = self.finish or keep_accelerations
        if system.coupled:
            terms = coupled_forces.with_coupling_terms(terms)
            finish = coupled_forces.finish(apply_inverse_mass, finish)
            projection = projection_with(apply_inverse_mass)
            alone = constrained_dynamics(factor, accelerate, accelerate, apply_inverse_mass, projection, terms, finish)
        elif system.implicit:
            projection = projection_with(apply_inverse_mass)
            alone = constrained_dynamics(factor, accelerate, accelerate, apply_inverse_mass, projection, terms)
        elif system.is_constrained:
            again = self.accelerate_again or accelerate
            projection = (self.projection and self.projection(system)) or projection_with(apply_inverse_mass)
            alone = constrained_dynamics(factor, accelerate, again, apply_inverse_mass, projection, terms, finish)
            if self.prediction and (prediction := self.prediction(system)):
                alone = alone._replace(**prediction._asdict())
        elif shortcut := self.shortcut_through(system):
            alone = shortcut_dynamics(shortcut.evaluate)
        else:
            alone, rates_kernel = unconstrained_dynamics(self.accelerate), update_tree_rates
        if not system.contacts:
            return alone
        contacts, beside = system.contacts, None
        if len(contacts.joint_friction.patches) > 0 and (beside := self.beside_joint_friction):
            factor, apply_inverse_mass = beside.factor, beside.apply_inverse_mass
        staggered = contacts.options.staggered
        impulses = implicit_forces.add_impulses_of_change if system.implicit else no_implicit_impulses
        features = (
            staggered,
            len(contacts.geometry.geoms) > 0,
            len(contacts.joint_friction.patches) > 0,
            coupled_impulses.kernels(apply_inverse_mass) if system.coupled else None,
            impulses,
            None if staggered else tree_friction.passes_for(system, impulses),
        )
        dynamics = contact_dynamics(alone, rates_kernel, factor, apply_inverse_mass, *features)
        return dynamics._replace(solve_contact_step=beside.enclose(dynamics.solve_contact_step)) if beside else dynamics

    def shortcut_through(self, system: System) -> Shortcut | None:
        """Return the shortcut if it applies to this system."""
        return self.shortcut if self.shortcut and self.shortcut.suits(system) else None

    def __call__(
        self, model: Model, integrator: Integrator, control: StepControl, state: State, options: Spec | None = None
    ) -> AccelerationMethod:
        """Make the method for one model."""
        options = options or self.Options()
        kind = self.chosen(options, model.system) if self.chosen else self
        return AccelerationMethod(kind, model, integrator, control, state, options)


def with_contacts(report: Report, contact_work: ContactWorkspace, joint_friction: JointFriction) -> Report:
    """Add the contact diagnostics since the last report, and clear them."""
    report = report._replace(
        iterations=max(report.iterations, int(contact_work.newton_steps[0])),
        contact_residual=float(contact_work.max_residual[0]),
        jams=int(contact_work.jammed_steps[0]),
        energizing=int(contact_work.energizing_steps[0]),
        added_energy=float(contact_work.added_energy[0]),
    )
    if contact_work.unsolved_steps.any():
        unsolved = Causes(*contact_work.unsolved_steps.tolist())
        report = report._replace(causes=report.causes.plus(unsolved))
        if unsolved.limits + unsolved.mean_slip > 0:
            worst = contact_work.joint_friction.worst[1]
            report = report._replace(friction_account=int(joint_friction.patches["account"][worst]))
    contact_work.newton_steps[0] = contact_work.max_residual[0] = contact_work.jammed_steps[0] = 0
    contact_work.energizing_steps[0] = contact_work.added_energy[0] = 0
    contact_work.unsolved_steps[:] = 0
    return report._replace(status=Status.CONTACT_CAPACITY_EXCEEDED) if contact_work.overflow[0] else report


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


class AccelerationMethod:
    """A method bound to one model, with any integrator."""

    def __init__(
        self,
        kind: AccelerationKind,
        model: Model,
        integrator: Integrator,
        control: StepControl,
        state: State,
        options: Any,
    ) -> None:
        system = model.system
        self.work = kind.workspace(model, options)
        self.work = self.work._replace(
            implicit_solve=self.work.implicit_solve._replace(settings=options.implicit_solve)
        )
        set_stabilization(options, self.work)
        self.dynamics = kind.dynamics(system)
        self._shortcut = kind.shortcut_through(system)
        self._state = state
        if self._shortcut:
            self._update_work = self._shortcut.update_work.on(system, self.work, state)
        self._system = system
        self.contact_work = contact_workspace_for(system) if system.contacts else ()
        assert integrator.bind is not None
        self._stepper = integrator.bind(self.dynamics, system, self.work, self.contact_work, state, control)
        self._sampler, self._advance_sampled = None, None
        if model.controllers:
            self._sampler = Sampler(model, self.work)
            update = self._shortcut.update_work if self._shortcut else skip_work_update
            self._advance_sampled = self._stepper.sampling(state, self._sampler.sampling, update)
        self._step = control.step

    @property
    def completion(self) -> Kernel:
        """The kernel `method_kernels.complete_state`."""
        return completion(self.dynamics, self._shortcut.update_work if self._shortcut else skip_work_update)

    def start(self, state: State) -> Report:
        """Complete the state at its time: accelerations and work arrays."""
        self.work.rows["start_rate"] = math.nan
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
        """Take `count` steps; return None, or a report if they failed."""
        if self._sampler:
            report = self.advance(state, float(state.time[0]) + count * self._step)
            return None if report.status is Status.OK else report
        failed = self._stepper.step(state, count)
        return None if failed is None else self._completed(state, failed)

    def recording(self, state: State, observe: Kernel, rows: Any, samples: Any) -> Recording | None:
        """Return the compiled loop over output instants; None with controllers, contacts or implicit forces."""
        if self._sampler or self.contact_work or self._system.implicit:
            return None
        if self._shortcut:
            observe = bound_kernel(observe_updated, update_work=self._shortcut.update_work, observe=observe)
        record = self._stepper.recording(state, observe, rows, samples)
        if record is None or not self._system.coupled:
            return record

        def record_coupled(k: int, count: int, steps: int) -> tuple[int, Report]:
            filled, report = record(k, count, steps)
            return filled, with_coupled_forces(report, self.work.coupling)

        return record_coupled

    def restart(self) -> None:
        """Use nothing of earlier steps in the next one."""
        self.work.rows["start_rate"] = math.nan
        if self._sampler:
            self._sampler.read_again(float(self._state.time[0]))
            self._stepper.restart(self._sampler.next_instant())
        else:
            self._stepper.restart()

    def _advance(self, state: State, until: float) -> Report:
        return self._completed(state, self._stepper.advance(state, until))

    def _completed(self, state: State, report: Report) -> Report:
        """Complete the work arrays of a state, and the report of the steps that led to it."""
        if self._shortcut:
            if state is self._state:
                self._update_work()
            else:
                self._shortcut.update_work(self._system, self.work, state)
        if self._system.implicit:
            report = with_implicit_solve(report, self.work.implicit_solve)
        if self._system.coupled:
            report = with_coupled_forces(report, self.work.coupling)
        if not self.contact_work:
            return report
        return with_contacts(report, self.contact_work, self._system.contacts.joint_friction)

    def evaluate_repeatedly(self, state: State, count: int) -> None:
        """Evaluate the accelerations of a state `count` times, for timing."""
        powers = np.zeros_like(state.ledger)
        timed = repeated_evaluation(self.dynamics)
        timed(self._system, self.work, state.time[0], state.q, state.v, state.a, powers, count)
