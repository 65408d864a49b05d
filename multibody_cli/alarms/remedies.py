"""Remedies with numbers."""

from __future__ import annotations

from multibody_cli.alarms.contract import RunSettings

DIVISORS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Ratios of the step to a smaller one that is recommended."""

MARGIN = 3.0
"""The recommended step makes the expected error smaller than the threshold by this factor."""


def resolve_better(settings: RunSettings, value: float, threshold: float) -> str:
    """Return the remedy for an error of the integration: another integrator, a smaller tolerance or a smaller step."""
    if settings.alternative:
        return f"use `simulation.integrator: {settings.alternative}` with the step of {settings.step:.6g} s"
    if settings.integrator.adaptive:
        return f"set `simulation.tolerance` to {1e-2 * settings.rtol:.1g}"
    return reduce_step(settings.step, (MARGIN * value / threshold) ** (1.0 / settings.order))


def reduce_step(step: float, factor: float) -> str:
    """Return the remedy of a step that is smaller by a factor."""
    divisor = next((divisor for divisor in DIVISORS if divisor >= factor), DIVISORS[-1])
    return f"reduce `simulation.step` to {step / divisor:.6g} s"
