"""Methods that give accelerations: each lends two kernels, and everything else is one text for all of them.

    accelerate(system, work, a)     dv/dt of the free coordinates, of bodies that were placed and pushed before
    respond(system, work, x, y)     what impulses on coordinates and bodies make of the rates, by the same factors

`constraint_solver.solver` defines them.  Systems without constraint rows use separate, smaller kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraint_solver import solver as constraint_solver
from multibody_cli.constraint_solver.loop_joints import push_closures
from multibody_cli.constraint_solver.solver import accelerate, aim_placed, place, restrain
from multibody_cli.contact_solver.joint_friction import carry
from multibody_cli.contact_solver.joint_friction_step import carry_nothing
from multibody_cli.contact_solver.output_forces import find_pushes, push_contacts, push_no_more
from multibody_cli.contact_solver.workspace import Touch, touch_for
from multibody_cli.forces.elements import push_all
from multibody_cli.implicit import implicit_forces
from multibody_cli.implicit.implicit_forces import foresee_joints as foresee
from multibody_cli.kernel import bound_kernel, kernel
from multibody_cli.methods.contract import Dynamics, Feature, Integrator, Kernel, Report, Status, StepControl, evaluate
from multibody_cli.methods.stabilization import StabilizationOptions, set_stabilization
from multibody_cli.model import Model, State, System
from multibody_cli.spec import Spec
from multibody_cli.tree.joint_wrenches import book_motions, transmit_all
from multibody_cli.tree.kinematics import place_tree
from multibody_cli.tree.markers import hand_on
from multibody_cli.tree.workspace import Foresight, Work, workspace_for


# --- the text that all share --------------------------------------------------------------------------------------
def evaluate_free(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, powers: Any) -> None:
    """dv/dt of every coordinate at (t, q, v) into `a`, and the power of every account (na,), W."""
    tree, motions = system.tree, system.motions
    place_tree(system, t, q, v, a, work)
    push_all(system.forces, t, q, v, work, powers)
    if work.horizon[0] > 0.0:
        foresee(system, work, t)
    push_contacts(work)
    accelerate(system, work, a)
    if len(motions.rows) > 0:
        transmit_all(tree, work)
        book_motions(motions, work.tau, v, work, powers)


def evaluate_held(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, powers: Any) -> None:
    """`evaluate_free` for a system with rows of restraint or with markers; the reactions of the rows as well."""
    tree, motions = system.tree, system.motions
    place(system, t, q, v, a, work)
    aim_placed(work, v)
    push_all(system.forces, t, q, v, work, powers)
    if work.horizon[0] > 0.0:
        foresee(system, work, t)
    push_closures(tree, work.tau, work)
    push_contacts(work)
    hand_on(tree, work.bodies)
    accelerate(system, work, a)
    restrain(system, work, v, a)
    if len(motions.rows) > 0:
        transmit_all(tree, work)
        book_motions(motions, work.tau, v, work, powers)


def evaluate_repeatedly(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, powers: Any, count: int) -> None:
    """`evaluate`, `count` times over."""
    for _ in range(count):
        evaluate(system, work, t, q, v, a, powers)


@kernel
def restore_nothing(system, work, t, q, v, a, ledger):
    """Leave q and v as they are: nothing restrains them."""


@kernel
def collide_nothing(system, work, touch, t, h, q, v, ledger):
    """Nothing touches."""
    return True


@kernel
def conclude_nothing(system, work, touch, t, h, q, v, a, powers):
    """Nothing touches: accelerations are what they are."""


@kernel
def resume_nothing(touch, a):
    """Nothing touches: accelerations are what they are."""


def conclude_contacts(
    system: Any, work: Any, touch: Any, t: float, h: float, q: Any, v: Any, a: Any, powers: Any
) -> None:
    """Keep the accelerations without contacts and friction, and show those with their last impulses as forces."""
    carry(system.contacts.journals.pads, system.tree, work, touch.journals)
    for j in range(len(a)):
        touch.free[j] = a[j]
    find_pushes(work, touch, h)
    evaluate(system, work, t, q, v, a, powers)
    push_no_more(work)


@kernel
def resume_contacts(touch, a):
    """Give back the accelerations without contacts and friction, and what joints carried with them."""
    touch.journals.kept[0] = 1
    for j in range(len(a)):
        a[j] = touch.free[j]


NO_CONTACTS = {"collide": collide_nothing, "conclude": conclude_nothing, "resume": resume_nothing}


@cache
def free_dynamics(accelerate: Kernel) -> Dynamics:
    """Bind a method's kernel for systems without rows and markers."""
    evaluate = bound_kernel(evaluate_free, accelerate=accelerate)
    return Dynamics(evaluate, restore_nothing, **NO_CONTACTS)


@cache
def shortcut_dynamics(evaluate: Kernel) -> Dynamics:
    """Bind a method's own evaluation of systems that are simple enough for it."""
    return Dynamics(evaluate, restore_nothing, **NO_CONTACTS)


@cache
def held_dynamics(accelerate: Kernel, respond: Kernel) -> Dynamics:
    """Bind a method's kernels for systems with rows."""
    bound = constraint_solver.bind(accelerate, respond)
    evaluate = bound_kernel(evaluate_held, accelerate=accelerate, restrain=bound.restrain)
    return Dynamics(evaluate, bound.restore, **NO_CONTACTS)


@cache
def implicit_dynamics(implicit: implicit_forces.Implicit) -> Dynamics:
    """Bind a method's kernels for systems with implicit forces."""
    bound = constraint_solver.bind(implicit.factor, implicit.respond)
    evaluate = bound_kernel(
        evaluate_held, accelerate=implicit.accelerate, restrain=bound.restrain, foresee=implicit_forces.foresee
    )
    return Dynamics(evaluate, bound.restore, **NO_CONTACTS)


@cache
def touching_dynamics(
    alone: Dynamics, placing: Kernel, accelerate: Kernel, respond: Kernel, solver: str, touches: bool, rubs: bool
) -> Dynamics:
    """Bind a method's kernels for systems in which bodies touch or joints rub, from those for where nothing does."""
    from multibody_cli.contact_solver import contact_step  # with all that detects and solves contacts

    return Dynamics(
        alone.evaluate,
        alone.restore,
        collide=contact_step.bind(placing, accelerate, respond, solver, touches, rubs),
        conclude=bound_kernel(conclude_contacts, evaluate=alone.evaluate, carry=carry if rubs else carry_nothing),
        resume=resume_contacts,
        touches=True,
    )


@cache
def repeated(dynamics: Dynamics) -> Kernel:
    """Bind the kernel that is timed."""
    return bound_kernel(evaluate_repeatedly, evaluate=dynamics.evaluate)


# --- a method -----------------------------------------------------------------------------------------------------
def plain_workspace(model: Model, options: Any) -> Work:
    """Allocate nothing beyond what all methods share."""
    return workspace_for(model.system)


class Shortcut(NamedTuple):
    """A faster way through simple systems: an evaluation that places no bodies.

    Parameters
    ----------
    suits
        Whether it is for a system; never for one with rows, markers, contacts or implicit forces.
    evaluate
        The kernel; see `methods.contract.evaluate`.
    settle
        The kernel `settle(system, work, t, q, v, a)` that makes the work arrays those of a state.
    """

    suits: Callable[[System], bool]
    evaluate: Kernel
    settle: Kernel


@dataclass(frozen=True)
class AccelerationKind:
    """An entry of the catalogue of methods.

    Parameters
    ----------
    name, description
        The word of the scene file, and one line for lists.
    accelerate, respond
        The two kernels; see the top of this file.
    supports
        What it can do.
    Options
        What a user may write under `simulation.options`.
    workspace
        Allocates the work arrays for a model, with what the method needs for its options.
    maximal
        Whether it works in the coordinates of the bodies instead of those of the joints.
    implicit
        From the two kernels to those with implicit forces.
    shortcut
        A faster way through simple systems, if it has one.
    chosen
        From options to the kind that does what they ask for, where kinds share a name in scenes.
    """

    name: str
    description: str
    accelerate: Kernel
    respond: Kernel
    supports: frozenset[Feature] = frozenset(Feature)
    Options: type[StabilizationOptions] = StabilizationOptions
    workspace: Callable[[Model, Any], Work] = plain_workspace
    maximal: bool = False
    implicit: Callable[[Kernel, Kernel], implicit_forces.Implicit] = implicit_forces.by_iteration
    shortcut: Shortcut | None = None
    chosen: Callable[[Any], AccelerationKind] | None = None

    def objections(self, feature: Feature, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Say which of the options a scene cannot have together with a feature, and why."""
        moving = feature in (Feature.LIMITS, Feature.CONTACT, Feature.JOINT_FRICTION)
        if moving and options.get("stabilization") == "baumgarte":
            message = "impacts and dry friction change velocities: they need `stabilization: projection`, the default"
            yield "stabilization", message

    def longest_stage(self, options: Spec) -> float:
        """A step is one step."""
        return 1.0

    @property
    def own_integrator(self) -> None:
        """It takes any integrator of the catalogue."""

    def dynamics(self, system: System) -> Dynamics:
        """Give the kernels for a system."""
        factor, respond, placing = self.accelerate, self.respond, place
        if system.implicit:
            implicit = self.implicit(self.accelerate, self.respond)
            factor, respond = implicit.factor, implicit.respond
            alone = implicit_dynamics(implicit)
        elif system.is_held:
            alone = held_dynamics(self.accelerate, self.respond)
        elif shortcut := self.shortcut_through(system):
            alone = shortcut_dynamics(shortcut.evaluate)
        else:
            alone, placing = free_dynamics(self.accelerate), place_tree
        if not system.contacts:
            return alone
        contacts = system.contacts
        solver = "dense" if contacts.options.dense else "proximal"
        there = (len(contacts.geometry.geoms) > 0, len(contacts.journals.pads) > 0)
        return touching_dynamics(alone, placing, factor, respond, solver, *there)

    def shortcut_through(self, system: System) -> Shortcut | None:
        """Give the faster way, if there is one for this system."""
        return self.shortcut if self.shortcut and self.shortcut.suits(system) else None

    def __call__(
        self, model: Model, integrator: Integrator, control: StepControl, state: State, options: Spec | None = None
    ) -> AccelerationMethod:
        """Make the method for one model."""
        options = options or self.Options()
        kind = self.chosen(options) if self.chosen else self
        return AccelerationMethod(kind, model, integrator, control, state, options)


def with_contacts(report: Report, touch: Touch) -> Report:
    """Add what there is to tell of the contacts since this was last asked for."""
    report = report._replace(
        iterations=max(report.iterations, int(touch.steps[0])),
        contact_residual=float(touch.residual[0]),
        unsolved=int(touch.unsolved_steps[0]),
    )
    touch.steps[0] = touch.residual[0] = touch.unsolved_steps[0] = 0
    return report._replace(status=Status.CROWDED) if touch.full[0] else report


def with_foresight(report: Report, found: Foresight) -> Report:
    """Add what there is to tell of implicit forces since this was last asked for."""
    told = report._replace(iterations=int(found.rounds[0]), unforeseen=int(found.unsolved[0]))
    found.rounds[0] = found.unsolved[0] = 0
    return told


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
        self.work = self.work._replace(foresight=self.work.foresight._replace(settings=options.foresight))
        set_stabilization(options, self.work)
        self.dynamics = kind.dynamics(system)
        self._shortcut = kind.shortcut_through(system)
        self._system = system
        self.touch = touch_for(system) if system.contacts else ()
        assert integrator.bind is not None
        self._stepper = integrator.bind(self.dynamics, system, self.work, self.touch, state, control)

    def start(self, state: State) -> Report:
        """Make the state whole at its time."""
        return self.advance(state, float(state.time[0]))

    def advance(self, state: State, until: float) -> Report:
        """Bring the whole state to the time `until`."""
        report = self._stepper.advance(state, until)._replace(residual=float(self.work.dual.worst[0]))
        if self._shortcut:
            self._shortcut.settle(self._system, self.work, state.time[0], state.q, state.v, state.a)
        if self._system.implicit:
            report = with_foresight(report, self.work.foresight)
        return with_contacts(report, self.touch) if self.touch else report

    def evaluate_repeatedly(self, state: State, count: int) -> None:
        """Work out the accelerations of a whole state `count` times, for timing."""
        powers = np.zeros_like(state.ledger)
        timed = repeated(self.dynamics)
        timed(self._system, self.work, state.time[0], state.q, state.v, state.a, powers, count)
