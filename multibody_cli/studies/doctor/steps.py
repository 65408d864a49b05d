"""Longest stable step of each integrator, from the modes at the start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from multibody_cli.alarms.remedies import reduce_step
from multibody_cli.initial.stable_step import stable_steps
from multibody_cli.methods import METHODS
from multibody_cli.methods.contract import Integrator
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.studies.doctor.finding import Finding, Weight
from multibody_cli.studies.doctor.subject import Subject

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
        advice = f"write `step: {written(shorter)}`, or `integrator: linearly_implicit_euler` for stiff springs"
        yield subject.finding("step", Weight.WRONG, place, cause, advice)
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
        yield subject.finding("step", Weight.ACCURACY, place, cause, advice)


def written(seconds: float) -> str:
    """Format a time as in a scene, with three digits and the unit that suits it: `0.1 s`, `2.5 ms`."""
    scale, unit = next((pair for pair in TIME_UNITS if seconds >= 0.1 * pair[0]), TIME_UNITS[-1])
    return f"{seconds / scale:.3g} {unit}"
