"""Methods that are their own integrators: variational steps, with the kernels of a method that gives accelerations.

From that method come its factors, with which a mechanism answers to impulses, and the accelerations that guess where a
step ends.  What a step is stands in `variational`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from multibody_cli.constraint_solver import solver as constraint_solver
from multibody_cli.contact_solver.workspace import touch_for
from multibody_cli.kernel import bound_kernel
from multibody_cli.methods.by_acceleration import AccelerationKind, repeated, with_contacts
from multibody_cli.methods.contract import Diagnosis, Feature, Integrator, Kernel, Report, Status, StepControl
from multibody_cli.methods.integrators.stability import of_variational_steps
from multibody_cli.methods.integrators.variational_steps import PARTS, bind_free, bind_held
from multibody_cli.model import Model, State, System
from multibody_cli.spec import Quantity, Spec, units
from multibody_cli.variational.composition import STAGES
from multibody_cli.variational.constrained import answer_by_start, held_for
from multibody_cli.variational.initial_guess import GUESSES
from multibody_cli.variational.workspace import Settings, Told, ahead_for

OWN = Integrator("", "a variational step, of the method itself", 2, False, None, stable_step=of_variational_steps)
"""Stands for the integrator of methods that have their own."""


class VariationalOptions(Spec):
    """How steps are taken, and how they are searched for."""

    order: Literal[1, 2, 4, 6] | None = Field(
        None,
        description="1: all that pushes in a step does so at its start. 2: half of it does so at the end; the same "
        "positions, with velocities of second order. 4 and 6: a step is composed of five or nine steps of order 2, for "
        "smooth motion. Without it, 1 where bodies touch and 2 elsewhere.",
    )
    tolerance: Annotated[float, Quantity(units.NUMBER, above=0.0)] = Field(
        1e-10, description="Of the mean rates of a step, relative to 1 + the largest rate; rad/s and m/s alike."
    )
    max_iterations: Annotated[int, Field(ge=1)] = Field(50, description="Corrections of a step, at most.")
    initial_guess: Literal["ig1", "ig2", "ig3", "extrapolated"] = Field(
        "extrapolated",
        description="Where the search for a step begins. `ig1`: where it starts; `ig2`: as far on as the step before "
        "went; `ig3`: by the accelerations at the start; `extrapolated`: by these, and by what they missed in the step "
        "before.",
    )
    adaptive: bool = Field(
        False, description="Whether a step of which the end is not found is cut in halves, up to 1024 parts."
    )


@dataclass(frozen=True)
class RootFinder:
    """How the end of a step is searched for.

    Parameters
    ----------
    make
        Makes the kernel `answer_lacks` of `variational.constrained` from the method's `answer`.
    allocate
        Its work arrays.
    again
        The kernel `answer_again` of `variational.newton_constraints`, if constraint rows are evaluated at the end of a
        step.
    """

    make: Callable[[Kernel], Kernel]
    allocate: Callable[[System, Any], Any] = lambda _system, _options: ()
    again: Kernel | None = None


def make_by_start(answer: Kernel) -> Kernel:
    """Make the root finder that uses the factors of the start."""
    return bound_kernel(answer_by_start, answer=answer)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class VariationalKind:
    """An entry of the catalogue of methods.

    Parameters
    ----------
    name, description
        The word of the scene file, and one line for lists.
    of
        The method whose kernels it uses.
    supports
        What it can do.
    Options
        What a user may write under `simulation.options`.
    finders
        The root finders that it may name there.
    """

    name: str
    description: str
    of: AccelerationKind
    supports: frozenset[Feature]
    Options: type[VariationalOptions]
    finders: Mapping[str, RootFinder]

    @property
    def maximal(self) -> bool:
        """Whether it works in the coordinates of the bodies instead of those of the joints."""
        return self.of.maximal

    def objections(self, feature: Feature, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Say which of the options a scene cannot have together with a feature, and why."""
        order = options.get("order")
        if feature is Feature.CONTACT:
            if order in (2, 4, 6):
                yield "order", "contacts push at the start of a step: they need `order: 1`, the default with contacts"
            if options.get("adaptive"):
                yield "adaptive", "a step with contacts cannot be cut, for its impacts have happened: leave it out"
            if "initial_guess" in options:
                message = "has no effect with contacts, whose impulses say where the search begins: leave it out"
                yield "initial_guess", message
        if feature is Feature.LIMITS and order in (4, 6):
            yield "order", "the composed steps of orders 4 and 6 go backward on their way, past limits: use 1 or 2"

    def longest_stage(self, options: Any) -> float:
        """Longest of the steps of which a step of higher order is made, as part of it."""
        return max(abs(stage) for stage in STAGES[options.order or 1])

    @property
    def own_integrator(self) -> Integrator:
        """Stand for the integrator."""
        return OWN

    def stepping(self, system: System, options: Any) -> Kernel:
        """Give the kernel that takes steps of a system."""
        of = self.of
        answers = tuple((word, self.finders[word].make, self.finders[word].again) for word in options.search_in(system))
        if not self.is_held(system):
            return bind_free(of.dynamics(system), of.respond, answers)
        bound = constraint_solver.bind(of.accelerate, of.respond)
        return bind_held(of.dynamics(system), bound, of.respond, answers)

    def is_held(self, system: System) -> bool:
        """Whether a step is taken as of a mechanism with rows of restraint."""
        return system.is_held or self.maximal

    def __call__(
        self, model: Model, integrator: Integrator, control: StepControl, state: State, options: Spec | None = None
    ) -> VariationalMethod:
        """Make the method for one model."""
        return VariationalMethod(self, model, control, state, options or self.Options())


class VariationalMethod:
    """A variational method bound to one model."""

    def __init__(self, kind: VariationalKind, model: Model, control: StepControl, state: State, options: Any) -> None:
        system = self._system = model.system
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
        self.work = kind.of.workspace(model, options)
        self.touch = touch_for(system) if system.contacts else ()
        self.dynamics = kind.of.dynamics(system)
        held = held_for(system) if kind.is_held(system) else ()
        solver = kind.finders[options.search_in(system)[-1]].allocate(system, options)
        self._ahead = ahead_for(system, model.nq, len(state.ledger), settings, held, solver)
        self._take = kind.stepping(system, options)
        self._powers = np.zeros_like(state.ledger)
        self._control = control
        self._steps = 0

    def start(self, state: State) -> Report:
        """Make the state whole at its time."""
        self._start = float(state.time[0])
        return self._advance(state, 0)

    def advance(self, state: State, until: float) -> Report:
        """Bring the whole state to the time `until`."""
        return self._advance(state, int(np.rint((until - state.time[0]) / self._control.step)))

    def _advance(self, state: State, count: int) -> Report:
        scratch = (self._ahead, self._powers, self.touch)
        h, first = self._control.step, self._steps
        done = int(self._take(self._system, state, self.work, scratch, h, self._start, first, count))
        self._steps += max(done, 0)
        return self._told(done == count)

    def _told(self, sound: bool) -> Report:
        """Say what there is to tell since this was last asked for."""
        told = self._ahead.told
        diagnosis = Diagnosis(
            residual=float(told[Told.RESIDUAL]),
            halvings=int(told[Told.HALVINGS]),
            fallbacks=int(told[Told.FALLBACKS]),
            modified_energy=float(self._ahead.energy[2]),
            momentum=tuple(self._ahead.momentum.tolist()),
        )
        report = Report(
            steps=self._steps,
            iterations=int(told[Told.ITERATIONS]),
            residual=float(self.work.dual.worst[0]),
            diagnosis=diagnosis,
        )
        lost = int(told[Told.LOST])
        told[:] = 0.0
        if lost:
            return report._replace(status=Status.NOT_FOUND, culprit=lost - 1, remedy=self._remedy(report.iterations))
        if not sound:
            report = report._replace(status=Status.DIVERGED)
        return with_contacts(report, self.touch) if self.touch else report

    def _remedy(self, iterations: int) -> str:
        """Say what may help where no step was found."""
        settings, words = self._ahead.settings, "Try a smaller `simulation.step`"
        if settings.adaptive:
            words = f"Neither was it in {PARTS} parts. {words}"
        elif not self._system.contacts:
            words += ", or `simulation.options: {adaptive: true}`, which cuts such steps"
        if iterations >= settings.max_iterations:
            words += f", or more than {iterations} `simulation.options.max_iterations`"
        return (
            f"{words}. In a step a body must turn by less than 1 rad; and loops, motions and constraints must not "
            "contradict each other"
        )

    def evaluate_repeatedly(self, state: State, count: int) -> None:
        """Work out the accelerations of a whole state `count` times, for timing."""
        timed = repeated(self.dynamics)
        timed(self._system, self.work, state.time[0], state.q, state.v, state.a, self._powers, count)
