"""Messages of unsolved steps and accelerations: the cause that is known, how often, and a remedy for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from multibody_cli.alarms.contract import AlarmReport, Remedy, RunSettings
from multibody_cli.alarms.record import RunRecord
from multibody_cli.alarms.remedies import reduce_step

LOOSEST = 1e-5
"""Largest residual of Coulomb's law, relative to the impulses, for which a looser tolerance is a remedy."""

COUPLED = "forces that depend on other coordinates or on bodies (coupled forces)"


class EventCount(NamedTuple):
    """Number of events with one cause, its message, another change than of the step, and the factor of the step."""

    number: int
    text: str
    change: str
    factor: float = 2.0


def read_contacts(record: RunRecord, settings: RunSettings) -> AlarmReport:
    """Return the report of steps whose contacts or friction are unsolved."""
    causes, residual = record.causes, record.law_residual
    cause = record.friction_cause.removesuffix("/friction")
    name = cause.removeprefix("joints/")
    element = f"joint `{name}`" if name != cause else f"`{name}`"
    looser = f"set `contacts.tolerance` to {power_of_ten_above(residual):.0e}" if residual <= LOOSEST else ""
    found = (
        EventCount(
            causes.law,
            f"the impulses of {{}} miss Coulomb's law by up to {residual:.1g} of their size",
            looser or record.iterations_remedy,
        ),
        EventCount(
            causes.limits,
            f"in {{}} the friction of joints disagrees with their loads, most in {element}, which may jam",
            f"reduce the friction of `{name}`, enlarge its surface, or increase `contacts.max_iterations`",
        ),
        EventCount(causes.displacement, "in {} some penetration is not removed", looser),
        EventCount(
            causes.mean_slip,
            f"in {{}} the friction of joints disagrees with slip and loads in the step, most in {element}",
            "increase `simulation.options.tolerance`",
        ),
        EventCount(
            causes.path,
            "in {} shapes pass each other so closely that the time of their contact is uncertain",
            "",
        ),
    )
    parts = "; ".join(one.text.format(one.number) for one in found if one.number)
    number = f"{record.unsolved.number} of {record.steps} steps"
    message = f"contacts or friction did not converge to their tolerance in {number}: {parts}"
    remedy = Remedy(change="use `contacts.method: proximal`") if settings.staggered else remedy_of(found, settings)
    return AlarmReport(lambda _: record.unsolved.first, "contacts/unsolved", message, remedy)


def read_implicit(record: RunRecord, settings: RunSettings) -> AlarmReport:
    """Return the report of accelerations and steps whose implicit forces are unsolved."""
    causes = record.causes
    found = (
        EventCount(
            causes.implicit,
            "accelerations with implicit forces did not converge to their tolerance {} times",
            "increase `simulation.options.implicit_iterations`",
        ),
        EventCount(
            causes.coupled_limits,
            f"accelerations with {COUPLED} and limits of joints have no solution, or several, {{}} times: these forces "
            "outweigh inertia, stiffness and damping in a step",
            "weaken the coupled forces",
            10.0,
        ),
        EventCount(
            causes.coupled_contacts,
            f"{COUPLED} disagree with the impulses of contacts in {{}} steps, and are those without these impulses",
            "weaken the coupled forces, or increase `contacts.max_iterations`",
        ),
    )
    message = "; ".join(one.text.format(one.number) for one in found if one.number)
    return AlarmReport(lambda _: record.implicit_unsolved.first, "", message, remedy_of(found, settings))


def remedy_of(found: Sequence[EventCount], settings: RunSettings) -> Remedy:
    """Return the remedy of the first cause that occurred."""
    first = next(one for one in found if one.number)
    return reduce_step(settings.step, first.factor, first.change)


def power_of_ten_above(x: float) -> float:
    """Return the smallest power of ten above a positive number; 0 for 0."""
    return 10.0 ** (math.floor(math.log10(x)) + 1) if x > 0.0 else 0.0
