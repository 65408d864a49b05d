"""Parallel compilation in worker processes.

A process that runs scenes never imports numba: workers do.  A task is a symbol and a recipe, a pickle of the function
and its types by name.  A worker writes its code to the store and reports the kernels that it calls, which become tasks
for any worker.  Functions that cannot be imported by name are compiled in the process that defines them.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterable
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from multibody_cli.errors import ArgumentError
from multibody_cli.kernel import store
from multibody_cli.kernel.loading import KernelError, may_compile, read
from multibody_cli.kernel.progress import CompilationProgress, observers, waiting
from multibody_cli.kernel.tasks import Task

MAX_MEMORY = 600e6
"""Bytes of memory above which a worker is replaced: numba never releases its type information."""

MAX_ATTEMPTS = 5
"""Number of attempts to compile a function whose code disappears from the cache."""

IN_WORKER = "MBSIM_COMPILE_WORKER"
"""Environment variable of worker processes, which start no workers themselves."""

_titles: list[str] = []


def compiled() -> int:
    """Return the number of functions that have been compiled for this process."""
    return len(_titles)


def cores() -> int:
    """Return the number of cores that this process may use: `MBSIM_JOBS`, or all.

    Raises
    ------
    ArgumentError
        `MBSIM_JOBS` is not a number of at least 1.
    """
    named = os.environ.get("MBSIM_JOBS", "")
    if named:
        if not named.isdigit() or int(named) == 0:
            raise ArgumentError(f"MBSIM_JOBS={named}: expected a number of processes or threads, 1 or more")
        return int(named)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker:
    """A worker process."""

    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        self.folder = store.folder()
        # numba's settings would change the code; `-P` and the working directory exclude modules of the user
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        environment["NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING"] = "1"  # it colors every message, shown or not
        environment["MBSIM_CACHE_DIR"] = str(store.cache_root())
        environment[IN_WORKER] = "1"
        environment["PYTHONPATH"] = os.pathsep.join(os.path.abspath(one) for one in sys.path if one)
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-c",
                "from multibody_cli.kernel.compiling import serve; serve()",
                str(theirs.fileno()),
            ],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=environment,
            cwd=os.path.dirname(__file__),
            start_new_session=True,  # Ctrl-C is the parent's
        )
        theirs.close()
        self.task: Task | None = None

    def assign(self, task: Task) -> None:
        """Assign a task."""
        self.task = task
        self.connection.send((task.symbol, task.recipe))

    def end(self) -> None:
        """End the process; one that compiles would not notice that its connection is closed."""
        with suppress(OSError):
            self.connection.close()
        if self.task is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.5)
        self._process.kill()
        self._process.wait()


_idle: list[_Worker] = []


@atexit.register
def end_workers() -> None:
    """End all worker processes."""
    while _idle:
        _idle.pop().end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # workers belong to the parent


@waiting()
def compile_all(tasks: Iterable[Task]) -> None:
    """Compile tasks and all kernels that they call, unless they are in the store.

    Raises
    ------
    KernelError
        If compilation fails.
    """
    wanted = list(tasks)
    if os.environ.get(IN_WORKER):
        raise KernelError(
            "a module that defines kernels calls them when a worker imports it: call them below "
            '`if __name__ == "__main__":`'
        )
    _require_permission()
    session = _Session(cores())
    for task in wanted:
        session.add(task)
    session.run()
    known = {task.symbol: task for task in wanted}
    attempts: Counter[str] = Counter()
    # a kernel that another process has compiled was not compiled here, so that its callees become known only now, and
    # that process may not have compiled them yet: each round waits for one level of calls
    while left := read(known)[1]:
        attempts.update(list(left))
        if max(attempts.values()) > MAX_ATTEMPTS:
            raise KernelError("compiled code disappears during compilation: is the cache being deleted?")
        for symbol, recipe in left.items():
            if symbol not in known and not recipe:
                raise KernelError(f"compiled code {symbol} is missing and has no recipe")
            session.add(known.get(symbol) or Task(symbol, recipe))
        session.run()
    if session.progress.done:
        store.tidy()


def _require_permission() -> None:
    """Refuse to compile if the user forbids it."""
    if not may_compile():
        raise ArgumentError(
            f"kernels of this run are not in {store.cache_root()}, and MBSIM_COMPILE=never forbids compiling them: "
            "`mbsim warm SCENE` compiles them where it is allowed"
        )


class _Session:
    """One call of `compile_all`."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs if os.name == "posix" else 0
        self._queue: deque[Task] = deque()
        self._known: set[str] = set()
        self._retried: set[str] = set()
        self._busy: dict[Connection, _Worker] = {}
        self.progress = CompilationProgress()

    def add(self, task: Task) -> None:
        """Add a task, unless it is known or done."""
        if task.symbol not in self._known and store.find(task.symbol) is None:
            self._known.add(task.symbol)
            self._queue.append(task)
            self.progress.known += 1
            self._report()

    def run(self) -> None:
        """Compile until no task is left."""
        try:
            while self._queue or self._busy:
                self._dispatch()
                for connection in wait(list(self._busy), 0.05):
                    self._receive(connection)
                self._report()
        except BaseException:
            for worker in self._busy.values():
                worker.end()
            raise

    def _dispatch(self) -> None:
        while self._queue:
            task = self._queue[0]
            if not task.recipe or self._jobs == 0:
                self._queue.popleft()
                self._compile_here(task)
            elif len(self._busy) < self._jobs:
                worker = _idle.pop() if _idle else _Worker()
                if worker.folder != store.folder():  # `MBSIM_CACHE_DIR` has changed
                    worker.end()
                    continue
                try:
                    worker.assign(task)
                except OSError:  # the worker was killed while idle
                    worker.end()
                    continue
                self._queue.popleft()
                self._busy[worker.connection] = worker
            else:
                break

    def _compile_here(self, task: Task) -> None:
        from multibody_cli.kernel import compiling

        found: list[Task] = []
        title = compiling.compile_one(task.symbol, task.how, found.append)
        self._finished(task.symbol, title)
        for one in found:
            self.add(one)

    def _receive(self, connection: Any) -> None:
        worker = self._busy[connection]
        assert worker.task is not None
        symbol = worker.task.symbol
        try:
            sort, *content = connection.recv()
        except (EOFError, OSError):
            del self._busy[connection]
            worker.end()
            if symbol in self._retried:
                raise KernelError(
                    f"processes that compiled {symbol} ended before it was done: out of memory?"
                ) from None
            self._retried.add(symbol)
            self._queue.append(worker.task)
            return
        if sort == "found":
            self.add(Task(*content))
            return
        if sort == "kept in memory":
            store.keep_in_memory(*content)
            return
        del self._busy[connection]
        if sort == "failed":
            worker.end()
            raise KernelError(content[0])
        title, memory = content
        worker.task = None
        if memory > MAX_MEMORY:
            worker.end()
        else:
            _idle.append(worker)
        self._finished(symbol, title)

    def _finished(self, symbol: str, title: str) -> None:
        _titles.append(title)
        self.progress.done += 1
        self.progress.title = title
        self._known.discard(symbol)

    def _report(self) -> None:
        for observer in observers:
            observer(self.progress)
