"""Remedies with numbers, and one remedy for all alarms of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable

from multibody_cli.alarms.contract import NONE, Raised, Remedy, RunSettings
from multibody_cli.immutable import replace

DIVISORS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Ratios of the step to a smaller one that is recommended."""

MARGIN = 3.0
"""The recommended step makes the expected error smaller than the threshold by this factor."""


def resolve_better(settings: RunSettings, value: float, threshold: float) -> Remedy:
    """Return the remedy for an error of the integration: another integrator, a smaller tolerance or a smaller step."""
    if settings.position:
        return Remedy(change=settings.position)
    if settings.alternative:
        return Remedy(settings.step, settings.alternative, settings.coordinates)
    if settings.integrator.adaptive:
        tolerance = f"set `simulation.tolerance` to {1e-2 * settings.rtol:.1g}"
        return Remedy(change=_alternatives(tolerance, settings.coordinates))
    factor = (MARGIN * value / threshold) ** (1.0 / settings.order)
    return reduce_step(settings.step, factor, settings.coordinates)


def reduce_step(step: float, factor: float, change: str = "") -> Remedy:
    """Return the remedy of a step that is smaller by a factor, or of another change."""
    divisor = next((divisor for divisor in DIVISORS if divisor >= factor), DIVISORS[-1])
    return Remedy(step / divisor, change=change)


IMPLICIT = (
    "with stiff springs, dampers or muscles use an implicit integrator such as `linearly_implicit_euler`, or "
    "`options: {implicit_forces: true}` of a variational method"
)
"""The alternative to a shorter step where fast forces limit it."""


EXPLICIT = "use an explicit integrator such as `rk4`"
"""The alternative to an implicit one at a position through which its iterations do not lead."""


ELSEWHERE = "start at another position"
"""The alternative to a start of which the motion is not unique."""


PERMITTED = "prescribe motions that the loops, couplings and constraints permit"
"""The alternative to a shorter step where motions are prescribed beside them."""


def remedy_of_open_constraints(settings: RunSettings, value: float, threshold: float) -> Remedy:
    """Return the remedy of constraints with an error relative to their threshold."""
    remedy = resolve_better(settings, value, threshold)
    return replace(remedy, change=_alternatives(remedy.change, PERMITTED)) if settings.driven else remedy


def remedy_of_divergence(settings: RunSettings) -> Remedy:
    """Return the remedy of a run that diverged: half of the stable step at the start, or a tenth of the step."""
    if settings.integrator.adaptive or settings.position:
        return resolve_better(settings, 1.0, 1.0)
    exceeded = settings.step > settings.stable_step
    factor = 2.0 * settings.step / settings.stable_step if exceeded else 10.0
    is_explicit = settings.integrator.bind is not None and not settings.integrator.implicit
    stiff = IMPLICIT if is_explicit and settings.has_springs else ""
    change = _alternatives(settings.coordinates, stiff, PERMITTED if settings.driven else "")
    remedy = reduce_step(settings.step, factor, change)
    return replace(remedy, integrator=settings.alternative)


def _alternatives(*changes: str) -> str:
    return ", or ".join(filter(None, changes))


def with_one_remedy(alarms: Iterable[Raised], is_unstable: bool) -> tuple[Raised, ...]:
    """Return the alarms of a run with the remedy of all: the shortest of their steps, or an integrator with it.

    The values of an unstable run are meaningless, so that the alarms raised before the first step determine its step.
    """
    alarms = tuple(alarms)
    early = min((alarm.remedy.step for alarm in alarms if alarm.at_start), default=math.inf)
    every = min((alarm.remedy.step for alarm in alarms), default=math.inf)
    step = early if is_unstable and math.isfinite(early) else every
    integrator = next(filter(None, (alarm.remedy.integrator for alarm in alarms)), "")
    return tuple(
        replace(alarm, remedy=replace(alarm.remedy, step=step, integrator=integrator))
        if math.isfinite(alarm.remedy.step)
        else alarm
        for alarm in alarms
    )


def said_once(alarms: Iterable[Raised], before: str = "") -> tuple[Raised, ...]:
    """Return alarms without the remedies that an alarm before them, or the message before all, states."""
    alarms = tuple(alarms)
    stated = [before, *(str(alarm.remedy) for alarm in alarms)]
    return tuple(
        replace(alarm, remedy=NONE) if any(str(alarm.remedy) in text for text in stated[: k + 1]) else alarm
        for k, alarm in enumerate(alarms)
    )
