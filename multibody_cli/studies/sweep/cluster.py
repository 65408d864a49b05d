"""Execution of the runs of a sweep on a Dask cluster.

The workers have this package and see the same files.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from multibody_cli.errors import ArgumentError, OutputError
from multibody_cli.output.rows import Rows, in_blocks
from multibody_cli.studies.sweep.batch import SweepRun, SweepTask, run_batch
from multibody_cli.studies.sweep.workers import POLL, Batches

BATCHES_OF_A_THREAD = 2
"""Batches that are submitted for each thread of the cluster, so that none waits for the next."""

PATIENCE = 10.0
"""Time after which a connection to a scheduler is given up, s."""

_one_at_a_time = Lock()
"""Kernels are prepared by one thread of a process at a time."""


class Cluster:
    """A connection to a cluster, by its address and the client of Dask; `connected` makes it."""

    def __init__(self, address: str, client: Any) -> None:
        self._address, self._client = address, client

    def run(
        self, task: SweepTask, runs: Iterable[SweepRun], stop_asked: Callable[[], bool] = lambda: False
    ) -> Iterator[list[Rows]]:
        """Execute runs on the workers, and yield their rows in any order.

        The batch of a worker that dies is executed by another one.

        Parameters
        ----------
        task, runs
            As in `run_batch`.
        stop_asked
            Called several times a second; if it returns True, the runs in progress are given up.

        Raises
        ------
        OutputError
            The scheduler ended.
        """
        from distributed import wait
        from distributed.comm.core import CommClosedError

        wait_for: Any = wait
        client, content, batches = self._client, pickle.dumps(task), Batches(runs, task.least_batch)
        pending: dict[Any, list[SweepRun]] = {}
        try:
            while not stop_asked():
                while len(pending) < BATCHES_OF_A_THREAD * max(1, sum(client.nthreads().values())) and (
                    batch := batches.next()
                ):
                    pending[client.submit(_run_remotely, content, batch, pure=False, retries=1)] = batch
                if not pending:
                    return
                try:
                    done = wait_for(list(pending), timeout=POLL, return_when="FIRST_COMPLETED").done
                except TimeoutError:
                    continue
                for future in done:
                    batch = pending.pop(future)
                    if future.status == "finished":
                        seconds, rows = future.result()
                        batches.took(len(batch), seconds)
                    else:
                        rows = batches.lost(batch, _reason_of(future))
                    yield rows
        except CommClosedError:
            raise OutputError(
                f"--dask {self._address}: the scheduler ended; repeat the command to complete the sweep"
            ) from None
        finally:
            client.cancel(list(pending))


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Connect to the scheduler of a cluster.

    Parameters
    ----------
    address
        Address of the scheduler, such as `tcp://10.0.0.1:8786`.

    Raises
    ------
    ArgumentError
        Dask is not installed, there is no scheduler at the address, or it has no worker.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ArgumentError("--dask needs Dask: pip install 'multibody-cli[dask]'") from None
    try:
        client: Any = Client(address, timeout=PATIENCE, set_as_default=True)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError) as error:
        reason = " ".join(str(error).split()) or "no answer"
        raise ArgumentError(f"--dask {address}: cannot connect to a scheduler: {reason}") from None
    with client:
        if not client.nthreads():
            raise ArgumentError(
                f"--dask {address}: the cluster has no workers: start some with `dask worker {address}`"
            )
        yield Cluster(address, client)


def _reason_of(future: Any) -> str:
    error = future.exception() if future.status == "error" else None
    return f"the cluster did not execute the run: {' '.join(str(error or future.status).split())}"


def _run_remotely(content: bytes, runs: list[SweepRun]) -> tuple[float, list[Rows]]:
    """Execute a batch in a worker of the cluster; return the time that it took, s, and its rows."""
    with _one_at_a_time:
        began = time.perf_counter()
        rows = in_blocks(run_batch(_task(content), runs))
        return time.perf_counter() - began, rows


@lru_cache(maxsize=4)
def _task(content: bytes) -> SweepTask:
    task: SweepTask = pickle.loads(content)
    return task
