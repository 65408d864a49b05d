"""Methods that compute accelerations: each provides two kernels; everything else is common to all.

    accelerate(system, work, a)               dv/dt of the free coordinates; kinematics and forces are in `work`
    apply_inverse_mass(system, work, x, y)    response of the rates to impulses, with the same factorization

`method_kernels` defines them.  Systems without constraint rows use separate, smaller kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_joints import apply_loop_forces
from multibody_cli.constraint_solver.projection import (
    project_onto_constraints,
)
from multibody_cli.constraint_solver.solver import (
    accumulate_row_power,
    enforce_constraints,
    update_kinematics,
    write_acceleration_rhs,
)
from multibody_cli.contact_solver import joint_friction
from multibody_cli.contact_solver.joint_friction import skip_joint_reactions
from multibody_cli.contact_solver.parameters import update_joint_reactions
from multibody_cli.contact_solver.results import (
    apply_contact_forces,
    clear_contact_forces,
    compute_contact_forces,
)
from multibody_cli.contact_solver.workspace import ContactWorkspace, contact_workspace_for
from multibody_cli.forces.elements import apply_forces
from multibody_cli.implicit import implicit_forces
from multibody_cli.implicit.implicit_forces import add_implicit_joint_terms
from multibody_cli.kernel import bound_kernel, kernel, kernel_parameter, template
from multibody_cli.method_kernels import accelerate, apply_inverse_mass, evaluate
from multibody_cli.methods.contract import Dynamics, Feature, Integrator, Kernel, Report, Status, StepControl
from multibody_cli.methods.sampling import Sampler
from multibody_cli.methods.stabilization import StabilizationOptions, set_stabilization
from multibody_cli.model import Model, State, System
from multibody_cli.spec import Spec
from multibody_cli.tree.computed_torque import add_computed_torques
from multibody_cli.tree.joint_wrenches import accumulate_drive_power, compute_joint_wrenches
from multibody_cli.tree.kinematics import update_tree_kinematics
from multibody_cli.tree.markers import transfer_marker_wrenches
from multibody_cli.tree.workspace import ImplicitSolve, Work, workspace_for


# --- common kernels -----------------------------------------------------------------------------------------------
@kernel_parameter
def add_implicit_terms(system: Any, work: Any, t: float) -> None:
    """Add the implicit terms of forces for the rates `work.implicit_rates`: of joints alone, or of all forces."""


@template(accelerate)
def evaluate_unconstrained(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, powers: Any) -> None:
    """Compute dv/dt of every coordinate at (t, q, v) into `a`, and the power of every energy account (na,), W."""
    tree, motions = system.tree, system.motions
    update_tree_kinematics(system, t, q, v, a, work)
    apply_forces(system.forces, t, q, v, work, powers)
    add_computed_torques(system, work, t, v, powers)
    if work.implicit_coefficients[0] > 0.0:
        add_implicit_joint_terms(system, work, t)
    apply_contact_forces(work)
    accelerate(system, work, a)
    if len(motions.rows) > 0:
        compute_joint_wrenches(tree, work)
        accumulate_drive_power(motions, work.tau, v, work, powers)


@template(accelerate, apply_inverse_mass, add_implicit_terms)
def evaluate_constrained(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, powers: Any) -> None:
    """Like `evaluate_unconstrained`, for systems with constraint rows or markers; computes their reactions too."""
    tree, motions = system.tree, system.motions
    update_kinematics(system, t, q, v, a, work)
    write_acceleration_rhs(work, v)
    apply_forces(system.forces, t, q, v, work, powers)
    add_computed_torques(system, work, t, v, powers)
    if work.implicit_coefficients[0] > 0.0:
        add_implicit_terms(system, work, t)
    apply_loop_forces(tree, work.tau, work)
    apply_contact_forces(work)
    transfer_marker_wrenches(tree, work.bodies)
    accelerate(system, work, a)
    enforce_constraints(system, work, v, a)
    accumulate_row_power(work, v, powers)
    if len(motions.rows) > 0:
        compute_joint_wrenches(tree, work)
        accumulate_drive_power(motions, work.tau, v, work, powers)


@template(evaluate)
def evaluate_repeatedly(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, powers: Any, count: int) -> None:
    """Call `evaluate` `count` times."""
    for _ in range(count):
        evaluate(system, work, t, q, v, a, powers)


@kernel
def project_nothing(system, work, t, q, v, a, ledger):
    """Do nothing: there are no constraint rows."""


@kernel
def skip_contact_step(system, work, contact_work, t, h, q, v, ledger):
    """Replace `solve_contact_step` in systems without contacts."""
    return True


@kernel
def skip_output_finalization(system, work, contact_work, t, h, q, v, a, powers):
    """Replace `finalize_output` in systems without contacts."""


@kernel
def skip_resumption(contact_work, a):
    """Replace `resume_stepping` in systems without contacts."""


@template(evaluate, update_joint_reactions)
def finalize_contact_output(
    system: Any, work: Any, contact_work: Any, t: float, h: float, q: Any, v: Any, a: Any, powers: Any
) -> None:
    """Store the accelerations without contacts, and evaluate those with the last contact impulses as forces."""
    update_joint_reactions(system.contacts.joint_friction.patches, system.tree, work, contact_work.joint_friction)
    for j in range(len(a)):
        contact_work.free_acceleration[j] = a[j]
    compute_contact_forces(work, contact_work, h)
    evaluate(system, work, t, q, v, a, powers)
    clear_contact_forces(work)


@kernel
def resume_contact_stepping(contact_work, a):
    """Restore the accelerations and joint reactions without contacts and friction."""
    contact_work.joint_friction.reactions_valid[0] = 1
    for j in range(len(a)):
        a[j] = contact_work.free_acceleration[j]


NO_CONTACTS = {
    "solve_contact_step": skip_contact_step,
    "finalize_output": skip_output_finalization,
    "resume_stepping": skip_resumption,
}


@cache
def unconstrained_dynamics(accelerate: Kernel) -> Dynamics:
    """Bind a method's kernel for systems without constraint rows and markers."""
    evaluate = bound_kernel(evaluate_unconstrained, accelerate=accelerate)
    return Dynamics(evaluate, project_nothing, **NO_CONTACTS)


@cache
def shortcut_dynamics(evaluate: Kernel) -> Dynamics:
    """Bind a method's own evaluation of simple systems."""
    return Dynamics(evaluate, project_nothing, **NO_CONTACTS)


@cache
def constrained_dynamics(
    factor: Kernel, accelerate: Kernel, apply_inverse_mass: Kernel, add_implicit_terms: Kernel
) -> Dynamics:
    """Bind a method's kernels for systems with constraint rows; `factor` is its `accelerate` for the factors alone."""
    return Dynamics(
        bound_kernel(
            evaluate_constrained,
            accelerate=accelerate,
            apply_inverse_mass=apply_inverse_mass,
            add_implicit_terms=add_implicit_terms,
        ),
        bound_kernel(project_onto_constraints, accelerate=factor, apply_inverse_mass=apply_inverse_mass),
        **NO_CONTACTS,
    )


@cache
def contact_dynamics(
    alone: Dynamics,
    kinematics_kernel: Kernel,
    accelerate: Kernel,
    apply_inverse_mass: Kernel,
    staggered: bool,
    has_contacts: bool,
    has_joint_friction: bool,
) -> Dynamics:
    """Bind a method's kernels for systems with contacts or joint friction; `alone` are those without."""
    from multibody_cli.contact_solver import contact_step  # with all that detects and solves contacts

    return Dynamics(
        alone.evaluate,
        alone.project_onto_constraints,
        solve_contact_step=contact_step.bind(
            kinematics_kernel, accelerate, apply_inverse_mass, staggered, has_contacts, has_joint_friction
        ),
        finalize_output=bound_kernel(
            finalize_contact_output,
            evaluate=alone.evaluate,
            update_joint_reactions=(
                joint_friction.update_joint_reactions if has_joint_friction else skip_joint_reactions
            ),
        ),
        resume_stepping=resume_contact_stepping,
        solves_contacts=True,
    )


@cache
def repeated_evaluation(dynamics: Dynamics) -> Kernel:
    """Bind the kernel for timing."""
    return bound_kernel(evaluate_repeatedly, evaluate=dynamics.evaluate)


# --- a method -----------------------------------------------------------------------------------------------------
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
    supports
        The supported features.
    Options
        The options under `simulation.options`.
    workspace
        Allocates the work arrays for a model and options.
    maximal
        Whether it uses maximal coordinates instead of reduced ones.
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
    implicit: Callable[[Kernel, Kernel], implicit_forces.Implicit] = implicit_forces.by_iteration
    shortcut: Shortcut | None = None
    chosen: Callable[[Any, System], AccelerationKind] | None = None
    factor: Kernel | None = None

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
        factor, apply_inverse_mass, kinematics_kernel = self.accelerate, self.apply_inverse_mass, update_kinematics
        if system.implicit:
            implicit = self.implicit(self.accelerate, self.apply_inverse_mass)
            factor, apply_inverse_mass = implicit.factor, implicit.apply_inverse_mass
            alone = constrained_dynamics(*implicit, implicit_forces.add_implicit_terms)
        elif system.is_constrained:
            alone = constrained_dynamics(self.factor or factor, factor, apply_inverse_mass, add_implicit_joint_terms)
        elif shortcut := self.shortcut_through(system):
            alone = shortcut_dynamics(shortcut.evaluate)
        else:
            alone, kinematics_kernel = unconstrained_dynamics(self.accelerate), update_tree_kinematics
        if not system.contacts:
            return alone
        contacts = system.contacts
        features = (
            contacts.options.staggered,
            len(contacts.geometry.geoms) > 0,
            len(contacts.joint_friction.patches) > 0,
        )
        return contact_dynamics(alone, kinematics_kernel, factor, apply_inverse_mass, *features)

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


def with_contacts(report: Report, contact_work: ContactWorkspace) -> Report:
    """Add the contact diagnostics since the last report, and clear them."""
    report = report._replace(
        iterations=max(report.iterations, int(contact_work.newton_steps[0])),
        contact_residual=float(contact_work.max_residual[0]),
        unsolved=int(contact_work.unsolved_steps[0]),
    )
    contact_work.newton_steps[0] = contact_work.max_residual[0] = contact_work.unsolved_steps[0] = 0
    return report._replace(status=Status.CONTACT_CAPACITY_EXCEEDED) if contact_work.overflow[0] else report


def with_implicit_solve(report: Report, solve: ImplicitSolve) -> Report:
    """Add the diagnostics of implicit solves since the last report, and clear them."""
    report = report._replace(iterations=int(solve.iterations[0]), implicit_unsolved=int(solve.unsolved[0]))
    solve.iterations[0] = solve.unsolved[0] = 0
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
        self._sampler = Sampler(model, self.work) if model.controllers else None
        self._step = control.step

    def start(self, state: State) -> Report:
        """Complete the state at its time: accelerations and work arrays."""
        if self._sampler:
            self._sampler.start(state)
            self._advance(state, float(state.time[0]))  # a sample reads the work arrays
        return self.advance(state, float(state.time[0]))

    def advance(self, state: State, until: float) -> Report:
        """Advance the state to the time `until`."""
        if self._sampler:
            return self._sampler.advance(state, until, self._advance, self._stepper.restart)
        return self._advance(state, until)

    def step(self, state: State, count: int) -> Report | None:
        """Take `count` steps; return None, or a report if they failed."""
        if self._sampler:
            report = self.advance(state, float(state.time[0]) + count * self._step)
            return None if report.status is Status.OK else report
        failed = self._stepper.step(state, count)
        return None if failed is None else self._completed(state, failed)

    def restart(self) -> None:
        """Use nothing of earlier steps in the next one."""
        self._stepper.restart(self._sampler.next_instant() if self._sampler else math.inf)

    def _advance(self, state: State, until: float) -> Report:
        return self._completed(state, self._stepper.advance(state, until))

    def _completed(self, state: State, report: Report) -> Report:
        """Complete the work arrays of a state, and the report of the steps that led to it."""
        report = report._replace(residual=float(self.work.dual.position_error[0]))
        if self._shortcut:
            if state is self._state:
                self._update_work()
            else:
                self._shortcut.update_work(self._system, self.work, state)
        if self._system.implicit:
            report = with_implicit_solve(report, self.work.implicit_solve)
        return with_contacts(report, self.contact_work) if self.contact_work else report

    def evaluate_repeatedly(self, state: State, count: int) -> None:
        """Evaluate the accelerations of a state `count` times, for timing."""
        powers = np.zeros_like(state.ledger)
        timed = repeated_evaluation(self.dynamics)
        timed(self._system, self.work, state.time[0], state.q, state.v, state.a, powers, count)
