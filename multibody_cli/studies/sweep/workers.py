"""Execution of the runs of a sweep in worker processes of this machine.

A worker is forked from this process where the system can fork, so that it starts with the parsed scene and the loaded
kernels.  The runs of a worker that dies are executed again, one by one; a run whose worker dies twice fails.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from multiprocessing.connection import Connection, wait
from threading import Thread
from typing import Any

from multibody_cli.kernel.progress import observers, seconds
from multibody_cli.output.rows import Row, Rows, in_blocks
from multibody_cli.studies.sweep.batch import FAILED, SweepRun, SweepTask, run_batch

SECONDS = 0.5
"""Intended duration of a batch: rows are written, and requests to stop are noticed, about as often."""

MOST_RUNS = 512
"""Largest number of runs of a batch."""

ATTEMPTS = 2
"""Number of workers that a run may end before it counts as failed."""

POLL = 0.1
"""Time between two questions whether to stop, s."""


class Batches:
    """Runs in the order of their numbers, in batches of about `SECONDS`, and again those whose worker died.

    Parameters
    ----------
    runs
        All runs.
    least
        Smallest number of runs of a batch, of which the others are multiples.
    """

    def __init__(self, runs: Iterable[SweepRun], least: int = 1) -> None:
        self._runs, self._least = iter(runs), least
        self._again: deque[SweepRun] = deque()
        self._deaths: Counter[int] = Counter()
        self._length = least

    def next(self) -> list[SweepRun]:
        """Return the next batch; empty if no run is left."""
        if self._again:
            return [self._again.popleft()]
        return list(islice(self._runs, self._length))

    def took(self, runs: int, seconds: float) -> None:
        """Adapt the length of the next batches to the duration of one."""
        wanted = runs * SECONDS / max(seconds, 1e-6)
        length = min(int(wanted), 2 * self._length, MOST_RUNS)
        self._length = max(length // self._least, 1) * self._least

    def lost(self, batch: list[SweepRun], reason: str) -> list[Rows]:
        """Return the rows of runs that fail because their worker died; the others are executed again."""
        failed = []
        for run in batch:
            self._deaths[run.number] += len(batch) == 1  # among several runs, the cause is not known
            if self._deaths[run.number] >= ATTEMPTS:
                failed.append(Row(run.number, FAILED, reason))
            else:
                self._again.append(run)
        return in_blocks(failed)


def run_locally(
    task: SweepTask, runs: Iterable[SweepRun], jobs: int, stop_asked: Callable[[], bool] = lambda: False
) -> Iterator[list[Rows]]:
    """Execute runs in worker processes, and yield their rows in any order.

    Parameters
    ----------
    task, runs
        As in `run_batch`.
    jobs
        Number of worker processes.
    stop_asked
        Called several times a second; if it returns True, the runs in progress are given up.
    """
    batches, busy = Batches(runs, task.least_batch), {}  # type: ignore[var-annotated]
    try:
        for _ in range(jobs):
            _assign(task, batches, _Worker(task), busy)
        while busy and not stop_asked():
            for connection in wait(list(busy), POLL):
                worker = busy.pop(connection)
                try:
                    seconds, rows = worker.connection.recv()
                except (EOFError, OSError):
                    rows = batches.lost(worker.batch, worker.cause_of_death())
                    worker = _Worker(task)
                else:
                    batches.took(len(worker.batch), seconds)
                _assign(task, batches, worker, busy)
                yield rows
    finally:
        for worker in busy.values():
            worker.end()


def _assign(task: SweepTask, batches: Batches, worker: _Worker, busy: dict[Any, _Worker]) -> None:
    """Give a worker the next batch; end it if there is none."""
    batch = batches.next()
    if not batch:
        worker.end()
        return
    worker.assign(batch)
    busy[worker.connection] = worker


class _Worker:
    """A worker process, and the batch that it executes."""

    def __init__(self, task: SweepTask) -> None:
        context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self.connection, theirs = context.Pipe()
        self.batch: list[SweepRun] = []
        self._process = context.Process(target=_work, args=(task, theirs, os.getpid()), daemon=True)
        self._process.start()
        theirs.close()

    def assign(self, batch: list[SweepRun]) -> None:
        """Start the execution of a batch."""
        self.batch = batch
        with suppress(OSError):  # the process died: its connection is at its end
            self.connection.send(batch)

    def cause_of_death(self) -> str:
        """Return how the process ended."""
        self._process.join()
        code = self._process.exitcode or 0
        self.end()
        if code < 0:
            return f"the process of the run was ended by {signal.Signals(-code).name}: out of memory?"
        return f"the process of the run ended with exit code {code}"

    def end(self) -> None:
        """End the process."""
        self.connection.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def _work(task: SweepTask, connection: Connection, parent: int) -> None:
    """Execute batches until the connection ends."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    observers.clear()  # the terminal is the parent's
    gc.freeze()  # modules imported before the fork are never collected, nor copied by a search through them
    gc.enable()
    Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        while True:
            batch = connection.recv()
            began = seconds()
            rows = in_blocks(run_batch(task, batch))
            connection.send((seconds() - began, rows))
    except (EOFError, OSError):
        pass  # the parent ended
    finally:
        sys.stderr.flush()
        os._exit(0)


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, also during a long run."""
    while os.getppid() == parent:
        time.sleep(SECONDS)
    os._exit(0)
