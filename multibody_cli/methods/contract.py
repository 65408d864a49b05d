"""What a method must give, and what an integrator must give.

A method advances the State of one Model.  Between calls the state is whole: `time, q, v, a, ledger` belong together,
and so do the placed bodies in its work arrays, from which output is read.

To add a method: a module here with an entry for METHODS; one that gives accelerations lends two kernels
(`by_acceleration`), any other makes objects of the shape of `Method`.  `Options` is a Spec, validated with the scene;
every work array is allocated when the method is made; `start` makes the state whole; `advance` never allocates, never
raises inside a step, and reports a Status.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, NamedTuple, Protocol

import numpy as np

from multibody_cli.model import Model, State, System
from multibody_cli.spec import Spec
from multibody_cli.tree.workspace import Work

Kernel = Callable[..., Any]


class Dynamics(NamedTuple):
    """What integrators know of a method: the kernels that `evaluate` and the like stand for.

    The last three kernels are of steps with contacts, and do nothing unless it `touches`, or rubs, somewhere.
    """

    evaluate: Kernel
    restore: Kernel
    collide: Kernel
    conclude: Kernel
    resume: Kernel
    touches: bool = False

    @property
    def kernels(self) -> dict[str, Kernel]:
        """Give the kernels by the names that stand for them."""
        return {name: kernel for name, kernel in self._asdict().items() if name != "touches"}


def evaluate(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, powers: Any) -> None:
    """Stand for the kernel of a method that gives accelerations, in the text of the integrators.

    It writes dv/dt (nv,) at (t, q, v) into `a`, the power (na,) of every account into `powers`, W, and leaves the
    bodies placed in `work`; prescribed coordinates of q and v are set on the way.
    """


def restore(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, ledger: Any) -> None:
    """Stand for the kernel that brings q and v back onto all constraints, in place, after a step."""


def collide(system: Any, work: Any, touch: Any, t: float, h: float, q: Any, v: Any, ledger: Any) -> bool:
    """Stand for the kernel that takes the velocities v of a step without contacts to those with them, in place.

    False where there is no room for all contacts: the step has failed.
    """
    return True


def conclude(system: Any, work: Any, touch: Any, t: float, h: float, q: Any, v: Any, a: Any, powers: Any) -> None:
    """Stand for the kernel that makes accelerations and reactions those with contacts, for output, after some steps."""


def resume(touch: Any, a: Any) -> None:
    """Stand for the kernel that gives the accelerations back which steps go on from."""


class Feature(StrEnum):
    """What a scene may ask of a method beside trees of joints; its value says it in words."""

    LOOPS = "closed loops"
    LIMITS = "joint limits"
    COUPLINGS = "couplings"
    REDUCTION = "couplings with `reduce: true`"
    CONSTRAINTS = "constraints"
    CONTACT = "contacts"
    JOINT_FRICTION = "dry friction of joints"
    AFFINE = "bodies of `kind: affine`"
    IMPLICIT = "implicit springs, dampers and muscles"


class Status(Enum):
    """How an advance ended."""

    OK = "ok"
    DIVERGED = "diverged"
    STEP_TOO_SMALL = "step too small"
    NOT_FOUND = "the end of a step was not found"
    CROWDED = "more contacts than there is room for"


class Diagnosis(NamedTuple):
    """What a variational method says of its steps.

    `residual` is the largest residual impulse of the discrete equations that a step left, N s and N m s alike;
    `halvings` and `fallbacks` count searches that were cut or taken up by another root finder; `modified_energy`,
    J, and `momentum`, linear and angular about the world's origin, N s and N m s, are of the last step.
    """

    residual: float
    halvings: int
    fallbacks: int
    modified_energy: float
    momentum: tuple[float, ...]


class Report(NamedTuple):
    """What an advance did, and how it ended.

    `steps` counts all so far.  Of the advance itself are the most iterations of a step, the error that loops and
    constraints have at its end, the largest relative residual of contacts, the steps whose contacts do not meet their
    tolerance, and the answers of implicit forces that miss theirs (`unforeseen`).  `culprit` is the coordinate that
    kept the end of a step from being found, and `remedy` says what to try.
    """

    steps: int = 0
    iterations: int = 0
    residual: float = 0.0
    contact_residual: float = 0.0
    unsolved: int = 0
    unforeseen: int = 0
    status: Status = Status.OK
    culprit: int = -1
    remedy: str = ""
    diagnosis: Diagnosis | None = None

    def after(self, earlier: Report) -> Report:
        """Take this and the advance before it as one."""
        return self._replace(
            iterations=max(self.iterations, earlier.iterations),
            contact_residual=float(np.fmax(self.contact_residual, earlier.contact_residual)),
            unsolved=self.unsolved + earlier.unsolved,
            unforeseen=self.unforeseen + earlier.unforeseen,
            diagnosis=together(self.diagnosis, earlier.diagnosis),
        )


def together(now: Diagnosis | None, earlier: Diagnosis | None) -> Diagnosis | None:
    """Take what was said of two advances as one."""
    if now is None or earlier is None:
        return now
    return now._replace(
        residual=float(np.fmax(now.residual, earlier.residual)),
        halvings=now.halvings + earlier.halvings,
        fallbacks=now.fallbacks + earlier.fallbacks,
    )


@dataclass(frozen=True)
class StepControl:
    """How time is stepped: `step` s (adaptive integrators: the first), their tolerances, and the end of the run, s."""

    step: float
    rtol: float
    atol: float
    end: float = math.inf


class Stepper(Protocol):
    """An integrator bound to one model: advances a state from instant to instant."""

    def advance(self, state: State, until: float) -> Report:
        """Bring the whole state to the time `until`."""


@dataclass(frozen=True)
class Integrator:
    """An entry of the catalogue of integrators.

    Parameters
    ----------
    name, description
        The word of the scene file, and one line for lists.
    order
        Order of accuracy.
    adaptive
        Whether it chooses its own steps, by tolerance.
    bind
        Makes a stepper from the kernels of a method, the arrays that these read, the work arrays, those of contacts,
        a state to take the sizes from, and the step control; None where that is up to the method.
    collides
        Whether its steps know of contacts.
    implicit
        Whether it takes forces as they will push at the end of a step.
    stable_step
        From damping and frequency of small motions (n,) to the longest steps beside each
        (`methods.integrators.stability`); None where any step will do, or it is chosen by tolerance.
    """

    name: str
    description: str
    order: int
    adaptive: bool
    bind: Callable[[Dynamics, System, Work, Any, State, StepControl], Stepper] | None
    collides: bool = False
    implicit: bool = False
    stable_step: Callable[[Any, Any], Any] | None = None


class Method(Protocol):
    """Advances the state of one model; `touch` are its work arrays of contacts, where anything touches."""

    work: Work
    touch: Any

    def start(self, state: State) -> Report:
        """Make the state whole at its time."""

    def advance(self, state: State, until: float) -> Report:
        """Bring the whole state to the time `until`."""

    def evaluate_repeatedly(self, state: State, count: int) -> None:
        """Work out the accelerations `count` times over in one call of compiled code: for timing."""


class MethodKind(Protocol):
    """A method as it stands in METHODS."""

    @property
    def name(self) -> str:
        """The word of the scene file."""

    @property
    def description(self) -> str:
        """One line for lists."""

    @property
    def Options(self) -> type[Spec]:
        """What a user may write under `simulation.options`."""

    @property
    def supports(self) -> frozenset[Feature]:
        """What it can do: a scene that asks for more is refused before the run."""

    @property
    def maximal(self) -> bool:
        """Whether it works in the coordinates of the bodies instead of those of the joints."""

    def objections(self, feature: Feature, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Say which of the options a scene cannot have together with a feature, and why."""

    def longest_stage(self, options: Spec) -> float:
        """Longest of the steps of which a step is made, as part of it."""

    @property
    def own_integrator(self) -> Integrator | None:
        """What it has in place of an integrator of the catalogue; None where it takes any of these."""

    def __call__(
        self, model: Model, integrator: Integrator, control: StepControl, state: State, options: Spec | None = None
    ) -> Method:
        """Make the method for one model; `options` are of the class `Options`, its defaults if None."""
