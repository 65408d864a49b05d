"""Estimate of the time and size of a sweep, from one of its runs."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from multibody_cli.output.rows import OUTCOMES
from multibody_cli.studies.simulation import Simulation
from multibody_cli.studies.sweep.batch import result_path, run_batch
from multibody_cli.studies.sweep.sweep import Sweep, compile_kernels

TEXT = 16
"""Bytes that are counted for each text of a row."""


@dataclass(frozen=True)
class Estimate:
    """What a sweep takes.

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

    def as_data(self) -> dict[str, Any]:
        """Return the estimate as plain data."""
        return asdict(self)


def estimate(sweep: Sweep, first: Simulation, processes: int) -> Estimate:
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
    return Estimate(runs, seconds, runs * seconds / min(processes, runs), names, runs * row_bytes, runs * file_bytes)
