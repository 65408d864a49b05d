"""Outcome of an advance: the message of a step that failed, with its coordinate and a remedy; warnings of forces."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.alarms.contract import Level, Raised, RunSettings
from multibody_cli.alarms.remedies import reduce_step, remedy_of_divergence, said_once
from multibody_cli.escaping import decoded
from multibody_cli.forces.elements import ELEMENTS
from multibody_cli.immutable import replace
from multibody_cli.initial.largest_force import Start, find_largest_force
from multibody_cli.initial.undefined import find_undefined
from multibody_cli.limits import VARIABLE
from multibody_cli.methods.contract import Report, Status
from multibody_cli.model import Floats, Model, State, Tree
from multibody_cli.output.sink import Outcome


class Before(NamedTuple):
    """Time, s, and velocities of the last valid output."""

    time: float
    v: Floats


FIRST_STEPS = 20
"""Number of steps within which a run diverges by the forces at its start."""

NOTICEABLE = 0.02
"""Displacement by a force, relative to the length of the bodies, that is far from rest."""


def outcome_of(
    model: Model,
    state: State,
    report: Report,
    before: Before,
    domain_violation: str,
    settings: RunSettings,
    start: Start,
) -> Outcome:
    """Outcome of an advance, with a message if it failed; `domain_violation` is the message of the domain monitor."""
    if report.status is Status.OK:
        return Outcome("diverged" if domain_violation else "complete", domain_violation, report.steps)
    column = report.culprit if report.culprit >= 0 else _fastest_growing(model.system.tree, state, before)
    culprit = model.names.coordinates[column] if len(state.v) else "the scene"
    reached = float(state.time[0])
    is_early = reached <= FIRST_STEPS * settings.step
    cause = _far_from_rest(model, start, max(reached, settings.step)) if is_early else ": "
    text = _explain(report, culprit, cause, before.time, reached, settings)
    if undefined := find_undefined(model, state, before.v, settings.step):
        names = "; ".join(settings.describe(*element) for element in undefined.elements)
        when = "at the start" if undefined.time == 0.0 else f"at t = {undefined.time:.6g} s"
        text = f"no finite value {when}: {names}: check expressions such as 1/t or sqrt(t), or end the run before"
    return Outcome("diverged", text, report.steps)


def _fastest_growing(tree: Tree, state: State, before: Before) -> int:
    """Coordinate whose velocity grew most since the last valid state, among those with a non-finite acceleration."""
    non_finite = ~np.isfinite(state.a)
    growth = np.where(np.isfinite(state.v), np.abs(state.v), np.inf) / (tree.rate / tree.weights + np.abs(before.v))
    return int(np.argmax(np.where(non_finite, growth, -1.0) if non_finite.any() else growth))


def _far_from_rest(model: Model, start: Start, reached: float) -> str:
    """Name the largest force at the start, and the remedy; ": " if it moves nothing noticeably by a time, s.

    A force below the weight of the bodies does not count.
    """
    found, tree = find_largest_force(model, start), model.system.tree
    noticeable = np.linalg.norm(tree.gravity) + 2.0 * NOTICEABLE * tree.length / reached**2
    if found is None or not found.size > tree.links["mass"].sum() * noticeable:
        return ": "
    start_at_rest = "the start (`mbsim equilibrium` computes one at rest)"
    change = f"correct its {found.rest} or {start_at_rest}" if found.rest else "correct its value"
    return f"; the largest force at the start is that of {found.name}, {found.value:.3g} {found.unit}: {change}, or "


def _explain(report: Report, culprit: str, cause: str, last_valid: float, reached: float, settings: RunSettings) -> str:
    """Return the message of a step that failed; `cause` leads from the culprit to the remedy."""
    if report.status is Status.STEP_TOO_SMALL:
        return (
            f"the adaptive step became too small near t = {reached:.9g} s; {culprit} changes fastest there. "
            "Check for a singular position or a discontinuous force, or loosen `simulation.tolerance`."
        )
    if report.status is Status.TOO_MANY_STEPS:
        return (
            f"the run reached t = {reached:.9g} s after {report.steps} adaptive steps, which is the limit; {culprit} "
            f"changes fastest there. Loosen `simulation.tolerance`, or raise the limit: "
            f"{VARIABLE}=steps={10 * report.steps}"
        )
    if report.status is Status.NOT_CONVERGED:
        return (
            f"step {report.steps + 1} (t = {reached:.9g} s) did not converge; {culprit} has the largest correction"
            f"{cause}{remedy_of_divergence(settings)}. {report.remedy}".rstrip()
        )
    if report.status is Status.CONTACT_CAPACITY_EXCEEDED:
        step = f"step {report.steps + 1} (t = {reached:.9g} s)"
        return f"{step} has more contacts than the contact capacity: increase `contacts.max_contacts`"
    if report.status is Status.CONSTRAINTS_UNMET:
        return f"t = {reached:.9g} s: {report.remedy}"
    if report.status is Status.COUPLED_FORCES_SINGULAR:
        return (
            f"step {report.steps + 1} (t = {reached:.9g} s) has no solution: forces that depend on other coordinates "
            f"or on bodies (coupled forces) destabilize its accelerations: {reduce_step(settings.step, 10.0)}"
        )
    if reached == 0.0 and math.isclose(last_valid, 0.0):
        return (
            f"the initial acceleration is not finite: {culprit} moves no mass or inertia, its axes coincide, or a "
            "force or a prescribed motion is not finite. Give the body mass and inertia, change the initial position, "
            "or check expressions such as 1/t or sqrt(t), and their derivatives by the state if the integrator is "
            "implicit."
        )
    return (
        f"step {report.steps + 1} (t = {reached:.9g} s) diverged; last valid output at t = {last_valid:.9g} s; "
        f"{culprit} grew fastest after it{cause}{remedy_of_divergence(settings)}"
    )


def force_alarms(model: Model, warnings: Sequence[NDArray[np.int64]]) -> Iterator[Raised]:
    """Yield the alarms of force elements, element by element."""
    for element, table, raised in zip(ELEMENTS, model.system.forces.tables, warnings, strict=True):
        for record, bits in zip(table, raised, strict=False):
            for bit, words in element.warnings.items():
                if bits & bit and element.entry is not None:
                    _, _, name = model.names.accounts[record["account"]].cause.partition("/")
                    level: Level = "failed" if bit & element.failures else "warning"
                    yield Raised("forces", level, f"{element.entry.kind} `{decoded(name)}`: {words}")


def with_alarms(outcome: Outcome, alarms: tuple[Raised, ...]) -> Outcome:
    """Add the alarms of a run to its outcome: a failed one makes it untrusted."""
    if outcome.status == "complete" and any(alarm.level == "failed" for alarm in alarms):
        outcome = replace(outcome, status="untrusted")
    outcome = replace(outcome, alarms=alarms)
    shown = map(str, said_once(outcome.later_alarms, outcome.message))
    return replace(outcome, message="; ".join(filter(None, [outcome.message, *shown])))
