"""A sweep: its definition, its rows in progress, its table, and an estimate of its time and size."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.document.source import UnreadScene, read_scene
from multibody_cli.errors import ArgumentError, OutputError, Refused, ResultError, SceneError
from multibody_cli.immutable import Immutable, asdict, replace
from multibody_cli.model import Integers
from multibody_cli.nodes import plain
from multibody_cli.output.row_file import RowFile, row_file_path
from multibody_cli.output.rows import OUTCOMES, Column, Rows
from multibody_cli.output.sweep_table import KeyValues, SweepTable, write_sweep_table
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.sweep.batch import (
    SweepRun,
    SweepTask,
    equal_models_of,
    forget_scene,
    lanes_of,
    prepare_run,
    result_path,
    run_batch,
)
from multibody_cli.studies.sweep.definition import attributes_of, digest_of, require_own_table
from multibody_cli.studies.sweep.design import Design, GridAxis
from multibody_cli.studies.sweep.kept_channels import Kept, channels_of, instants_of, unknown_channels
from multibody_cli.studies.sweep.lanes import objection_to_lanes, save_time
from multibody_cli.studies.sweep.values import numbers_of
from multibody_cli.studies.wrenches import RECORDED, wrench_axes

COMPLETE, INTERRUPTED = "complete", "interrupted"
DIGEST_FILE = "sweep.digest"
"""File in the folder of the result files that names their sweep."""

EXPECTATION = "expect "
"""Begin of the names of columns of expectations."""

Execute = Callable[[SweepTask, Iterable[SweepRun]], Iterator[list[Rows]]]
"""Function that executes runs, and yields their rows in any order."""


class Sweep(Immutable):
    """A sweep that is ready to be executed.

    Parameters
    ----------
    task, design
        The common part of the runs, and their values.
    name
        Name of the scene.
    digest
        Digest of all that the table depends on.
    accepted
        Number of a run that can start.
    """

    task: SweepTask
    design: Design
    name: str
    digest: str
    accepted: int

    def run(self, number: int) -> SweepRun:
        """Return a run."""
        return SweepRun(number, self.design.overrides(number))

    def attributes(self) -> dict[str, str | int]:
        """Return the attributes of the table."""
        definition = {
            "set": self.task.overrides,
            "vary": [{"keys": factor.keys, "values": len(factor.rows)} for factor in self.design.factors],
            "keep": [asdict(one) for one in self.task.kept],
            "frame": self.task.frame,
            **({"saltelli": self.design.base} if self.design.base else {}),
        }
        found = attributes_of(self.name, self.digest, self.design.count, definition)
        return found | {"lanes": int(self.task.reference is not None)}

    def keys(self) -> list[KeyValues]:
        """Return the columns of the keys."""
        found = []
        for key, along in self.design.along.items():
            units, numbers = numbers_of(along.texts)
            values = np.array([text.encode() for text in along.texts]) if numbers is None else numbers
            length = values.dtype.itemsize if numbers is None else 0
            about = Column(key, units, f"Value of `{key}`.")
            found.append(KeyValues(about, partial(_values_in, values, along), length))
        return found


def _values_in(values: Any, along: GridAxis, runs: Integers) -> Any:
    return values[along.indices(runs)]


@dataclass
class Tally:
    """Counts of the runs: their number by status, and the number that miss an expectation.

    `reasons` has the first run of each status that has a reason, and that reason.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    missed: int = 0
    reasons: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, rows: Rows) -> None:
        """Count rows."""
        for run, (status, reason, _) in zip(rows.runs.tolist(), rows.endings, strict=True):
            self.count(run, status, reason)
        passed = [k for k, column in enumerate(rows.columns) if _is_verdict(column)]
        self.missed += int((rows.values[:, passed] == 0.0).any(axis=1).sum())

    def count(self, run: int, status: str, reason: str) -> None:
        """Count a run; keep the reason of the one with the smallest number, because rows arrive in any order."""
        self.statuses[status] += 1
        if reason and (status not in self.reasons or run < self.reasons[status][0]):
            self.reasons[status] = run, reason

    @property
    def done(self) -> int:
        """Number of runs."""
        return sum(self.statuses.values())

    @property
    def failures(self) -> int:
        """Number of runs that are not complete."""
        return self.done - self.statuses[COMPLETE]


def _is_verdict(column: Column) -> bool:
    """Whether a column has the verdicts of an expectation."""
    return column.name.startswith(EXPECTATION) and column.name.endswith(" passed")


def plan_sweep(
    scene: UnreadScene,
    overrides: Sequence[str],
    design: Design,
    kept: Sequence[Kept],
    trajectories: Path | None,
    in_lanes: bool | None = None,
    frame: str = RECORDED,
) -> tuple[Sweep, PreparedSimulation]:
    """Check a sweep before it is executed; also return the first of its runs that can start.

    Parameters
    ----------
    scene, overrides, design, kept, trajectories, frame
        See `SweepTask` and `Design`.
    in_lanes
        Whether runs are made in lanes; by default if lanes support them and save time, and no result files are kept.

    Raises
    ------
    SceneError
        The scene is invalid, or its first, middle and last run are all refused, with the problems of the first.
    ArgumentError
        A kept channel or instant does not exist, or lanes are asked for and do not support the runs.
    """
    forget_scene()
    task = SweepTask(scene, tuple(overrides), tuple(kept), trajectories, frame=frame)
    accepted = _accepted(task, design)
    number, simulation = next(iter(accepted.items()))
    if in_lanes is None:
        in_lanes = (
            trajectories is None
            and save_time(simulation, design.count)
            and objection_to_lanes([*accepted.values()]) is None
        )
    elif in_lanes and (objection := objection_to_lanes([*accepted.values()])) is not None:
        raise ArgumentError(f"--lanes: {objection}")
    if in_lanes:
        task = replace(task, reference=SweepRun(number, design.overrides(number)))
    settings, timing = simulation.scene.simulation, simulation.compiled.timing
    ends = [0.0, timing.outputs * timing.every]
    try:
        names = simulation.compiled.model.names
        near = [round(time / timing.every) * timing.every for time in instants_of(kept)]
        instants = np.unique(np.clip([*ends, *near], 0.0, settings.duration))
        channels_of(kept, names, instants, wrench_axes(simulation.scene, frame))
    except ResultError as error:
        raise unknown_channels(error) from None
    content = {
        "text": plain(read_scene(scene).root),
        "resolved": simulation.header().scene_sha256,
        "of": number,
        "task": [task.overrides, [asdict(one) for one in kept], trajectories is not None, in_lanes, frame],
        "design": [design.keys, [[factor.keys, factor.rows] for factor in design.factors]],
    }
    digest = digest_of(content)
    return Sweep(replace(task, digest=digest), design, simulation.scene.name, digest, number), simulation


def _accepted(task: SweepTask, design: Design) -> dict[int, PreparedSimulation]:
    """Return the first, the middle and the last run, without those that are refused, by their numbers."""
    refusal: SceneError | None = None
    found = {}
    for number in sorted({0, design.count // 2, design.count - 1}):
        try:
            found[number] = prepare_run(task, SweepRun(number, design.overrides(number)))
        except SceneError as error:
            refusal = refusal or error.with_places(partial(design.as_given, number))
    if refusal is not None and not found:
        raise refusal
    return found


def compile_kernels(sweep: Sweep, simulation: PreparedSimulation) -> None:
    """Start a run and take its first steps, also in lanes, so that kernels are compiled and loaded before the fork.

    Raises
    ------
    Refused
        Kernels are missing, and may not be compiled.
    """
    simulation.load_kernels()
    if sweep.task.reference is not None:
        try:
            lanes_of(sweep.task).start(simulation)
            equal_models_of(sweep.task).start()
        except Refused:
            raise Refused(
                "the code of the lanes of this sweep is not in the cache, and MBSIM_COMPILE=never forbids compiling "
                "it: use --no-lanes, or execute the sweep once where compiling is allowed"
            ) from None


def open_rows(sweep: Sweep, table: Path, force: bool) -> RowFile | None:
    """Open the rows of a sweep, with those of an earlier, interrupted execution; None if the table is complete.

    Raises
    ------
    ArgumentError
        The table exists and is that of another sweep, or there are rows or result files of another sweep.
    OutputError
        The folder of the result files cannot be written.
    """
    if table.exists() and not force:
        recorded = require_own_table(table, sweep.digest)
        if recorded.get("status") == COMPLETE and not row_file_path(table).exists():
            return None
    _claim_trajectories(sweep, force)
    return RowFile(row_file_path(table), sweep.digest, sweep.design.count, force)


def _claim_trajectories(sweep: Sweep, force: bool) -> None:
    """Prepare the folder of the result files, if they are kept; with `force`, remove those of another sweep."""
    folder = sweep.task.trajectories
    if folder is None:
        return
    marker = folder / DIGEST_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if marker.is_file() and marker.read_bytes() == sweep.digest.encode():
            return
        others = sorted(folder.glob("run-*.h5*"))
        if others and not force:
            raise ArgumentError(
                f"{folder} has result files of another sweep: use --force to replace them, or -o to choose another name"
            )
        for other in others:
            other.unlink()
        marker.write_text(sweep.digest)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror or error}; choose another place with -o") from error


def execute(sweep: Sweep, rows: RowFile, execute_runs: Execute, on_rows: Callable[[Sequence[Rows]], None]) -> None:
    """Execute the runs that have no row yet, and write each row to the disk.

    Parameters
    ----------
    sweep, rows
        The sweep and its rows.
    execute_runs
        Executes runs; see `workers` and `cluster`.
    on_rows
        Called with new rows after they are on the disk.
    """
    for some in execute_runs(sweep.task, map(sweep.run, rows.missing.tolist())):
        rows.add(some)
        on_rows(some)


def write_table(sweep: Sweep, rows: RowFile, table: Path) -> str:
    """Write the table of all rows so far; return its status, `complete` or `interrupted`.

    The rows in progress are removed when the table is complete.
    """
    runs = rows.runs
    status = INTERRUPTED if len(runs) < sweep.design.count else COMPLETE
    attributes = {**sweep.attributes(), "status": status}
    write_sweep_table(table, attributes, sweep.keys(), rows.columns(), rows.lengths, runs, rows.rows)
    if status == COMPLETE:
        rows.remove()
    return status


def tally_of(table: SweepTable) -> Tally:
    """Count the rows of a table."""
    missed = np.zeros(table.count, bool)
    for column in table.of_role("result"):
        if _is_verdict(column):
            missed |= table.read(column.name) == 0.0
    tally = Tally(missed=int(missed.sum()))
    for found in zip(*(table.read(name).tolist() for name in ("run", "status", "reason")), strict=True):
        tally.count(*found)
    return tally


TEXT = 16
"""Bytes that are counted for each text of a row."""


class SweepEstimate(Immutable):
    """The time and space that a sweep takes.

    Parameters
    ----------
    runs
        Number of runs.
    seconds_of_run
        Time of one run, s.
    seconds
        Time of all runs in the given number of processes, s.
    columns
        Names of the columns of kept numbers.
    table_bytes, trajectory_bytes
        Sizes of the table, not compressed, and of all result files, bytes.
    """

    runs: int
    seconds_of_run: float
    seconds: float
    columns: tuple[str, ...]
    table_bytes: int
    trajectory_bytes: int


def estimate(sweep: Sweep, first: PreparedSimulation, processes: int) -> SweepEstimate:
    """Execute a run that can start, and estimate the time and size of all.

    Parameters
    ----------
    sweep, first
        As `plan_sweep` returns them.
    processes
        Number of processes of the sweep.
    """
    compile_kernels(sweep, first)
    runs, run = sweep.design.count, sweep.run(sweep.accepted)
    with tempfile.TemporaryDirectory(prefix="mbsim-") as folder:
        task = replace(sweep.task, trajectories=Path(folder) if sweep.task.trajectories is not None else None)
        run_batch(task, [run])  # fills the caches that a worker has
        began = time.perf_counter()
        row = run_batch(task, [run] * task.least_batch)[0]
        seconds = (time.perf_counter() - began) / task.least_batch
        file = result_path(Path(folder), run.number)
        file_bytes = file.stat().st_size if file.exists() else 0
    row_bytes = 8 * (1 + len(sweep.design.keys) + len(row.values)) + TEXT * len(OUTCOMES)
    names = tuple(column.name for column in row.columns)
    return SweepEstimate(
        runs, seconds, runs * seconds / min(processes, runs), names, runs * row_bytes, runs * file_bytes
    )
