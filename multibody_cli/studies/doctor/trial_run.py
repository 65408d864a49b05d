"""Findings of the trial run: its outcome, and rotations that are large for one step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.output.trajectory import Trajectory
from multibody_cli.studies.doctor.finding import Finding, Weight
from multibody_cli.studies.doctor.steps import rounded
from multibody_cli.studies.doctor.subject import MAX_SECONDS, Subject, scales_of_units, size_of

LARGEST_ROTATION = {1: 0.05, 2: 0.1}
"""Rotation in one step that is reported, rad, by the order of the integrator."""

OF_HIGH_ORDER = 0.5
"""The same for higher orders."""

OPEN = 1e-3
"""Loop-closure error that is reported, relative to the size of the scene."""

UNBALANCED = 0.02
"""Error of the energy balance that is reported, relative to the largest kinetic energy."""

AT_REST = 1e-6
"""Kinetic energy of a scene at rest, relative to its weight times its size."""

REMEDIES = {
    False: (Weight.WRONG, "reduce `simulation.step`, or use an integrator of higher order, such as `rk4`"),
    True: (
        Weight.ACCURACY,
        "an implicit integrator damps fast motion: reduce `simulation.step` if that motion matters",
    ),
}
"""Weight and remedy of an inaccurate trial run, by whether the integrator is implicit."""


def find_failed_trial(subject: Subject) -> Iterator[Finding]:
    """Report a trial run that diverges, and one that does not reach the end."""
    outcome, reached = subject.trial.summary.outcome, subject.trial.summary.reached
    if outcome.status == "diverged":
        place = ("simulation", "step")
        yield subject.finding("trial run", Weight.WRONG, place, f"diverges: {outcome.message}", "reduce it")
    elif outcome.status == "interrupted":
        cause = f"the trial run ended at {reached:.3g} s after {MAX_SECONDS:g} s of the clock, without expectations"
        advice = "examine a shorter run with `--set simulation.duration=...`"
        yield subject.finding("trial run", Weight.REMARK, ("simulation", "duration"), cause, advice)


def find_inaccuracy(subject: Subject) -> Iterator[Finding]:
    """Report joints that open, and energy that the ledger does not balance, unless the run diverges."""
    if subject.trial.summary.outcome.status == "diverged":
        return
    trajectory = subject.trial.trajectory
    weight, remedy = REMEDIES[subject.simulation.integrator.implicit]
    for joint in subject.scene.joints:
        path = f"joints/{joint}/constraint_error"
        error = _largest(trajectory, path) if path in trajectory.paths else 0.0
        if error > OPEN * size_of(subject):
            cause = f"opens by {error:.3g} m or rad in the trial run"
            yield subject.finding("trial run", weight, ("joints", joint), cause, remedy)
    if {"energy/ledger_residual", "energy/kinetic"} <= set(trajectory.paths):
        drift, turnover = _largest(trajectory, "energy/ledger_residual"), _largest(trajectory, "energy/kinetic")
        turnover = max(turnover, AT_REST * scales_of_units(subject)["J"])
        if drift > UNBALANCED * turnover:
            cause = f"the energy balance has an error of {drift:.3g} J in the trial run; the kinetic energy reaches "
            place = ("simulation", "step")
            yield subject.finding("trial run", weight, place, f"{cause}{turnover:.3g} J", remedy)


def _largest(trajectory: Trajectory, path: str) -> float:
    return float(np.nanmax(np.abs(trajectory.channel(path).values), initial=0.0))


def find_large_rotations(subject: Subject) -> Iterator[Finding]:
    """Report a body that turns far in one step of constant length."""
    integrator, step = subject.simulation.integrator, subject.scene.simulation.step
    trajectory = subject.trial.trajectory
    if integrator.adaptive or "bodies/angular_velocity" not in trajectory.paths:
        return
    rates = np.linalg.norm(trajectory.channel("bodies/angular_velocity").values, axis=2)
    rates = np.where(np.isfinite(rates), rates, 0.0)
    limit = LARGEST_ROTATION.get(integrator.order, OF_HIGH_ORDER)
    if not rates.size or rates.max() * step <= limit:
        return
    row, body = np.unravel_index(int(np.argmax(rates)), rates.shape)
    name = subject.simulation.compiled.model.names.bodies[body]
    cause = (
        f"turns by {rates.max() * step:.3g} rad in one step at t = {trajectory.time[row]:.4g} s; "
        f"`{integrator.name or subject.scene.simulation.method}` is of order {integrator.order}"
    )
    advice = f"write `step: {rounded(limit / rates.max())}`"
    if 0 < integrator.order < 4 and integrator.bind is not None and subject.scene.contacts is None:
        advice += ", or `integrator: rk4`"
    yield subject.finding("trial run", Weight.ACCURACY, ("bodies", name), cause, advice)
