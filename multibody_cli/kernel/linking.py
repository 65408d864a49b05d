"""Loading of kernels that are compiled first if they are missing, also of lazy ones from compiled code.

A call of a lazy kernel goes through a variable of the calling code that contains its address (`compiler.lazy_calls`).
Where the variable is null, the code calls `_link`, and once more if it is still null.

Ctrl-C does not end a call in the middle of a step: the kernel is compiled nevertheless, and the call from Python raises
`KeyboardInterrupt` after it has returned.  A second one ends the call, as an error of the compilation does.
"""

from __future__ import annotations

import ctypes
import sys
from base64 import b64decode
from typing import Any

from multibody_cli.kernel import store
from multibody_cli.kernel.loading import (
    LINK,
    KernelError,
    address_of,
    failures,
    interrupts,
    load,
    may_compile,
    one_at_a_time,
    provided,
    read,
    recipes,
)
from multibody_cli.kernel.progress import waiting
from multibody_cli.kernel.tasks import Task

_complete_symbols: set[str] = set()
"""Symbols of code that is in the store with all lazy kernels that it may call."""


def loaded(task: Task) -> str:
    """Load code, compiled first if it is missing, again if another process removes it; return its symbol."""
    for _ in range(4):
        found, absent = read([task.symbol])
        if not absent and not may_compile():  # a run would be refused in its middle
            others, absent = read([task.symbol], everything=True, known=_complete_symbols)
            _complete_symbols.update({} if absent else others)
        if not absent:
            load(found)
            return task.symbol
        from multibody_cli.kernel.workers import compile_all  # its libraries of processes are heavy

        compile_all([task])
    raise KernelError(f"compiled code {', '.join(absent)} is missing: it was removed while in use")


def _linked(name: str) -> int:
    """Load a lazy kernel and return its address.

    Of the processes of a sweep, which call it at the same time, one compiles it, and the others wait.
    """
    task = Task(name, b64decode(recipes[name]))
    if not read([name])[1]:
        return address_of(loaded(task))
    with waiting(), store.lock(f"link-{name}"):
        return address_of(loaded(task))


def _link(place: int, symbol: bytes) -> None:
    """Write the address of a lazy kernel to the variable of its caller; leave it null if this fails."""
    try:
        with one_at_a_time:
            while "error" not in vars(failures):
                try:
                    ctypes.c_size_t.from_address(place).value = _linked(symbol.decode())
                    return
                except KeyboardInterrupt as interrupt:
                    if interrupts:
                        raise
                    interrupts.append(interrupt)
    except BaseException as error:
        failures.error = error


def _keep_interrupt(unraisable: Any, others: Any = sys.unraisablehook) -> None:
    """Keep an exception that a signal has raised before the first line of `_link`, whose caller cannot receive it."""
    if unraisable.object is _link and not interrupts:
        interrupts.append(unraisable.exc_value)
    else:
        others(unraisable)


sys.unraisablehook = _keep_interrupt
provided[LINK] = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(_link)
