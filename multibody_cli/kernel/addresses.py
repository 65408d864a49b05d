"""A range of addresses for code beside the libraries of a process.

LLVM's loader maps the instructions and the constants of an object one by one, and their relative addresses reach 2 GiB.
Linux puts a mapping into the highest gap in which it fits: beside the libraries if it is small, otherwise below all
arrays of the process, which may be larger than that in the meantime.  The loader would abort the process.  From the
first load on, a process therefore keeps a range that is free during loads only, and which is the highest gap then.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SIZE = 1 << 28
"""Size of the range, byte; the kernels of a run take some 10 MB."""

STEP = 1 << 20
"""Part of the range, byte, that it is shortened by at a time where code has taken its end."""

NO_ACCESS, IN_PLACE, FAILED = 0, 0x100000, ctypes.c_void_p(-1).value
"""`PROT_NONE`, `MAP_FIXED_NOREPLACE`, and `MAP_FAILED` of Linux."""

_kept: list[tuple[int, int]] = []
"""Address and size of the range, if there is one."""


@contextmanager
def addresses_for_code() -> Iterator[None]:
    """Free the range while code is loaded."""
    if sys.platform != "linux":
        yield
        return
    system = ctypes.CDLL(None)
    system.mmap.restype = ctypes.c_void_p
    system.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    system.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    start, size = _kept.pop() if _kept else (_map(system, 0, SIZE), SIZE)
    if start:
        system.munmap(start, size)
    try:
        yield
    finally:
        while start and size > 0 and not _map(system, start, size):
            size -= STEP
        if start and size > 0:
            _kept.append((start, size))


def _map(system: ctypes.CDLL, start: int, size: int) -> int:
    """Map a range without memory and return its address; 0 if it is not free; `start` 0 is any address."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (IN_PLACE if start else 0)
    found = system.mmap(start or None, size, NO_ACCESS, flags, -1, 0)
    if found in (None, FAILED):
        return 0
    if start not in (0, found):  # a kernel before 4.17
        system.munmap(found, size)
        return 0
    return int(found)
