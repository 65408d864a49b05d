"""Loading of kernels that are compiled first if they are missing, also of lazy ones from compiled code.

A call of a lazy kernel goes through a variable of the calling code that contains its address (`compiler.lazy_calls`).
Where the variable is null, the code calls `_link`.
"""

from __future__ import annotations

import ctypes
from base64 import b64decode

from multibody_cli.kernel import store
from multibody_cli.kernel.loading import (
    LINK,
    KernelError,
    address_of,
    failures,
    load,
    one_at_a_time,
    provided,
    read,
    recipes,
)
from multibody_cli.kernel.tasks import Task


def loaded(task: Task) -> str:
    """Load code, compiled first if it is missing, again if another process removes it; return its symbol."""
    for _ in range(4):
        found, absent = read([task.symbol])
        if not absent:
            load(found)
            return task.symbol
        from multibody_cli.kernel.workers import compile_all  # its libraries of processes are heavy

        compile_all([task])
    raise KernelError(f"compiled code {', '.join(absent)} is missing: it was removed while in use")


@ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p)  # type: ignore[untyped-decorator]
def _link(place: int, symbol: bytes) -> int:
    """Write the address of a lazy kernel to the variable of its caller, and return 0; 1 if this fails.

    Of the processes of a sweep, which call it at the same time, one compiles it, and the others wait.
    """
    name = symbol.decode()
    try:
        with one_at_a_time, store.lock(f"link-{name}"):
            address = address_of(loaded(Task(name, b64decode(recipes[name]))))
            ctypes.c_size_t.from_address(place).value = address
    except BaseException as error:  # also Ctrl-C: it passes through compiled code as a status
        failures.error = error
        return 1
    return 0


provided[LINK] = _link
