"""Evaluation of the alarms of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from multibody_cli.alarms.catalogue import RUN_ALARMS
from multibody_cli.alarms.contract import Raised, RunSettings
from multibody_cli.alarms.record import RunRecord


def raised_alarms(record: RunRecord, settings: RunSettings) -> Iterator[Raised]:
    """Yield the alarms that a run raises, in the order of the catalogue."""
    for alarm in RUN_ALARMS:
        threshold = settings.thresholds.get(alarm.name, alarm.threshold(settings))
        if math.isinf(threshold):
            continue
        reading = alarm.read(record, settings)
        if not reading.value > threshold:
            continue
        failed = reading.value > max(threshold, alarm.failed)
        yield Raised(
            alarm.name,
            "failed" if failed else alarm.level,
            reading.message,
            alarm.remedy(settings, reading.value, threshold),
            reading.channel,
            reading.time(threshold),
            reading.value,
            threshold,
        )
