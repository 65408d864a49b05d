"""Linearization at the start: longest stable step of each integrator, unstable equilibrium, condition numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from multibody_cli.alarms.remedies import reduce_step
from multibody_cli.immutable import Immutable
from multibody_cli.initial.stable_step import stable_steps
from multibody_cli.methods import METHODS
from multibody_cli.methods.contract import Integrator
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.model import Floats
from multibody_cli.studies.doctor.redundancy import dependent_rows
from multibody_cli.studies.doctor.subject import Finding, Severity, Subject

STEPS_PER_PERIOD = {1: 100.0, 2: 50.0}
"""Steps per period of the fastest oscillation, below which the motion is inaccurate, by the order of the integrator."""

TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
"""Units in which times are written, and their size, s."""

FEWEST_STEPS = 12.0
"""The same for higher orders."""


def longest_steps(subject: Subject) -> Mapping[str, float | None]:
    """Return the longest stable step of each integrator, s; infinite without a limit, None if it adapts its steps."""
    if subject.motions is None:
        return {}
    own = {name: METHODS[name].own_integrator for name in METHODS}
    every = {**INTEGRATORS, **{name: integrator for name, integrator in own.items() if integrator is not None}}
    return {name: None if one.adaptive else _limit(subject, one) for name, one in every.items()}


def _limit(subject: Subject, integrator: Integrator) -> float:
    found = subject.motions
    if found is None:
        return np.inf
    limits = stable_steps(integrator, subject.scene.simulation, found.damping, found.frequency)
    return float(limits.min(initial=np.inf))


def find_long_steps(subject: Subject) -> Iterator[Finding]:
    """Report a step beyond the stability limit, or too long for the fastest oscillation."""
    found, settings = subject.motions, subject.scene.simulation
    integrator = subject.simulation.integrator
    if found is None or integrator.adaptive or not len(found.frequency):
        return
    name = integrator.name or settings.method
    limit = longest_steps(subject)[name]
    place = ("simulation", "step")
    if limit is not None and settings.step > limit:
        cause = f"{written(settings.step)} exceeds the stability limit of `{name}` at the start, {written(limit)}"
        shorter = reduce_step(settings.step, 2.0 * settings.step / limit).step
        of_method = METHODS[settings.method].own_integrator is not None
        implicit = "options: {implicit_forces: true}" if of_method else "integrator: linearly_implicit_euler"
        advice = f"write `step: {written(shorter)}`, or `{implicit}` for stiff springs"
        yield subject.finding("step", Severity.WRONG, place, cause, advice)
        return
    fastest = max((mode.frequency for mode in found.modes if mode.frequency is not None), default=0.0)
    needed = STEPS_PER_PERIOD.get(integrator.order, FEWEST_STEPS)
    if not integrator.implicit and fastest * settings.step * needed > 1.0:
        cause = (
            f"{written(settings.step)} divides a period of the fastest oscillation, {fastest:.4g} Hz, in "
            f"{1.0 / (fastest * settings.step):.2g} steps"
        )
        shorter = reduce_step(settings.step, fastest * settings.step * needed).step
        advice = f"write `step: {written(shorter)}` if this oscillation matters"
        yield subject.finding("step", Severity.ACCURACY, place, cause, advice)


def written(seconds: float) -> str:
    """Format a time as in a scene, with three digits and the unit that suits it: `0.1 s`, `2.5 ms`."""
    scale, unit = next((pair for pair in TIME_UNITS if seconds >= 0.1 * pair[0]), TIME_UNITS[-1])
    return f"{seconds / scale:.3g} {unit}"


FROM_ROUND_OFF = 15.0 * math.log(10.0)
"""Number of time constants in which a disturbance of 1e-15 grows to 1."""


def find_instability(subject: Subject) -> Iterator[Finding]:
    """Report a start where branches of the motion meet, and an equilibrium from which the scene departs."""
    if (loop := subject.singular_loop) is not None:
        cause, advice = loop.remark.split("; ")
        yield subject.finding("singular", Severity.ACCURACY, (loop.section, loop.name), cause, advice)
    found = subject.motions
    if found is None or not found.equilibrium:
        return
    growing = [mode for mode in found.modes if mode.kind == "grows"]
    if growing and not subject.start[1].v.any():
        fastest = min(growing, key=lambda mode: mode.time or math.inf)
        body, seconds = next(iter(fastest.shares), ""), FROM_ROUND_OFF * (fastest.time or 0.0)
        cause = f"starts in an unstable equilibrium, and round-off determines the motion after {seconds:.3g} s"
        advice = "start beside the equilibrium, or with a small velocity"
        yield subject.finding("stability", Severity.ACCURACY, ("bodies", body), cause, advice)


POOR = 1e9
"""Condition number that is reported: 7 digits remain."""


class Conditioning(Immutable):
    """Condition numbers of the scaled mass matrix, and of the Delassus operator of the independent rows."""

    mass_matrix: float
    constraints: float | None


def conditioning_of(subject: Subject) -> Conditioning | None:
    """Compute the condition numbers at the start; None if the scene cannot be linearized."""
    linear = subject.linear
    if linear is None or not len(linear.free):
        return None
    rows = subject.start[0].system.rows
    equalities = np.setdiff1d(np.flatnonzero(rows["one_sided"] == 0), dependent_rows(subject))
    G = linear.G[equalities]
    delassus = _condition(G @ np.linalg.solve(linear.M, G.T)) if len(G) else None
    return Conditioning(_condition(linear.M), delassus)


def _condition(matrix: Floats) -> float:
    """Condition number of a symmetric matrix, scaled to a unit diagonal.

    The scaling makes the number independent of the units of the coordinates, and nearly the least one that a scaling
    can attain (van der Sluis, Numer. Math. 14, 1969).  A number of 10^k costs k of 16 digits.
    """
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    return float(np.linalg.cond(scale[:, None] * matrix * scale))


def find_poor_conditioning(subject: Subject) -> Iterator[Finding]:
    """Report condition numbers that cost more than half of the digits."""
    found = conditioning_of(subject)
    if found is None:
        return
    remedies = (
        ("mass matrix", found.mass_matrix, ("bodies",), "avoid light bodies between heavy ones, or give them inertia"),
        (
            "constraints",
            found.constraints,
            ("joints",),
            "start farther from a singular configuration, such as collinear rods; remove nearly redundant constraints",
        ),
    )
    for matrix, number, place, advice in remedies:
        if number is not None and number > POOR:
            digits = f"{math.log10(number):.0f} of 16 digits"
            cause = f"the condition number of the {matrix} is {number:.2g}: some {digits} are lost"
            yield subject.finding("conditioning", Severity.ACCURACY, place, cause, advice)
