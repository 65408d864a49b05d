"""Longest stable step of each integrator, from the modes at the start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from multibody_cli.initial.stable_step import stable_steps
from multibody_cli.methods import METHODS
from multibody_cli.methods.contract import Integrator
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.studies.doctor.finding import Finding, Weight
from multibody_cli.studies.doctor.subject import Subject

STEPS_PER_PERIOD = {1: 100.0, 2: 50.0}
"""Steps per period of the fastest oscillation, below which the motion is inaccurate, by the order of the integrator."""

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
        cause = f"of {settings.step:.4g} s exceeds the stability limit of `{name}` at the start, {limit:.3g} s"
        advice = f"write `step: {rounded(0.5 * limit)}`, or `integrator: linearly_implicit_euler` for stiff springs"
        yield subject.finding("step", Weight.WRONG, place, cause, advice)
        return
    fastest = max((mode.frequency for mode in found.modes if mode.frequency is not None), default=0.0)
    needed = STEPS_PER_PERIOD.get(integrator.order, FEWEST_STEPS)
    if not integrator.implicit and fastest * settings.step * needed > 1.0:
        cause = (
            f"of {settings.step:.4g} s divides a period of the fastest oscillation, {fastest:.4g} Hz, in "
            f"{1.0 / (fastest * settings.step):.2g} steps"
        )
        advice = f"write `step: {rounded(1.0 / (fastest * needed))}` if this oscillation matters"
        yield subject.finding("step", Weight.ACCURACY, place, cause, advice)


def rounded(seconds: float) -> str:
    """Format a time, rounded down to one digit."""
    power = 10.0 ** np.floor(np.log10(seconds))
    return f"{np.floor(seconds / power * (1.0 + 1e-9)) * power:.0e} s"
