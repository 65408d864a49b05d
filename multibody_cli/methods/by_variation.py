"""Methods with their own integrator: variational steps, with the kernels of a method that computes accelerations.

That method provides the factorization for impulse responses, and the accelerations for the initial guess.  The steps
are in `variational` and `methods.integrators.variational_steps`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from multibody_cli.contact_solver.workspace import contact_workspace_for
from multibody_cli.kernel import bound_kernel
from multibody_cli.methods.by_acceleration import AccelerationKind, with_contacts
from multibody_cli.methods.completion import completion, skip_work_update
from multibody_cli.methods.contract import (
    Feature,
    Integrator,
    Kernel,
    Report,
    Status,
    StepControl,
    VariationalDiagnostics,
)
from multibody_cli.methods.evaluation import repeated_evaluation
from multibody_cli.methods.integrators.at_knots import smoothed_steps
from multibody_cli.methods.integrators.stability import variational_step_limit
from multibody_cli.methods.integrators.variational_steps import MAX_SUBDIVISIONS, STAGES, RootFinder, bind
from multibody_cli.methods.sampling import Sampler
from multibody_cli.model import Model, State, System
from multibody_cli.spec import Quantity, Spec, units
from multibody_cli.variational.step import riqn_response
from multibody_cli.variational.workspace import GUESSES, Settings, StepDiagnostic, step_workspace_for

OWN_INTEGRATOR = Integrator("", "variational steps of the method", 2, False, None, stable_step=variational_step_limit)
"""The integrator of methods that have their own."""


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
    adaptive: bool = Field(
        False, description="Whether a step that does not converge is halved repeatedly, into at most 1024 parts."
    )


def make_riqn(impulse_response: Kernel) -> Kernel:
    """Make RIQN, (25) of Lee et al. 2016: the factorization of the start, the residual by DRNEA."""
    return bound_kernel(riqn_response, impulse_response=impulse_response)


@dataclass(frozen=True)
class VariationalKind:
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
            what = feature.value
            if order in (2, 4, 6):
                yield "order", f"impulses of {what} act at the start of a step: they need `order: 1`, then the default"
            if options.get("adaptive"):
                yield "adaptive", f"a step with {what} cannot be subdivided after its impulses: omit it"
            if "initial_guess" in options:
                yield "initial_guess", f"has no effect with {what}: the impulses determine the initial guess; omit it"
        if feature is Feature.LIMITS and order in (4, 6):
            yield "order", "orders 4 and 6 are composed of forward and backward steps, which cross limits: use 1 or 2"

    def longest_stage(self, options: Any) -> float:
        """Longest basic step of a composed step, as a fraction of it."""
        return max(abs(stage) for stage in STAGES[options.order or 1])

    @property
    def own_integrator(self) -> Integrator:
        """The integrator of this method."""
        return OWN_INTEGRATOR

    def stepping(self, system: System, options: Any) -> Kernel:
        """Return the kernel that takes steps of a system."""
        method = self.base_method
        is_constrained = system.is_constrained or self.maximal
        root_finders = (self.root_finders[name] for name in options.root_finder_order(system))
        has_joint_friction = bool(system.contacts) and len(system.contacts.joint_friction.patches) > 0
        return bind(
            method.dynamics(system), method.apply_inverse_mass, is_constrained, has_joint_friction, *root_finders
        )

    def __call__(
        self, model: Model, integrator: Integrator, control: StepControl, state: State, options: Spec | None = None
    ) -> VariationalMethod:
        """Make the method for one model."""
        return VariationalMethod(self, model, control, state, options or self.Options())


class VariationalMethod:
    """A variational method bound to one model."""

    def __init__(self, kind: VariationalKind, model: Model, control: StepControl, state: State, options: Any) -> None:
        self._at_knots = smoothed_steps(model.system, control.step, control.end)
        system = self._system = self._at_knots.system if self._at_knots else model.system
        order = options.order or (1 if system.contacts else 2)
        settings = Settings(
            tolerance=options.tolerance,
            max_iterations=options.max_iterations,
            first_kick=1.0 if order == 1 else 0.5,
            guess=GUESSES["ig2" if system.contacts else options.initial_guess],  # contacts guess the rates
            adaptive=options.adaptive,
            stages=np.array(STAGES[order]),
            maximal=kind.maximal,
        )
        self.work = kind.base_method.workspace(model, options)
        self.contact_work = contact_workspace_for(system) if system.contacts else ()
        self.dynamics = kind.base_method.dynamics(system)
        solver = kind.root_finders[options.root_finder_order(system)[-1]].allocate(system, options)
        self._step_workspace = step_workspace_for(system, model.nq, len(state.ledger), settings, solver)
        self._take = kind.stepping(system, options)
        self._powers = np.zeros_like(state.ledger)
        self._control = control
        self._since_start = 0
        self._steps = 0
        self._fresh = True
        self._sampler = Sampler(model, self.work) if model.controllers else None

    @property
    def completion(self) -> Kernel:
        """The kernel `method_kernels.complete_state`."""
        return completion(self.dynamics, skip_work_update)

    def start(self, state: State) -> Report:
        """Complete the state at its time: accelerations and work arrays."""
        self._restart_from(state)
        if self._sampler:
            self._sampler.start(state)
            self._advance(state, self._start)  # a sample reads the work arrays
        return self.advance(state, self._start)

    def advance(self, state: State, until: float) -> Report:
        """Advance the state to the time `until`."""
        if self._sampler:
            return self._sampler.advance(state, until, self._advance, lambda _barrier: self._restart_from(state))
        return self._advance(state, until)

    def step(self, state: State, count: int) -> Report | None:
        """Take `count` steps; return None, or a report if they failed."""
        report = self.advance(state, float(state.time[0]) + count * self._control.step)
        return None if report.status is Status.OK else report

    def recording(self, state: State, observe: Kernel, rows: Any, samples: Any) -> None:
        """Return None: the diagnostics of each output instant are read in Python."""

    def restart(self) -> None:
        """Begin the next step from the state alone."""
        self.work.rows["start_rate"] = math.nan
        self._fresh = True

    def _restart_from(self, state: State) -> None:
        """Begin a new series of steps at the present state."""
        self.restart()
        self._start, self._since_start = float(state.time[0]), 0

    def _advance(self, state: State, until: float) -> Report:
        scratch = (self._step_workspace, self._powers, self.contact_work)
        h, first = self._control.step, self._since_start
        count = int(np.rint((until - state.time[0]) / h))

        def take(h: float, start: float, first: int, count: int, fresh: int) -> int:
            step, is_continued = self._step_workspace, count == 0 and first > 0
            momentum, energy = step.momentum.copy(), step.energy[2]
            done = int(self._take(system, state, self.work, scratch, h, start, first, count, fresh))
            if is_continued:  # an evaluation after a step, whose diagnostics hold
                step.momentum[:], step.energy[2] = momentum, energy
            return done

        system, fresh = self._system, int(self._fresh)
        if self._at_knots:
            done = self._at_knots.take(take, state, self._start, first, count, fresh)
        else:
            done = take(h, self._start, first, count, fresh)
        self._fresh = False
        self._since_start += max(done, 0)
        self._steps += max(done, 0)
        return self._report(done == count)

    def _report(self, valid: bool) -> Report:
        """Return the report since the last one, and clear the diagnostics."""
        values = self._step_workspace.diagnostics
        diagnostics = VariationalDiagnostics(
            residual_impulse=float(values[StepDiagnostic.RESIDUAL]),
            step_subdivisions=int(values[StepDiagnostic.SUBDIVISIONS]),
            fallbacks=int(values[StepDiagnostic.FALLBACKS]),
            modified_energy=float(self._step_workspace.energy[2]),
            momentum=tuple(self._step_workspace.momentum.tolist()),
        )
        report = Report(
            steps=self._steps,
            iterations=int(values[StepDiagnostic.ITERATIONS]),
            diagnostics=diagnostics,
        )
        failed = int(values[StepDiagnostic.FAILED_COORDINATE])
        values[:] = 0.0
        if failed:
            return report._replace(
                status=Status.NOT_CONVERGED, culprit=failed - 1, remedy=self._remedy(report.iterations)
            )
        if not valid:
            report = report._replace(status=Status.DIVERGED)
        if not self.contact_work:
            return report
        return with_contacts(report, self.contact_work, self._system.contacts.joint_friction)

    def _remedy(self, iterations: int) -> str:
        """Return advice for a step that does not converge, other than a shorter one."""
        settings = self._step_workspace.settings
        advice = (
            "A body must rotate by less than 1 rad in a step; loops, prescribed motions and constraints must agree."
        )
        if settings.adaptive:
            advice += f" The {MAX_SUBDIVISIONS} subdivisions of the step did not converge either."
        elif not self._system.contacts:
            advice += " With `simulation.options: {adaptive: true}` such steps are subdivided."
        if iterations >= settings.max_iterations:
            advice += f" The limit `simulation.options.max_iterations` of {iterations} was reached."
        return advice

    def evaluate_repeatedly(self, state: State, count: int) -> None:
        """Evaluate the accelerations of a state `count` times, for timing."""
        timed = repeated_evaluation(self.dynamics)
        timed(self._system, self.work, state.time[0], state.q, state.v, state.a, self._powers, count)
