"""Evaluation of the alarms of a run, and runs that raise none: the largest values of many complete runs at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np

from multibody_cli.alarms.catalogue import RUN_ALARMS
from multibody_cli.alarms.contract import Level, Raised, RunSettings
from multibody_cli.alarms.phases import Phases, find_largest
from multibody_cli.alarms.record import SMALLEST_LIFT, RunRecord, lengths_of, open_rows, scales_of
from multibody_cli.alarms.remedies import with_one_remedy
from multibody_cli.kernel import Flags
from multibody_cli.model import Floats, Model


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
        Whether a step failed: then only earlier failures are reported, since the rest follows from the step.
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


NEAR = 0.999
"""Ratio of a value to its threshold from which a run does not count as quiet."""


class Largest(NamedTuple):
    """Largest absolute value of each of R runs (R,), for `RunRecord.spin` and others."""

    largest: Floats


class Threshold(NamedTuple):
    """Number of events in each run, for `RunRecord.unsolved` and others."""

    number: int


class LargestOfRuns:
    """Largest values of R complete runs of one model without contacts, implicit forces and subdivided steps.

    Its attributes are those of `RunRecord` that the values of alarms are computed from, each for R runs.

    Parameters
    ----------
    model
        The compiled scene.
    samples
        The samples of the runs, one run after the other, R K rows.
    runs
        Their number R.
    settings
        Settings of the runs.
    """

    def __init__(self, model: Model, samples: Any, runs: int, settings: RunSettings) -> None:
        scales = scales_of(model)
        self.unsolved = self.implicit_unsolved = self.step_subdivisions = self.jams = self.energizing = Threshold(0)
        self.added_energy = 0.0
        self.penetration = Largest(np.zeros(runs))
        self.mass = scales.mass
        self.length = lengths_of(_by_run(samples.position, runs)[:, 0], scales.reach)
        self.loop_error = _largest(samples.constraint_error, runs)
        self.row_error = _largest(open_rows(samples.row_error, scales.rows), runs)
        w = samples.angular_velocity
        self.spin = _largest_norm(w, runs)
        self.loop_spin = _largest_norm(np.ascontiguousarray(w[:, list(model.names.looped)]), runs)
        residual = self._add_energies(samples, runs, scales.signs, scales.weight)
        self.residual = _largest(residual, runs)
        self.gain, self.loss = _largest(np.maximum(residual, 0.0), runs), _largest(np.minimum(residual, 0.0), runs)
        self.phase = Largest(np.zeros(runs))
        count = residual.shape[1]
        for r in range(runs if Phases(model, settings, scales.is_prescribed).estimates else 0):
            rows = slice(r * count, (r + 1) * count)
            part = samples._replace(**{name: getattr(samples, name)[rows] for name in Phases.FIELDS})
            sizes, _ = Phases(model, settings, scales.is_prescribed).add(
                part.time.reshape(-1), residual[r], part, count
            )
            self.phase.largest[r] = sizes.max(initial=0.0)

    def _add_energies(self, samples: Any, runs: int, signs: Floats, weight: float) -> Floats:
        """Set the energy available to each run, J; return the residuals (R, K), J."""
        kinetic, potential, elastic = (
            _by_run(field, runs) for field in (samples.kinetic, samples.potential, samples.elastic)
        )
        accounts = _by_run(samples.accounts, runs)
        balance = kinetic + potential + elastic + accounts @ signs
        work = np.pad(accounts[:, :, signs < 0.0], ((0, 0), (1, 0), (0, 0)))  # none at the start
        released = sum(energy[:, 0] - energy.min(axis=1) for energy in (potential, elastic))
        available = kinetic[:, 0] + released + np.ptp(work, axis=1).sum(axis=1)
        stored = np.minimum(elastic[:, 0], kinetic.max(axis=1))
        self.energy = np.maximum(np.maximum(available, stored), SMALLEST_LIFT * weight * self.length)
        residual: Floats = balance - balance[:, :1]
        return residual


def quiet_runs(model: Model, samples: Any, runs: int, settings: RunSettings) -> Flags:
    """Return of each of R runs (R,) whether it surely raises no alarm after its start.

    A run that comes close to a threshold does not count as quiet, so that round-off, by which these values differ from
    those of a `RunRecord`, decides nothing.

    Parameters
    ----------
    model, samples, runs
        As for `LargestOfRuns`.
    settings
        Settings of the runs.
    """
    thresholds = {alarm.name: settings.thresholds.get(alarm.name, alarm.threshold(settings)) for alarm in RUN_ALARMS}
    quiet = np.ones(runs, np.bool_)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # values that are not finite are not quiet
        record = LargestOfRuns(model, samples, runs, settings)
        for alarm in RUN_ALARMS:
            if math.isfinite(threshold := thresholds[alarm.name]):
                quiet &= alarm.value(record, settings) <= NEAR * threshold
    return quiet


def _by_run(field: Any, runs: int) -> Any:
    """Return a field of the samples as (R, K, ...)."""
    return field.reshape(runs, len(field) // runs, *field.shape[1:])


def _largest(values: Any, runs: int) -> Largest:
    """Return the largest absolute value of each run."""
    return Largest(np.abs(values).reshape(runs, values.size // runs).max(axis=1, initial=0.0))


def _largest_norm(vectors: Floats, runs: int) -> Largest:
    """Return the largest norm of the vectors (R K, n, 3) of each run."""
    sizes, elements = np.empty(len(vectors)), np.empty(len(vectors), np.int64)
    find_largest(vectors, sizes, elements)
    return _largest(np.maximum(sizes, 0.0), runs)
