"""Mode of execution: compiled kernels or plain Python."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_modes = [os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")]


def is_interpreted() -> bool:
    """Return whether kernels run as plain Python."""
    return _modes[-1]


@contextmanager
def interpreted(wanted: bool = True) -> Iterator[None]:
    """Run kernels as plain Python inside a `with` statement.

    Work arrays must be allocated inside it as well: plain Python accesses fields of records as attributes.
    """
    _modes.append(wanted)
    try:
        yield
    finally:
        _modes.pop()
