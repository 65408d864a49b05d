"""Progress of compilation, for observers such as a progress bar, and the time that it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class CompilationProgress:
    """Progress of compilation.

    `done` functions of `known` ones are compiled; callees become known during it.  `title` names the last one.
    """

    done: int = 0
    known: int = 0
    title: str = ""


observers: list[Callable[[CompilationProgress], None]] = []
"""Functions that are called at each change of progress."""

_waited, _depth = [0.0], [0]
"""Seconds for which this process has waited for compilation, and the number of `waiting` statements that it is in."""


@contextmanager
def waiting() -> Iterator[None]:
    """Exclude the time inside a `with` statement from `seconds`."""
    began = time.perf_counter()
    _depth[0] += 1
    try:
        yield
    finally:
        _depth[0] -= 1
        if _depth[0] == 0:
            _waited[0] += time.perf_counter() - began


def seconds() -> float:
    """Return the time of `time.perf_counter`, s, without that of compilation."""
    return time.perf_counter() - _waited[0]
