"""Reduction of runs to rows: outcome, numbers that are kept, and alarms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from multibody_cli.alarms.contract import Raised
from multibody_cli.errors import shortened
from multibody_cli.model import Names
from multibody_cli.output.rows import Column, Row
from multibody_cli.output.sink import Outcome
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.studies.expect import channels_read, evaluate
from multibody_cli.studies.simulation import Simulation
from multibody_cli.studies.sweep.keeping import (
    Kept,
    channels_of,
    instants_of,
    kept_by_default,
    reduce_expectations,
    reduce_run,
)
from multibody_cli.timeline import Summary

LONGEST_REASON = 500

Numbers = list[tuple[Column, float]]
"""Kept numbers with their columns."""


def kept_of(kept: tuple[Kept, ...], simulation: Simulation) -> tuple[Kept, ...]:
    """Return what is kept of a run."""
    return kept or kept_by_default(simulation.scene, simulation.compiled.model.names)


def channels_for(kept: tuple[Kept, ...], simulation: Simulation) -> tuple[str, ...]:
    """Return the channels that a row is made from: those that are kept, and those of the expectations."""
    scene, timing = simulation.scene, simulation.compiled.timing
    recorded = scene.output.channels
    end = timing.outputs * timing.every
    written = None if recorded is None else tuple(recorded)
    return _channels_for(kept, end, simulation.compiled.model.names, tuple(scene.expect), written)


@lru_cache(maxsize=4)
def _channels_for(
    kept: tuple[Kept, ...], end: float, names: Names, expect: tuple[Any, ...], recorded: tuple[str, ...] | None
) -> tuple[str, ...]:
    instants = np.unique([0.0, end, *instants_of(kept)])
    return tuple(sorted({*channels_of(kept, names, instants), *channels_read(expect, names, recorded)}))


def reduced(number: int, kept: Sequence[Kept], expect: Sequence[Any], summary: Summary, run: Trajectory) -> Row:
    """Return the row of a run that has ended.

    Parameters
    ----------
    number
        Number of the run.
    kept, expect
        What is kept, and the expectations.
    summary, run
        The result of the run.
    """
    numbers = progress_of(summary.steps, summary.reached)
    if summary.outcome.reached_end:
        numbers += numbers_expected(expect, run)
        numbers += reduce_run(kept, run)
    columns, values = zip(*numbers, strict=True)
    return row_of(number, summary.outcome, columns, values)


def row_of(number: int, outcome: Outcome, columns: tuple[Column, ...], values: tuple[float, ...]) -> Row:
    """Return a row with an outcome and numbers."""
    reason = "" if outcome.status == "complete" else in_one_line(outcome.message)
    return Row(number, outcome.status, reason, _in_words(outcome.alarms), columns, values)


def progress_of(steps: int, reached: float) -> Numbers:
    """Return the numbers that every run has."""
    return [
        (Column("steps", "", "Number of steps."), float(steps)),
        (Column("reached", "s", "Time of the last output instant."), reached),
    ]


def numbers_expected(expect: Sequence[Any], trajectory: Trajectory) -> Numbers:
    """Return the numbers of the expectations."""
    return [*reduce_expectations(evaluate(expect, trajectory))]


def _in_words(alarms: Iterable[Raised]) -> str:
    """Return alarms with their levels and times."""
    words = (
        f"{alarm.name} ({alarm.level}" + (f" from {alarm.time:.6g} s)" if alarm.time is not None else ")")
        for alarm in alarms
    )
    return in_one_line("; ".join(words))


def in_one_line(text: str) -> str:
    """Return a text in one line that is not too long."""
    return shortened(" ".join(text.split()), LONGEST_REASON)
