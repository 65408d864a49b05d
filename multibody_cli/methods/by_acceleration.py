"""Methods that compute accelerations: each provides two kernels; everything else is common to all.

    accelerate(system, work, a)               dv/dt of the free coordinates; kinematics and forces are in `work`
    apply_inverse_mass(system, work, x, y)    response of the rates to impulses, with the same factorization

`method_kernels` defines them, and `evaluation` has the kernels that call them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from multibody_cli.constraint_solver.prediction import Prediction
from multibody_cli.constraint_solver.projection import (
    Projection,
    project_velocities_by_eliminated_rows,
    projection_with,
)
from multibody_cli.immutable import Immutable
from multibody_cli.implicit import coupled_forces, implicit_forces
from multibody_cli.implicit.implicit_forces import add_implicit_joint_terms
from multibody_cli.kernel import Kernel, bound_kernel
from multibody_cli.methods.contract import Dynamics, Feature, Integrator, StepControl
from multibody_cli.methods.evaluation import (
    constrained_dynamics,
    unconstrained_dynamics,
)
from multibody_cli.methods.method import Method
from multibody_cli.methods.options import StabilizationOptions, has_symmetrized_stiffness, set_stabilization
from multibody_cli.model import Model, State, System
from multibody_cli.spec import Spec
from multibody_cli.tree.workspace import Work, workspace_for


def plain_workspace(model: Model, options: Any) -> Work:
    """Allocate the work arrays that all methods need."""
    return workspace_for(model.system)


class DirectEvaluation(NamedTuple):
    """A faster evaluation of simple systems.

    Parameters
    ----------
    applies_to
        Whether it applies to a system; never with constraint rows, markers, contacts or implicit forces.
    evaluate
        The kernel; see `method_kernels.evaluate`.
    update_work
        The kernel `update_work(system, work, state)` that computes the work arrays of a state; None if `evaluate` does.
    """

    applies_to: Callable[[System], bool]
    evaluate: Kernel
    update_work: Kernel | None = None


class ReusedFactors(NamedTuple):
    """`accelerate` in two parts: the factors alone, and accelerations with the factors of the same positions."""

    factor: Kernel
    accelerate: Kernel


class EliminatedRows(NamedTuple):
    """Kernels of a method whose rows are eliminated within the recursion of another one.

    Parameters
    ----------
    finish_accelerations
        Computes the accelerations once more, when the multipliers of all rows are among the forces; or None.
    factor, apply_inverse_mass
        The two kernels of the contact step of systems with joint friction, in which no row is eliminated.
    wrap
        Returns the kernel of such a contact step before which the rows are released, and after which they are
        eliminated.
    """

    finish_accelerations: Kernel | None
    factor: Kernel
    apply_inverse_mass: Kernel
    wrap: Callable[[Any], Kernel]


class MethodKernels(Immutable):
    """The kernels of a method.

    Parameters
    ----------
    accelerate, apply_inverse_mass
        The two kernels; see the top of this file.
    workspace
        Allocates the work arrays for a model and options.
    implicit
        Makes the kernels with implicit forces from the two kernels.
    direct
        A faster evaluation of simple systems, or None.
    reused
        Faster kernels for several evaluations at the same positions, or None.
    projections
        Returns faster operations of projections for a system without implicit forces, with the kernels that predict
        its position errors, if there are any; None for other systems.
    rows
        Kernels for rows that are eliminated, or None.
    """

    accelerate: Kernel
    apply_inverse_mass: Kernel
    workspace: Callable[[Model, Any], Work] = plain_workspace
    implicit: Callable[[Kernel, Kernel], implicit_forces.Implicit] = implicit_forces.by_iteration
    direct: DirectEvaluation | None = None
    reused: ReusedFactors | None = None
    projections: Callable[[System], tuple[Projection, Prediction | None] | None] = lambda _system: None
    rows: EliminatedRows | None = None

    def dynamics(self, system: System) -> Dynamics:
        """Return the kernels for a system."""
        accelerate, apply_inverse_mass = self.accelerate, self.apply_inverse_mass
        factor, again = self.reused or (accelerate, accelerate)
        terms, finish, found = add_implicit_joint_terms, self.rows.finish_accelerations if self.rows else None, None
        if system.implicit:
            factor, accelerate, apply_inverse_mass, terms = self.implicit(accelerate, apply_inverse_mass)
        if system.coupled:
            terms = bound_kernel(coupled_forces.add_coupled_terms, add_other_terms=terms)
            finish = bound_kernel(
                coupled_forces.finish_coupled, apply_inverse_mass=apply_inverse_mass, finish_accelerations=finish
            )
        if system.is_constrained or system.implicit or system.coupled:
            if system.implicit or system.coupled:
                again = accelerate
            else:
                found = self.projections(system)
            projection, prediction = found or (projection_with(apply_inverse_mass), None)
            alone = constrained_dynamics(
                factor,
                projection,
                accelerate=accelerate,
                accelerate_again=again,
                apply_inverse_mass=apply_inverse_mass,
                add_implicit_terms=terms,
                finish_accelerations=finish,
            )
            alone = alone._replace(**prediction._asdict()) if prediction else alone
        elif direct := self.direct_evaluation_of(system):
            alone = Dynamics(direct.evaluate, direct.evaluate)
        else:
            alone = unconstrained_dynamics(accelerate)
        if not system.contacts:
            return alone
        from multibody_cli.methods.contact_evaluation import with_contacts

        if not (self.rows and len(system.contacts.joint_friction.patches) > 0):
            return with_contacts(alone, factor, apply_inverse_mass)
        project = bound_kernel(project_velocities_by_eliminated_rows, apply_inverse_mass=apply_inverse_mass)
        factor, apply_inverse_mass = self.rows.factor, self.rows.apply_inverse_mass
        if system.implicit:
            factor, _, apply_inverse_mass, _ = self.implicit(factor, apply_inverse_mass)
        dynamics = with_contacts(alone, factor, apply_inverse_mass, project)
        return dynamics._replace(solve_contact_step=self.rows.wrap(dynamics.solve_contact_step))

    def direct_evaluation_of(self, system: System) -> DirectEvaluation | None:
        """Return the direct evaluation if it applies to this system."""
        return self.direct if self.direct and self.direct.applies_to(system) else None


class AccelerationKind(Immutable):
    """An entry of the catalogue of methods.

    Parameters
    ----------
    name, description
        The keyword of the scene format, and one line for lists.
    kernels
        Its kernels.
    supports
        The supported features.
    Options
        The options under `simulation.options`.
    maximal
        Whether it uses maximal coordinates instead of reduced ones.
    eliminates_constraints
        Whether constraints between two bodies are nodes of its elimination tree, beside joints.
    variant_for
        Returns the kernels for given options and a given system, where there are several; or None.
    """

    name: str
    description: str
    kernels: MethodKernels
    supports: frozenset[Feature] = frozenset(Feature)
    Options: type[StabilizationOptions] = StabilizationOptions
    maximal: bool = False
    eliminates_constraints: bool = False
    variant_for: Callable[[Any, System], MethodKernels] | None = None

    def objections(self, feature: Feature, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield options that a scene cannot combine with a feature, each with the reason."""
        moving = feature in (Feature.LIMITS, Feature.CONTACT, Feature.JOINT_FRICTION)
        if moving and options.get("stabilization") == "baumgarte":
            message = (
                "impacts and dry friction require `stabilization: projection`, the default, or `baumgarte_velocity`"
            )
            yield "stabilization", message
        if moving and has_symmetrized_stiffness(options):
            yield (
                "implicit_stiffness",
                "impacts and dry friction require `implicit_stiffness: semidefinite`, the default",
            )

    def longest_stage(self, options: Spec) -> float:
        """Return 1: steps are not composed."""
        return 1.0

    @property
    def own_integrator(self) -> None:
        """None: it accepts any integrator of the catalogue."""

    def integrator_with(self, options: Mapping[str, Any]) -> None:
        """None, with any options."""

    def __call__(
        self, model: Model, integrator: Integrator, control: StepControl, state: State, options: Spec | None = None
    ) -> Method:
        """Make the method for one model."""
        given: Any = options or self.Options()
        kernels, system = self.variant_for(given, model.system) if self.variant_for else self.kernels, model.system
        work = kernels.workspace(model, given)
        work = work._replace(implicit_solve=work.implicit_solve._replace(settings=given.implicit_solve))
        set_stabilization(given, work, control.step)
        dynamics, direct = kernels.dynamics(system), kernels.direct_evaluation_of(system)
        contact_work: Any = ()
        if system.contacts:
            from multibody_cli.methods.contact_evaluation import contact_workspace_for

            contact_work = contact_workspace_for(system)
        assert integrator.bind is not None
        stepper = integrator.bind(dynamics, system, work, contact_work, state, control)
        update_work = direct.update_work if direct else None
        return Method(model, state, dynamics, stepper, work, contact_work, control.step, update_work)
