"""A sweep: its definition, its rows in progress, and its table."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from multibody_cli.document.nodes import plain
from multibody_cli.document.source import UnreadScene, read_scene
from multibody_cli.errors import ArgumentError, OutputError, Refused, ResultError, SceneError
from multibody_cli.output.checkpoint import target
from multibody_cli.output.place import require_replaceable
from multibody_cli.output.row_file import RowFile, row_file_path
from multibody_cli.output.sink import MemorySink
from multibody_cli.output.sweep_table import (
    FORMAT_VERSION,
    Column,
    KeyValues,
    Row,
    SweepTable,
    is_sweep_table,
    write_sweep_table,
)
from multibody_cli.studies.simulation import Simulation
from multibody_cli.studies.sweep.batch import Run, Task, alike_of, forget_scene, lanes_of, prepare_run
from multibody_cli.studies.sweep.design import Design
from multibody_cli.studies.sweep.keeping import Kept, channels_of, instants_of, unknown_channels
from multibody_cli.studies.sweep.lanes import objection_to_lanes, save_time
from multibody_cli.version import __version__

COMPLETE, INTERRUPTED = "complete", "interrupted"
DIGEST_FILE = "sweep.digest"
"""File in the folder of the result files that names their sweep."""

EXPECTATION = "expect "
"""Begin of the names of columns of expectations."""

Execute = Callable[[Task, Iterable[Run]], Iterator[list[Row]]]
"""Function that executes runs, and yields their rows in any order."""


@dataclass(frozen=True)
class Sweep:
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

    task: Task
    design: Design
    name: str
    digest: str
    accepted: int

    def run(self, number: int) -> Run:
        """Return a run."""
        return Run(number, self.design.overrides(number))

    def attributes(self) -> dict[str, str | int]:
        """Return the attributes of the table."""
        definition = {
            "set": self.task.overrides,
            "vary": [{"keys": factor.keys, "values": len(factor.rows)} for factor in self.design.factors],
            "keep": [asdict(one) for one in self.task.kept],
        }
        return {
            "mbsim_version": __version__,
            "name": self.name,
            "runs": self.design.count,
            "digest": self.digest,
            "lanes": int(self.task.reference is not None),
            "definition": json.dumps(definition, ensure_ascii=False),
        }

    def keys(self) -> list[KeyValues]:
        """Return the columns of the keys."""
        found = []
        for place, (key, column) in enumerate(zip(self.design.keys, self.design.columns(), strict=True)):
            about = Column(key, column.units, f"Value of `{key}`.")
            if column.numbers is None:
                every = [
                    row[factor.keys.index(key)]
                    for factor in self.design.factors
                    if key in factor.keys
                    for row in factor.rows
                ]
                found.append(KeyValues(about, _texts_of(self.design, place), max(len(text.encode()) for text in every)))
            else:
                found.append(KeyValues(about, _numbers_of(self.design, place, column.numbers)))
        return found


def _texts_of(design: Design, place: int) -> Callable[[Sequence[int]], Any]:
    return lambda runs: [design.texts(run)[place].encode() for run in runs]


def _numbers_of(design: Design, place: int, numbers: Callable[[Sequence[str]], Any]) -> Callable[[Sequence[int]], Any]:
    return lambda runs: numbers([design.texts(run)[place] for run in runs])


@dataclass
class Tally:
    """What has become of the runs: their number by status, and the number that miss an expectation.

    `reasons` has the first run of each status that has a reason, and that reason.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    missed: int = 0
    reasons: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Count a row."""
        self.statuses[row.status] += 1
        self.explain(row.status, row.run, row.reason)
        passed = (
            value
            for column, value in zip(row.columns, row.values, strict=True)
            if column.name.startswith(EXPECTATION) and column.name.endswith(" passed")
        )
        self.missed += any(value == 0.0 for value in passed)

    def explain(self, status: str, run: int, reason: str) -> None:
        """Keep the reason of the run with the smallest number: rows arrive in any order."""
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


def plan_sweep(
    scene: UnreadScene,
    overrides: Sequence[str],
    design: Design,
    kept: Sequence[Kept],
    trajectories: Path | None,
    in_lanes: bool | None = None,
) -> tuple[Sweep, Simulation]:
    """Check a sweep before it is executed; also return the first of its runs that can start.

    Parameters
    ----------
    scene, overrides, design, kept, trajectories
        See `Task` and `Design`.
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
    task = Task(scene, tuple(overrides), tuple(kept), trajectories)
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
        task = replace(task, reference=Run(number, design.overrides(number)))
    settings, timing = simulation.scene.simulation, simulation.compiled.timing
    ends = [0.0, timing.outputs * timing.every]
    try:
        names = simulation.compiled.model.names
        near = [round(time / timing.every) * timing.every for time in instants_of(kept)]
        channels_of(kept, names, np.unique(np.clip([*ends, *near], 0.0, settings.duration)))
    except ResultError as error:
        raise unknown_channels(error) from None
    content = {
        "version": __version__,
        "format": FORMAT_VERSION,
        "target": target(),
        "text": plain(read_scene(scene).root),
        "resolved": simulation.header().scene_sha256,
        "of": number,
        "task": [task.overrides, [asdict(one) for one in kept], trajectories is not None, in_lanes],
        "design": [design.keys, [[factor.keys, factor.rows] for factor in design.factors]],
    }
    digest = hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()
    return Sweep(replace(task, digest=digest), design, simulation.scene.name, digest, number), simulation


def _accepted(task: Task, design: Design) -> dict[int, Simulation]:
    """Return the first, the middle and the last run, without those that are refused, by their numbers."""
    refusal: SceneError | None = None
    found = {}
    for number in sorted({0, design.count // 2, design.count - 1}):
        try:
            found[number] = prepare_run(task, Run(number, design.overrides(number)))
        except SceneError as error:
            refusal = refusal or error
    if refusal is not None and not found:
        raise refusal
    return found


def compile_kernels(sweep: Sweep, simulation: Simulation) -> None:
    """Start a run and take its first steps, also in lanes, so that kernels are compiled and loaded before the fork.

    Raises
    ------
    Refused
        Kernels are missing, and may not be compiled.
    """
    answers = iter([False])
    simulation.run(MemorySink(), stop_asked=lambda: next(answers, True))
    if sweep.task.reference is not None:
        try:
            lanes_of(sweep.task).start(simulation)
            alike_of(sweep.task).start()
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
        recorded = SweepTable(table).attributes if table.is_file() and is_sweep_table(table) else {}
        if recorded.get("digest") != sweep.digest:
            if recorded:
                raise ArgumentError(
                    f"{table} is the table of another sweep: use --force to replace it, or -o to choose another name"
                )
            require_replaceable(table, force)
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


def execute(sweep: Sweep, rows: RowFile, execute_runs: Execute, on_rows: Callable[[Sequence[Row]], None]) -> None:
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
    for some in execute_runs(sweep.task, map(sweep.run, rows.missing)):
        rows.add(some)
        on_rows(some)


def write_table(sweep: Sweep, rows: RowFile, table: Path) -> str:
    """Write the table of all rows so far; return its status, `complete` or `interrupted`.

    The rows in progress are removed when the table is complete.
    """
    left = len(rows.missing)
    status = INTERRUPTED if left else COMPLETE
    attributes = {**sweep.attributes(), "status": status}
    count = sweep.design.count - left
    write_sweep_table(table, attributes, sweep.keys(), rows.columns(), rows.lengths, rows.rows(), count)
    if not left:
        rows.remove()
    return status


def tally_of(table: SweepTable) -> Tally:
    """Count the rows of a table."""
    missed = np.zeros(table.count, bool)
    for column in table.of_role("result"):
        if column.name.startswith(EXPECTATION) and column.name.endswith(" passed"):
            missed |= table.read(column.name) == 0.0
    statuses = table.read("status").tolist()
    tally = Tally(Counter(statuses), int(missed.sum()))
    for run, status, reason in zip(table.read("run").tolist(), statuses, table.read("reason").tolist(), strict=True):
        tally.explain(status, run, reason)
    return tally
