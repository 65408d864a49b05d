"""Execution of runs: a batch of overrides becomes a batch of rows.

`run_batch` is the only way to execute runs.  It keeps the parsed scene and the lanes of the last task in its process,
so that a run evaluates only the values of the scene; kernels are compiled and loaded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.document.source import ReadScene, UnreadScene, read_scene
from multibody_cli.errors import MbsimError, SceneError, shortened
from multibody_cli.kernel import LANES
from multibody_cli.model import Names
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.recorder import States
from multibody_cli.output.sink import MemorySink, Outcome, Sink
from multibody_cli.output.sweep_table import Column, Row
from multibody_cli.output.tee import TeeSink
from multibody_cli.studies.expect import channels_read, evaluate
from multibody_cli.studies.simulation import Simulation, prepare
from multibody_cli.studies.sweep.keeping import (
    Kept,
    channels_of,
    instants_of,
    kept_by_default,
    reduce_expectations,
    reduce_run,
)
from multibody_cli.studies.sweep.lanes import Lanes

LONGEST_REASON = 500

REFUSED, FAILED = "refused", "failed"
"""Status of a run that did not start, and of one that an error ended."""


class Run(NamedTuple):
    """A run of a sweep: its number, and its own values, each `KEY=VALUE`."""

    number: int
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Task:
    """What all runs of a sweep have in common.

    Parameters
    ----------
    scene
        The scene.
    overrides
        Values that are the same in all runs.
    kept
        What is kept of a run; nothing for `kept_by_default`.
    trajectories
        Folder of the result files; None keeps none.
    reference
        The run whose code the lanes execute; None makes single runs only.
    digest
        Digest of the sweep: a process reads the scene again for another one.
    """

    scene: UnreadScene
    overrides: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()
    trajectories: Path | None = None
    reference: Run | None = None
    digest: str = ""

    @property
    def least_batch(self) -> int:
        """Smallest useful number of runs of a batch."""
        return 1 if self.reference is None else LANES


def run_batch(task: Task, runs: Sequence[Run]) -> list[Row]:
    """Execute runs, and reduce each to a row.

    A row depends on the task and its run alone: not on the other runs, nor on the process.

    Parameters
    ----------
    task
        The common part of the runs.
    runs
        The runs.
    """
    if task.reference is None:
        return [_finish(task, run, _start(task, run)) for run in runs]
    started = [_start(task, run) for run in runs]
    places = [k for k, one in enumerate(started) if isinstance(one, Simulation)]
    made = lanes_of(task).make([one for one in started if isinstance(one, Simulation)])
    known = {places[k]: states for k, states in made.items()}
    return [_finish(task, run, started[k], known.get(k)) for k, run in enumerate(runs)]


def result_path(folder: Path, number: int) -> Path:
    """Return the path of the result file of a run."""
    return folder / f"run-{number:07d}.h5"


def prepare_run(task: Task, run: Run) -> Simulation:
    """Load and compile the scene of a run; see `studies.simulation.prepare`."""
    return prepare(_source(task.scene, task.digest), (*task.overrides, *run.overrides))


@lru_cache(maxsize=1)
def _source(scene: UnreadScene, _digest: str) -> ReadScene:
    return read_scene(scene)


@lru_cache(maxsize=1)
def lanes_of(task: Task) -> Lanes:
    """Return the lanes of a task that has a reference; compile them if they are missing."""
    assert task.reference is not None
    return Lanes(prepare_run(task, task.reference))


def forget_scene() -> None:
    """Forget the scene of the last task, whose file may change."""
    _source.cache_clear()
    lanes_of.cache_clear()


def _start(task: Task, run: Run) -> Simulation | Row:
    """Prepare a run; return its row if it cannot start."""
    try:
        return prepare_run(task, run)
    except SceneError as error:
        return Row(run.number, REFUSED, _in_one_line("; ".join(_without_place(error))))
    except MbsimError as error:
        return Row(run.number, REFUSED, _in_one_line(str(error)))
    except Exception as error:
        return Row(run.number, FAILED, _in_one_line(f"internal error: {type(error).__name__}: {error}"))


def _finish(task: Task, run: Run, simulation: Simulation | Row, states: States | None = None) -> Row:
    """Execute a run that can start, unless its states are known, and return its row."""
    if isinstance(simulation, Row):
        return simulation
    try:
        return _reduced(task, run.number, simulation, states)
    except MbsimError as error:
        return Row(run.number, FAILED, _in_one_line(str(error)))
    except Exception as error:  # as the command line, a sweep reports it, and goes on with the other runs
        return Row(run.number, FAILED, _in_one_line(f"internal error: {type(error).__name__}: {error}"))


def _reduced(task: Task, number: int, simulation: Simulation, states: States | None) -> Row:
    scene, model, timing = simulation.scene, simulation.compiled.model, simulation.compiled.timing
    kept = task.kept or kept_by_default(scene, model.names)
    recorded = scene.output.channels
    end = timing.outputs * timing.every
    memory = MemorySink(
        _channels_of(kept, end, model.names, tuple(scene.expect), None if recorded is None else tuple(recorded))
    )
    sink: Sink = memory
    if task.trajectories is not None:
        file = result_path(task.trajectories, number)
        sink = TeeSink(memory, Hdf5Sink(file, scene.output.channels, scene.output.compression, force=True))
    summary = simulation.run(sink) if states is None else simulation.replay(states, sink)
    outcome, trajectory = summary.outcome, memory.trajectory()
    kept_numbers: list[tuple[Column, float]] = [
        (Column("steps", "", "Number of steps."), float(summary.steps)),
        (Column("reached", "s", "Time of the last output instant."), summary.reached),
    ]
    if outcome.reached_end:
        kept_numbers += reduce_expectations(evaluate(scene.expect, trajectory))
        kept_numbers += reduce_run(kept, trajectory)
    columns, values = zip(*kept_numbers, strict=True)
    reason = "" if outcome.status == "complete" else _in_one_line(outcome.message)
    return Row(number, outcome.status, reason, _in_one_line("; ".join(_alarms_of(outcome))), columns, values)


@lru_cache(maxsize=4)
def _channels_of(
    kept: tuple[Kept, ...], end: float, names: Names, expect: tuple[Any, ...], recorded: tuple[str, ...] | None
) -> tuple[str, ...]:
    """Return the channels that a row is made from: those that are kept, and those of the expectations."""
    instants = np.unique([0.0, end, *instants_of(kept)])
    return tuple(sorted({*channels_of(kept, names, instants), *channels_read(expect, names, recorded)}))


def _alarms_of(outcome: Outcome) -> Iterator[str]:
    for alarm in outcome.alarms:
        yield f"{alarm.name} ({alarm.level}" + (f" from {alarm.time:.6g} s)" if alarm.time is not None else ")")


def _without_place(error: SceneError) -> Iterator[str]:
    """Yield the problems without the names of files, which may differ between machines."""
    for problem in error.problems:
        yield ": ".join(filter(None, (problem.path, problem.message)))


def _in_one_line(text: str) -> str:
    return shortened(" ".join(text.split()), LONGEST_REASON)
