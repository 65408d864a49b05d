"""Methods with their own integrator: variational steps, with the kernels of a method that computes accelerations.

That method provides the factorization for impulse responses, and the accelerations for the initial guess.  The steps
are in `variational` and `methods.integrators.variational_steps`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from multibody_cli.contact_solver.workspace import contact_workspace_for
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Kernel, bound_kernel
from multibody_cli.methods.by_acceleration import AccelerationKind
from multibody_cli.methods.contract import Feature, Integrator, Report, Status, StepControl, VariationalDiagnostics
from multibody_cli.methods.integrators.at_knots import smoothed_steps
from multibody_cli.methods.integrators.fixed_step import FixedStepper
from multibody_cli.methods.integrators.stability import implicit_euler, implicit_midpoint, variational_step_limit
from multibody_cli.methods.integrators.variational_steps import MAX_SUBDIVISIONS, STAGES, RootFinder, bind
from multibody_cli.methods.method import Method
from multibody_cli.model import Model, State, System
from multibody_cli.spec import Quantity, Spec, units
from multibody_cli.spec.quantities import located_error
from multibody_cli.variational.step import riqn_response
from multibody_cli.variational.step_forces import explicit_forces, implicit_forces_for
from multibody_cli.variational.workspace import GUESSES, Settings, StepDiagnostic, StepWorkspace, step_workspace_for

OWN_INTEGRATOR = Integrator("", "variational steps of the method", 2, False, None, stable_step=variational_step_limit)
"""The integrator of methods that have their own."""

IMPLICIT_INTEGRATORS = {
    order: Integrator(
        "", "variational steps of the method, implicit forces", order, False, None, implicit=True, stability_function=R
    )
    for order, R in {1: implicit_euler, 2: implicit_midpoint}.items()
}
"""The integrators with `implicit_forces`, by their order."""


SHORTEST_VARIATIONAL_PART = 2.0**-20
"""Shortest part of a step that an event divides, relative to the step.

Mean rates are differences of positions over the length of the part, so that their round-off, and that of impulses,
grows as it shrinks.  At this length, it is as large as the error of an event that acts at the end of the step instead.
"""


class VariationalOptions(Spec):
    """Options of variational steps and of their root finder."""

    order: Literal[1, 2, 4, 6] | None = Field(
        None,
        description="Order of accuracy. 1: all forces are applied at the start of the step. 2: half of each impulse is "
        "applied at its end; the same positions, with velocities of second order. 4 and 6: a step is composed of five "
        "or nine steps of order 2, for smooth motion. Default: 1 with contacts or dry friction of joints, else 2.",
    )
    tolerance: Annotated[float, Quantity(units.NUMBER, above=0.0)] = Field(
        1e-10,
        description="Tolerance of the mean rates of a step, relative to the largest rate and the slowest that counts.",
    )
    max_iterations: Annotated[int, Field(ge=1)] = Field(50, description="Maximum number of iterations per step.")
    initial_guess: Literal["ig1", "ig2", "ig3", "extrapolated"] = Field(
        "extrapolated",
        description="Initial guess of the mean rates of a step. `ig1`: zero; `ig2`: those of the previous step; `ig3`: "
        "from the accelerations at the start; `extrapolated`: `ig3` plus its error in the previous step.",
    )
    discretization: Literal["decoupled", "se3"] = Field(
        "decoupled",
        description="Displacement of a body in the discrete Lagrangian. `decoupled`: of its center of mass and its "
        "rotation vector, so that free flight is exact. `se3`: its logarithm in SE(3), so that rotation about a fixed "
        "axis is exact.",
    )
    adaptive: bool = Field(
        False, description="Whether a step that does not converge is halved repeatedly, into at most 1024 parts."
    )
    implicit_forces: bool = Field(
        False,
        description="Whether forces are evaluated at the middle of the step, or with order 1 at its end, instead of at "
        "both ends, so that stiff springs and dampers need no small step. With order 1 or 2.",
    )

    @model_validator(mode="after")
    def _refuse_implicit_compositions(self) -> Self:
        if self.implicit_forces and self.order in (4, 6):
            message = "needs `order` 1 or 2: orders 4 and 6 have backward steps, in which dampers diverge"
            raise located_error(message, "implicit_forces")
        return self


def make_riqn(impulse_response: Kernel) -> Kernel:
    """Make RIQN, (25) of Lee et al. 2016: the factorization of the start, the residual by DRNEA."""
    return bound_kernel(riqn_response, impulse_response=impulse_response)


class VariationalKind(Immutable):
    """An entry of the catalogue of methods.

    Parameters
    ----------
    name, description
        The keyword of the scene format, and one line for lists.
    base_method
        The method whose kernels it uses.
    supports
        The supported features.
    Options
        The options under `simulation.options`.
    root_finders
        The root finders by the names that `root_finder_order` returns.
    """

    name: str
    description: str
    base_method: AccelerationKind
    supports: frozenset[Feature]
    Options: type[VariationalOptions]
    root_finders: Mapping[str, RootFinder]

    @property
    def maximal(self) -> bool:
        """Whether it uses maximal coordinates instead of reduced ones."""
        return self.base_method.maximal

    @property
    def eliminates_constraints(self) -> bool:
        """False: only joints are nodes of an elimination tree."""
        return False

    def objections(self, feature: Feature, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield options that a scene cannot combine with a feature, each with the reason."""
        order = options.get("order")
        if feature in (Feature.CONTACT, Feature.JOINT_FRICTION):
            noun = feature.value
            if order in (2, 4, 6):
                yield "order", f"impulses of {noun} act at the start of a step: they need `order: 1`, then the default"
            if options.get("adaptive"):
                yield "adaptive", f"a step with {noun} cannot be subdivided after its impulses: omit it"
            if "initial_guess" in options:
                yield "initial_guess", f"has no effect with {noun}: the impulses determine the initial guess; omit it"
        if feature is Feature.ELASTIC_TENDONS and order in (4, 6):
            yield "order", "orders 4 and 6 have backward steps, in which fibers with a tendon diverge: use 1 or 2"
        if feature is Feature.ELASTIC_TENDONS and options.get("implicit_forces"):
            yield "implicit_forces", "fibers with an elastic tendon advance once in a step: remove it"
        if feature is Feature.ELASTIC_FRICTION and order in (4, 6):
            yield "order", "orders 4 and 6 have backward steps, which dry friction cannot take: use 1 or 2"
        if feature is Feature.ELASTIC_FRICTION and options.get("implicit_forces"):
            yield "implicit_forces", "material that slips over guides advances once in a step: remove it"
        if feature is Feature.LIMITS and order in (4, 6):
            yield "order", "orders 4 and 6 are composed of forward and backward steps, which cross limits: use 1 or 2"

    def longest_stage(self, options: Any) -> float:
        """Longest basic step of a composed step, as a fraction of it."""
        return max(abs(stage) for stage in STAGES[options.order or 1])

    @property
    def own_integrator(self) -> Integrator:
        """The integrator of this method."""
        return OWN_INTEGRATOR

    def integrator_with(self, options: Mapping[str, Any]) -> Integrator:
        """The integrator of this method, with the options of a scene."""
        order = 1 if options.get("order") == 1 else 2
        return IMPLICIT_INTEGRATORS[order] if options.get("implicit_forces") else OWN_INTEGRATOR

    def stepping(self, system: System, options: Any) -> Kernel:
        """Return the kernel that takes steps of a system."""
        base = self.base_method.kernels
        root_finders = (self.root_finders[name] for name in options.root_finder_order(system))
        has_joint_friction = bool(system.contacts) and len(system.contacts.joint_friction.moved) > 0
        response = base.implicit(base.accelerate, base.apply_inverse_mass).apply_inverse_mass
        return bind(
            base.dynamics(system),
            response if system.implicit else base.apply_inverse_mass,
            has_joint_friction,
            *root_finders,
        )

    def __call__(
        self, model: Model, integrator: Integrator, control: StepControl, state: State, options: Spec | None = None
    ) -> Method:
        """Make the method for one model."""
        given: Any = options or self.Options()
        system, base = model.system, self.base_method.kernels
        rows = system.rows
        accounts = np.where(rows["one_sided"] == 1, rows["drive"], rows["account"])
        order = given.order or (1 if system.contacts else 2)
        settings = Settings(
            tolerance=given.tolerance,
            max_iterations=given.max_iterations,
            first_kick=1.0 if order == 1 else 0.5,
            guess=GUESSES["ig2" if system.contacts else given.initial_guess],  # contacts guess the rates
            adaptive=given.adaptive,
            stages=np.array(STAGES[order]),
            maximal=self.maximal,
            coupled=given.discretization == "se3",
            has_drives=len(system.motions.rows) > 0 or bool(np.any(accounts >= 0)),
        )
        work, dynamics = base.workspace(model, given), base.dynamics(system)
        contact_work = contact_workspace_for(system) if system.contacts else ()
        solver = self.root_finders[given.root_finder_order(system)[-1]].allocate(system, given)
        at_knots = smoothed_steps(system, control.step, control.end)
        stepped = at_knots.system if at_knots else system
        sizes = stepped, model.nq, len(state.ledger)
        forces = implicit_forces_for(*sizes) if given.implicit_forces else explicit_forces(stepped, work)
        step = step_workspace_for(*sizes, settings, forces, solver)
        scratch = (step, np.zeros_like(state.ledger), contact_work)
        take = self.stepping(system, given)
        stepper = FixedStepper(take, system, work, scratch, control, lambda *_: at_knots, SHORTEST_VARIATIONAL_PART)
        diagnose = partial(with_variational_steps, step=step, has_contacts=bool(system.contacts))
        return Method(model, state, dynamics, stepper, work, contact_work, control.step, add_diagnostics=diagnose)


def with_variational_steps(report: Report, step: StepWorkspace, has_contacts: bool) -> Report:
    """Add the diagnostics of variational steps since the last report, and clear them."""
    values = step.diagnostics
    diagnostics = VariationalDiagnostics(
        residual_impulse=float(values[StepDiagnostic.RESIDUAL]),
        step_subdivisions=int(values[StepDiagnostic.SUBDIVISIONS]),
        fallbacks=int(values[StepDiagnostic.FALLBACKS]),
        modified_energy=float(step.energy[2]),
        momentum=tuple(step.momentum.tolist()),
    )
    report = report._replace(iterations=int(values[StepDiagnostic.ITERATIONS]), diagnostics=diagnostics)
    failed = int(values[StepDiagnostic.FAILED_COORDINATE])
    values[:] = 0.0
    if not failed:
        return report
    remedy = _remedy(step.settings, report.iterations, has_contacts)
    return report._replace(status=Status.NOT_CONVERGED, culprit=failed - 1, remedy=remedy)


def _remedy(settings: Settings, iterations: int, has_contacts: bool) -> str:
    """Return advice for a step that does not converge, other than a shorter one."""
    advice = "A body must rotate by less than 1 rad in a step; loops, prescribed motions and constraints must agree."
    if settings.adaptive:
        advice += f" The {MAX_SUBDIVISIONS} subdivisions of the step did not converge either."
    elif not has_contacts:
        advice += " With `simulation.options: {adaptive: true}` such steps are subdivided."
    if iterations >= settings.max_iterations:
        advice += f" The limit `simulation.options.max_iterations` of {iterations} was reached."
    return advice
