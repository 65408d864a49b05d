"""Findings of the trial run: its outcome, the alarms that it raises, and expectations that test nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from multibody_cli.alarms.catalogue import OVERLAP, STABILITY
from multibody_cli.errors import ResultError
from multibody_cli.escaping import decoded
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.scene.expect import ChannelExpectation, ConstraintError, EnergyDrift, MomentumDrift
from multibody_cli.studies.doctor.subject import MAX_SECONDS, Finding, Severity, Subject, scales_of_units
from multibody_cli.studies.expect import evaluate, read_channels
from multibody_cli.studies.verdict import Numbers, Verdict

WEIGHTS = {"failed": Severity.WRONG, "warning": Severity.ACCURACY, "note": Severity.ACCURACY}
"""Weight of an alarm by its level."""


def find_failed_trial(subject: Subject) -> Iterator[Finding]:
    """Report a trial run that diverges, and one that does not reach the end."""
    outcome, reached = subject.trial.summary.outcome, subject.trial.summary.reached
    if outcome.status == "diverged":
        place, advice = ("simulation", "step"), "change it as above, or examine the start with a shorter `duration`"
        yield subject.finding("trial run", Severity.WRONG, place, f"the run diverges: {outcome.message}", advice)
    elif outcome.status == "interrupted":
        cause = f"the trial run ended at {reached:.3g} s after {MAX_SECONDS:g} s of the clock, without expectations"
        advice = "examine a shorter run with `--set simulation.duration=...`"
        yield subject.finding("trial run", Severity.REMARK, ("simulation", "duration"), cause, advice)


def find_alarms(subject: Subject) -> Iterator[Finding]:
    """Report the alarms of the trial run, each at the element of its channel, with the thresholds of `run`."""
    scene = subject.scene
    for alarm in subject.trial.summary.outcome.alarms:
        if alarm.name in (STABILITY, OVERLAP):  # checks of their own
            continue
        section, _, name = alarm.channel.rpartition("/")[0].partition("/")
        place = (section, decoded(name)) if decoded(name) in getattr(scene, section, ()) else ("simulation", "step")
        since = "" if alarm.time is None else f" (from t = {alarm.time:.4g} s)"
        yield subject.finding("trial run", WEIGHTS[alarm.level], place, alarm.message + since, str(alarm.remedy))


LOOSE_BOUND = 10.0
"""Ratio of the margin of a bound to the scale of its channel, from which on the bound cannot fail."""

LOOSE_TOLERANCE = 0.5
"""Ratio of a tolerance to the scale of its channel, from which on any value passes."""

AT_REST = 1e-3
"""Least scale of energy and momentum, as in a scene at rest, relative to that of the scene."""


def find_weak_expectations(subject: Subject) -> Iterator[Finding]:
    """Report expectations that no plausible error can violate: tolerance or bound admits any motion of this size.

    The scale of a channel is its largest value in the trial run, or that of its unit in a scene of this size, mass and
    duration if that is larger.  An expectation that a body stays at rest is thus a test if its tolerance is small.
    """
    if not subject.scene.expect or subject.trial.summary.outcome.status != "complete":
        return
    trajectory, scales = subject.trial.trajectory, scales_of_units(subject)
    for number, entry in enumerate(subject.scene.expect):
        try:
            scale = _scale(entry, trajectory, scales)
        except ResultError:
            continue
        for verdict in evaluate([entry], trajectory):
            if cause := _weakness(verdict, scale):
                advice = "tighten it until an error of a few percent fails, or remove it"
                yield subject.finding("expectations", Severity.REMARK, ("expect", number), cause, advice)


def _weakness(verdict: Verdict, scale: float) -> str:
    """Return why an expectation tests nothing; empty if it tests something."""
    if not verdict.passed or scale == 0.0:
        return ""
    if verdict.tolerance is not None:
        if verdict.tolerance < LOOSE_TOLERANCE * scale:
            return ""
        return (
            f"{verdict.entry}: the tolerance of {verdict.tolerance:.3g} {verdict.units} admits any value: the scale of "
            f"the channel is {scale:.3g} {verdict.units}"
        )
    margin = abs(_number(verdict.wanted) - _number(verdict.found))
    if margin < LOOSE_BOUND * scale:
        return ""
    return (
        f"{verdict.entry}: the bound lies {margin:.3g} {verdict.units} from the largest value found, "
        f"{margin / scale:.2g} times the scale of the channel"
    )


def _number(numbers: Numbers | None) -> float:
    return math.nan if numbers is None else float(np.max(numbers))


def _scale(entry: Any, trajectory: Trajectory, scales: Mapping[str, float]) -> float:
    """Return the scale of the quantity that an entry measures; 0 if there is none."""
    if isinstance(entry, EnergyDrift):
        kinetic = trajectory.channel("energy/kinetic").values
        return max(float(np.max(kinetic)), AT_REST * scales["J"]) / LOOSE_BOUND
    if isinstance(entry, MomentumDrift):
        sizes = [np.abs(trajectory.channel(f"momentum/{word}").values).max() for word in ("linear", "angular")]
        found = sizes[1] if entry.momentum_drift.axis else max(sizes)
        return max(float(found), AT_REST * min(scales["kg m/s"], scales["kg m^2/s"])) / LOOSE_BOUND
    if isinstance(entry, ConstraintError):
        return scales["m"] / LOOSE_BOUND
    if isinstance(entry, ChannelExpectation):
        records = read_channels(entry, trajectory)
        units = {unit.strip() for record in records for unit in record.units.split(",")}
        sizes = [float(np.abs(record.values).max()) for record in records]
        scale: float = max([*sizes, *(scales.get(unit, 0.0) for unit in units)])
        return scale
    return 0.0
