"""Interfaces of methods and integrators.

To add a method: a module in this package with an entry in METHODS.  A method that computes accelerations provides two
kernels (`by_acceleration`); any other is a `MethodKind` that binds a `Stepper` of its own to a model.  `Options` is a
Spec, validated with the scene.  Work arrays are allocated when the method is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum, StrEnum
from typing import Any, NamedTuple, Protocol

from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Kernel, Template, bound_kernel
from multibody_cli.methods.tableau import Tableau
from multibody_cli.model import Floats, Integers, State, System
from multibody_cli.tree.workspace import Work


class Dynamics(NamedTuple):
    """The kernels of a method that integrators use (`method_kernels`); None for those that a system lacks."""

    evaluate: Kernel
    evaluate_projected: Kernel
    project_onto_constraints: Kernel | None = None
    solve_contact_step: Kernel | None = None
    finalize_output: Kernel | None = None
    resume_stepping: Kernel | None = None
    finish_contact_step: Kernel | None = None
    displace_step: Kernel | None = None
    restore_factors: Kernel | None = None

    def bind(self, template: Template) -> Kernel:
        """Bind the parameters of a template to the kernels of the same names."""
        return bound_kernel(template, **{name: getattr(self, name) for name in template.parameters})


class Feature(StrEnum):
    """A feature of a scene that a method may not support; the value is its name in messages."""

    LOOPS = "closed loops"
    LIMITS = "joint limits"
    COUPLINGS = "couplings"
    REDUCTION = "couplings with `reduce: true`"
    CONSTRAINTS = "constraints"
    CONTACT = "contacts"
    JOINT_FRICTION = "dry friction of joints"
    AFFINE = "bodies of `kind: affine`"
    IMPLICIT = "implicit springs, dampers and muscles"
    ELASTIC_TENDONS = "elastic tendons"
    ELASTIC_FRICTION = "friction of elastic ropes"
    COMPUTED_TORQUE = "actuators of type `computed_torque`"


class Status(Enum):
    """How an advance ended."""

    OK = "ok"
    DIVERGED = "diverged"
    STEP_TOO_SMALL = "step too small"
    TOO_MANY_STEPS = "more adaptive steps than the limit"
    NOT_CONVERGED = "a step did not converge"
    CONTACT_CAPACITY_EXCEEDED = "more contacts than the capacity"
    COUPLED_FORCES_SINGULAR = "coupled forces without a solution"
    CONSTRAINTS_UNMET = "constraints that begin to act far from where they are met"


class VariationalDiagnostics(NamedTuple):
    """Diagnostics of variational steps.

    `residual_impulse` is the largest residual impulse of the discrete Euler-Lagrange equations, N s and N m s alike;
    `step_subdivisions` counts halved steps, `fallbacks` steps that the fallback root finder solved.  `modified_energy`,
    J, and `momentum` (6,), linear and angular about the world origin, N s and N m s, are those of the last step.
    """

    residual_impulse: float
    step_subdivisions: int
    fallbacks: int
    modified_energy: float
    momentum: tuple[float, ...]


class LinkagePositions(NamedTuple):
    """The f four-bars of a kinematic analysis at an instant: transmission angles (f,), rad, and branches (f,)."""

    transmission: Floats
    branch: Integers


class Causes(NamedTuple):
    """Numbers of unsolved steps and of unsolved accelerations, by cause.

    Steps: impulses miss Coulomb's law (`law`), limits of joint friction disagree with the loads (`limits`), penetration
    is not removed (`displacement`), the mean slip or the loads of a variational step disagree with its impulses
    (`mean_slip`), paths of geoms are not followed to the end of the step (`path`), and coupled forces disagree with the
    impulses of contacts (`coupled_contacts`).  Accelerations: implicit forces between bodies did not converge
    (`implicit`), and coupled forces have no solution, or several, beside limits (`coupled_limits`).
    """

    law: int = 0
    limits: int = 0
    displacement: int = 0
    mean_slip: int = 0
    path: int = 0
    implicit: int = 0
    coupled_limits: int = 0
    coupled_contacts: int = 0

    def plus(self, others: Causes) -> Causes:
        """Return the sums."""
        return Causes(*(one + other for one, other in zip(self, others, strict=True)))


class Report(NamedTuple):
    """Result of an advance.

    `steps` counts all steps since the start.  Since the last report: the most iterations of a step, the largest
    relative residual of contacts, the numbers of unsolved steps and accelerations by cause, and the number of steps in
    which a sliding contact stops without a collision (`jams`), and that of steps whose impulses of contacts add energy
    (`energizing`), with this energy, J.  `friction_account` is the account of the ledger of a joint whose friction was
    among the unsolved, or -1.  `culprit` is the coordinate with the largest correction of a step that did not converge,
    and `remedy` is advice for it.  `linkages` are those of a kinematic analysis, which takes no steps.
    """

    steps: int = 0
    iterations: int = 0
    contact_residual: float = 0.0
    causes: Causes = Causes()
    jams: int = 0
    energizing: int = 0
    added_energy: float = 0.0
    friction_account: int = -1
    status: Status = Status.OK
    culprit: int = -1
    remedy: str = ""
    diagnostics: VariationalDiagnostics | None = None
    linkages: LinkagePositions | None = None

    @property
    def unsolved(self) -> int:
        """Number of steps whose contacts or friction miss their tolerance."""
        causes = self.causes
        return causes.law + causes.limits + causes.displacement + causes.mean_slip + causes.path

    @property
    def implicit_unsolved(self) -> int:
        """Number of accelerations and steps whose implicit forces miss their tolerance."""
        return self.causes.implicit + self.causes.coupled_limits + self.causes.coupled_contacts

    def after(self, earlier: Report) -> Report:
        """Combine this report with that of the advance before it."""
        return Report(
            self.steps,
            max(self.iterations, earlier.iterations),
            _larger(self.contact_residual, earlier.contact_residual),
            self.causes.plus(earlier.causes),
            self.jams + earlier.jams,
            self.energizing + earlier.energizing,
            self.added_energy + earlier.added_energy,
            max(self.friction_account, earlier.friction_account),
            self.status,
            self.culprit,
            self.remedy,
            merged(self.diagnostics, earlier.diagnostics),
        )


def _larger(one: float, other: float) -> float:
    """Return the larger number; if one is not a number, the other."""
    return other if math.isnan(one) or other > one else one


def merged(now: VariationalDiagnostics | None, earlier: VariationalDiagnostics | None) -> VariationalDiagnostics | None:
    """Combine the diagnostics of two advances."""
    if now is None or earlier is None:
        return now
    return now._replace(
        residual_impulse=_larger(now.residual_impulse, earlier.residual_impulse),
        step_subdivisions=now.step_subdivisions + earlier.step_subdivisions,
        fallbacks=now.fallbacks + earlier.fallbacks,
    )


def time_after(time: float, step: float, count: int) -> float:
    """Return the end of `count` steps from a time, s: a multiple of the step if the time is one but for round-off."""
    before = round(time / step)
    if math.isclose(before * step, time, rel_tol=1e-14):
        return (before + count) * step
    return time + count * step


class StepControl(Immutable):
    """Time stepping: `step` s (adaptive integrators: the first), the tolerances, and the end of the run, s."""

    step: float
    rtol: float
    atol: float | None = None
    end: float = math.inf


Recording = Callable[[int, int, int], tuple[int, Report]]
"""Function `record(k, count, steps)`: `count` times, take `steps` steps and fill one row of the samples, from row k.

All of it is one call of compiled code.  It returns the number of filled rows, and the report of the last step.
"""


SHORTEST_PART = 2.0**-40
"""Length of a part of a step, relative to the step, below which the state at its end is that at its start."""


class Stepper(Protocol):
    """An integrator bound to one model: advances a state from output to output.

    Events act at the ends of a step that are closer than `shortest_part`, relative to the step: `SHORTEST_PART`, or
    more where round-off in shorter parts is larger than the error of that.
    """

    shortest_part: float

    def advance(self, state: State, until: float) -> Report:
        """Advance the state to the time `until`."""

    def step(self, state: State, count: int) -> Report | None:
        """Advance the state by `count` steps of the step control; return None, or a report if a step failed."""

    def take_part(self, state: State, length: float) -> Report:
        """Advance the state by a part of the next step, s, which does not count as a step."""

    def finish_step(self, state: State, end: float) -> None:
        """Count the parts of a step, after which the state is at its end, s, as a step."""

    def follow(self, earlier: Any) -> None:
        """Count steps from the start of another stepper of this kind, which has taken those before."""

    def recording(self, state: State, observe: Kernel, rows: Any, samples: Any) -> Recording | None:
        """Return the compiled loop over output instants of a state; None if it has none."""

    def sampling(self, state: State, sampling: Any, update_work: Kernel | None) -> Callable[[float], Report] | None:
        """Return the compiled loop over samples of a state, which advances it; None if it has none."""

    def restart(self, barrier: float = math.inf) -> None:
        """Use nothing of earlier steps in the next one: the state or forces have jumped.

        No step crosses the time `barrier`, s; if it is finite, it is a whole number of steps of constant length after
        the present time.
        """


class Integrator(Immutable, eq=False):
    """An entry of the catalogue of integrators.

    Parameters
    ----------
    name, description
        The keyword of the scene format, and one line for lists.
    order
        Order of accuracy.
    adaptive
        Whether step sizes are controlled by a tolerance.
    bind
        Makes a stepper from the kernels of a method, the arrays that these read, the work arrays, those of contacts,
        a state with the array sizes, and the step control; None for the integrator of a method.
    supports_contacts
        Whether its steps support contacts.
    implicit
        Whether it treats forces implicitly.
    stable_step
        Maps damping and frequency of small motions (n,) to the longest stable steps (n,), s
        (`methods.integrators.stability`); None if there is no limit, or steps are controlled by a tolerance.
    feedback_step
        The same for the feedback of Baumgarte, which is explicit in an implicit Euler step too.
    tableau
        Of an explicit Runge-Kutta method with a fixed step.
    stability_function
        Of an implicit integrator, the function R of z = h s (n,) with which a step of h multiplies x in x' = s x.
    """

    name: str
    description: str
    order: int
    adaptive: bool
    bind: Callable[[Dynamics, System, Work, Any, State, StepControl], Stepper] | None
    supports_contacts: bool = False
    implicit: bool = False
    stable_step: Callable[[Any, Any], Any] | None = None
    feedback_step: Callable[[Any, Any], Any] | None = None
    stability_function: Callable[[Any], Any] | None = None
    tableau: Tableau | None = None
