"""One compilation task, and the main loop of a worker process: the other end of `workers`."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import traceback
import warnings
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from llvmlite.binding import ffi

from multibody_cli.kernel import store
from multibody_cli.kernel.compiler.entries import compile_entry, compile_generated
from multibody_cli.kernel.compiler.pipeline import compile_unit
from multibody_cli.kernel.compiler.units import CompilationUnit, compiling_in, unit_of
from multibody_cli.kernel.loading import KernelError
from multibody_cli.kernel.store import Code
from multibody_cli.kernel.tasks import Task, entry_task, generated_task


def serve() -> None:
    """Compile until the connection, whose file descriptor is the first argument, is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    warnings.simplefilter("ignore")
    ffi.lib._lock._cblist.clear()  # this process does not use LLVM's lock callbacks
    gc.freeze()  # collections pass over numba itself, which takes an eighth of the time of compilation,
    gc.set_threshold(500_000, 1000, 1000)  # and over code compiled before, which takes a tenth
    connection = Connection(int(sys.argv[1]))
    while True:
        try:
            symbol, recipe = connection.recv()
        except (EOFError, OSError):
            return
        try:
            title = compile_one(
                symbol, recipe, lambda task: connection.send(("found", task.symbol, task.how)), connection
            )
            connection.send(("done", title, _memory()))
        except BrokenPipeError:
            return
        except Exception as error:
            text = " ".join(str(error).split())
            if os.environ.get("MBSIM_DEBUG"):
                traceback.print_exc()
            with suppress(OSError):
                connection.send(("failed", f"a kernel cannot be compiled: {type(error).__name__}: {text[:2000]}"))


def _memory() -> float:
    """Return the resident memory of this process in bytes."""
    with suppress(OSError):
        return float(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


class _Session:
    """The session of one task: it reports called kernels as tasks, and sends code that it could not write."""

    def __init__(self, found: Callable[[Task], None], parent: Connection | None) -> None:
        self._found, self._parent = found, parent
        self._reported: set[str] = set()

    def compile(self, unit: CompilationUnit) -> Code:
        """Compile a unit and store its code."""
        return self.keep(compile_unit(unit))

    def calls(self, unit: CompilationUnit) -> None:
        """Report a kernel, once."""
        if unit.symbol not in self._reported:
            self._reported.add(unit.symbol)
            self._found(Task(unit.symbol, unit.recipe or ("unit", unit.function, unit.arguments)))

    def keep(self, code: Code) -> Code:
        """Store code, and send it to the parent if it could not be written.

        Code that calls a function which only this process can compile is of no use to other processes.
        """
        if not all(code.recipes):
            store.keep_here(code)
        elif not store.keep(code) and self._parent is not None and code.symbol[0] != "f":
            self._parent.send(("kept in memory", code, store.trouble[-1]))
        return code


def compile_one(
    symbol: str, how: tuple[Any, ...] | bytes, found: Callable[[Task], None], parent: Connection | None = None
) -> str:
    """Compile a task and store its code; return a title for display.

    Parameters
    ----------
    symbol, how
        The task.
    found
        Called with each kernel that it calls, which may have to be compiled as well.
    parent
        Connection to the process that requested it.

    Raises
    ------
    KernelError
        If the source does not match the symbol: it has changed since a process imported it.
    """
    session = _Session(found, parent)
    with compiling_in(session):
        match pickle.loads(zlib.decompress(how)) if isinstance(how, bytes) else how:
            case "unit", kernel, types:
                unit = unit_of(kernel, types)
                _agree(unit.symbol, symbol, kernel.full_name)
                unit.compiled()
                return str(kernel.full_name)
            case "entry", kernel, kinds:
                task, title = entry_task(kernel, kinds), str(kernel.full_name)
                compiled = partial(compile_entry, symbol, kernel, kinds)
            case "generated", title, arguments, write:
                task = generated_task(title, arguments, write)
                compiled = partial(compile_generated, symbol, title, arguments, write)
        _agree(task.symbol, symbol, title)
        with store.lock(symbol):
            if store.find(symbol) is None:
                session.keep(compiled())
    return title


def _agree(found: str, wanted: str, title: str) -> None:
    if found != wanted:
        raise KernelError(f"the source of {title} has changed since this process began: start it again")
