"""Execution of runs: a batch of overrides becomes a batch of rows.

`run_batch` is the only way to execute runs.  It keeps the parsed scene and the lanes of the last task in its process,
so that a run evaluates only the values of the scene; kernels are compiled and loaded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from multibody_cli.document.source import ReadScene, UnreadScene, read_scene
from multibody_cli.errors import MbsimError, SceneError
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import LANES
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.recorder import States
from multibody_cli.output.rows import Row
from multibody_cli.output.sink import MemorySink, Sink, TeeSink
from multibody_cli.studies.simulation import PreparedSimulation, prepare
from multibody_cli.studies.sweep.equal_models import EqualModelRuns
from multibody_cli.studies.sweep.kept_channels import Kept, channels_for, in_one_line, kept_of, reduced
from multibody_cli.studies.sweep.lanes import Lanes
from multibody_cli.studies.wrenches import RECORDED, wrench_axes

REFUSED, FAILED = "refused", "failed"
"""Status of a run that did not start, and of one that an error ended."""


class SweepRun(NamedTuple):
    """A run of a sweep: its number, and its own values, each `KEY=VALUE`."""

    number: int
    overrides: tuple[str, ...]


class SweepTask(Immutable):
    """The data that all runs of a sweep have in common.

    Parameters
    ----------
    scene
        The scene.
    overrides
        Values that are the same in all runs.
    kept
        The kept numbers of a run; nothing for the default of `kept_of`.
    trajectories
        Folder of the result files; None keeps none.
    reference
        The run whose code the lanes execute; None makes single runs only.
    digest
        Digest of the sweep: a process reads the scene again for another one.
    frame
        The axes of the wrenches that are kept, a word of `studies.wrenches.FRAMES`.
    """

    scene: UnreadScene
    overrides: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()
    trajectories: Path | None = None
    reference: SweepRun | None = None
    digest: str = ""
    frame: str = RECORDED

    @property
    def least_batch(self) -> int:
        """Smallest useful number of runs of a batch."""
        return 1 if self.reference is None else LANES


def run_batch(task: SweepTask, runs: Sequence[SweepRun]) -> list[Row]:
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
    rows = equal_models_of(task).make(runs) if task.trajectories is None else {}
    started = {k: _start(task, run) for k, run in enumerate(runs) if k not in rows}
    places = [k for k, one in started.items() if isinstance(one, PreparedSimulation)]
    states = lanes_of(task).make([one for one in started.values() if isinstance(one, PreparedSimulation)])
    known = {places[k]: one for k, one in states.items()}
    rows |= {k: _finish(task, runs[k], one, known.get(k)) for k, one in started.items()}
    return [rows[k] for k in range(len(runs))]


def result_path(folder: Path, number: int) -> Path:
    """Return the path of the result file of a run."""
    return folder / f"run-{number:07d}.h5"


def prepare_run(task: SweepTask, run: SweepRun) -> PreparedSimulation:
    """Load and compile the scene of a run; see `studies.simulation.prepare`."""
    return prepare(_source(task.scene, task.digest), (*task.overrides, *run.overrides))


@lru_cache(maxsize=1)
def _source(scene: UnreadScene, _digest: str) -> ReadScene:
    return read_scene(scene)


@lru_cache(maxsize=1)
def lanes_of(task: SweepTask) -> Lanes:
    """Return the lanes of a task that has a reference; compile them if they are missing."""
    assert task.reference is not None
    return Lanes(prepare_run(task, task.reference))


@lru_cache(maxsize=1)
def equal_models_of(task: SweepTask) -> EqualModelRuns:
    """Return the runs of a task that differ from its reference in initial coordinates and rates alone."""
    assert task.reference is not None
    reference = task.reference
    return EqualModelRuns(prepare_run(task, reference), reference.overrides, lanes_of(task), task.kept, task.frame)


def forget_scene() -> None:
    """Forget the scene of the last task, whose file may change."""
    _source.cache_clear()
    equal_models_of.cache_clear()
    lanes_of.cache_clear()


def _start(task: SweepTask, run: SweepRun) -> PreparedSimulation | Row:
    """Prepare a run; return its row if it cannot start."""
    try:
        return prepare_run(task, run)
    except SceneError as error:
        return Row(run.number, REFUSED, in_one_line("; ".join(_without_place(error))))
    except MbsimError as error:
        return Row(run.number, REFUSED, in_one_line(str(error)))
    except Exception as error:
        return Row(run.number, FAILED, in_one_line(f"internal error: {type(error).__name__}: {error}"))


def _finish(task: SweepTask, run: SweepRun, simulation: PreparedSimulation | Row, states: States | None = None) -> Row:
    """Execute a run that can start, unless its states are known, and return its row."""
    if isinstance(simulation, Row):
        return simulation
    try:
        return _reduced(task, run.number, simulation, states)
    except MbsimError as error:
        return Row(run.number, FAILED, in_one_line(str(error)))
    except Exception as error:  # as the command line, a sweep reports it, and goes on with the other runs
        return Row(run.number, FAILED, in_one_line(f"internal error: {type(error).__name__}: {error}"))


def _reduced(task: SweepTask, number: int, simulation: PreparedSimulation, states: States | None) -> Row:
    scene = simulation.scene
    kept = kept_of(task.kept, simulation)
    memory = MemorySink(channels_for(kept, simulation, task.frame))
    sink: Sink = memory
    if task.trajectories is not None:
        file = result_path(task.trajectories, number)
        sink = TeeSink(memory, Hdf5Sink(file, scene.output.channels, scene.output.compression, force=True))
    summary = simulation.run(sink) if states is None else simulation.replay(states, sink)
    return reduced(number, kept, scene.expect, summary, memory.trajectory(), wrench_axes(scene, task.frame))


def _without_place(error: SceneError) -> Iterator[str]:
    """Yield the problems without the names of files, which may differ between machines."""
    for problem in error.problems:
        yield ": ".join(filter(None, (problem.path, problem.message)))
