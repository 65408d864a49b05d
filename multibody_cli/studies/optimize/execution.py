"""Execution of the runs of an optimization: in this process, in others of this machine, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Self

from multibody_cli.kernel.workers import cores
from multibody_cli.output.rows import Rows, in_blocks
from multibody_cli.studies.sweep.batch import SweepRun, SweepTask, run_batch


class Executor:
    """Executes runs, as often as an algorithm asks for some.

    Parameters
    ----------
    jobs
        Number of processes of this machine; None for one for each core.  A single run is executed in this process.
    dask
        Address of the scheduler of a cluster, which executes all runs; the connection lasts until the end.
    stop_asked
        Whether to give up the runs in progress.

    Raises
    ------
    ArgumentError
        There is no cluster at the address.
    """

    def __init__(self, jobs: int | None, dask: str | None, stop_asked: Callable[[], bool] = lambda: False) -> None:
        self._jobs, self._stop_asked, self._held, self._cluster = jobs or cores(), stop_asked, ExitStack(), None
        if dask is not None:
            from multibody_cli.studies.sweep.cluster import connected

            self._cluster = self._held.enter_context(connected(dask))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def __call__(self, task: SweepTask, runs: Iterable[SweepRun]) -> Iterator[list[Rows]]:
        """Execute runs, and yield their rows in any order."""
        runs = list(runs)
        if self._cluster is not None:
            yield from self._cluster.run(task, runs, self._stop_asked)
        elif (jobs := min(self._jobs, len(runs))) > 1:
            from multibody_cli.studies.sweep.workers import run_locally

            yield from run_locally(task, runs, jobs, self._stop_asked)
        else:
            for run in runs:
                if self._stop_asked():
                    return
                yield in_blocks(run_batch(task, [run]))
