"""Findings of the trial run: its outcome, and the alarms that it raises."""

from __future__ import annotations

from collections.abc import Iterator

from multibody_cli.alarms.catalogue import STABILITY
from multibody_cli.studies.doctor.finding import Finding, Weight
from multibody_cli.studies.doctor.subject import MAX_SECONDS, Subject

WEIGHTS = {"failed": Weight.WRONG, "warning": Weight.ACCURACY, "note": Weight.ACCURACY}
"""Weight of an alarm by its level."""


def find_failed_trial(subject: Subject) -> Iterator[Finding]:
    """Report a trial run that diverges, and one that does not reach the end."""
    outcome, reached = subject.trial.summary.outcome, subject.trial.summary.reached
    if outcome.status == "diverged":
        place, advice = ("simulation", "step"), "change it as above, or examine the start with a shorter `duration`"
        yield subject.finding("trial run", Weight.WRONG, place, f"the run diverges: {outcome.message}", advice)
    elif outcome.status == "interrupted":
        cause = f"the trial run ended at {reached:.3g} s after {MAX_SECONDS:g} s of the clock, without expectations"
        advice = "examine a shorter run with `--set simulation.duration=...`"
        yield subject.finding("trial run", Weight.REMARK, ("simulation", "duration"), cause, advice)


def find_alarms(subject: Subject) -> Iterator[Finding]:
    """Report the alarms of the trial run, each at the element of its channel, with the thresholds of `run`."""
    scene = subject.scene
    for alarm in subject.trial.summary.outcome.alarms:
        if alarm.name == STABILITY:  # a check of its own, with modes at rest
            continue
        section, _, name = alarm.channel.rpartition("/")[0].partition("/")
        place = (section, name) if name in getattr(scene, section, ()) else ("simulation", "step")
        since = "" if alarm.time is None else f" (from t = {alarm.time:.4g} s)"
        yield subject.finding("trial run", WEIGHTS[alarm.level], place, alarm.message + since, str(alarm.remedy))
