"""Evaluation of the alarms of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import get_args

from multibody_cli.alarms.catalogue import RUN_ALARMS
from multibody_cli.alarms.contract import Level, Raised, RunSettings
from multibody_cli.alarms.record import RunRecord
from multibody_cli.alarms.remedies import with_one_remedy


def alarms_of(
    settings: RunSettings, record: RunRecord, others: Sequence[Raised], *, diverged: bool = False
) -> tuple[Raised, ...]:
    """Return the alarms of a run with one remedy: those raised before the first step, then the others by severity.

    Parameters
    ----------
    settings, record
        Settings of the run, and its record.
    others
        Alarms that are not in the catalogue.
    diverged
        Whether a step failed: then only what failed before it is reported, since the rest follows from the step.
    """
    found = [alarm for alarm in _raised(record, settings) if alarm.level == "failed" or not diverged]
    found += [*others, *settings.notes]
    severity = get_args(Level)[::-1].index
    alarms = (*settings.at_start, *sorted(found, key=lambda alarm: severity(alarm.level)))
    return with_one_remedy(alarms, settings.step > settings.stable_step)


def _raised(record: RunRecord, settings: RunSettings) -> Iterator[Raised]:
    """Yield the alarms that the record of a run raises, in the order of the catalogue."""
    for alarm in RUN_ALARMS:
        threshold = settings.thresholds.get(alarm.name, alarm.threshold(settings))
        if math.isinf(threshold):
            continue
        value = float(alarm.value(record, settings))
        if not value > threshold:
            continue
        failed = value > max(threshold, alarm.failed(settings))
        reading = alarm.read(record, settings)
        yield Raised(
            alarm.name,
            "failed" if failed else alarm.level,
            reading.message,
            reading.remedy or alarm.remedy(settings, value, threshold),
            reading.channel,
            reading.time(threshold),
            value,
            threshold,
        )
