"""What lets a process of the command line start and end sooner; a library must not do these to its host."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn


def collect_no_garbage() -> None:
    """Spare the collector: importing makes a hundred thousand objects that all stay, and a run makes no cycles."""
    gc.disable()


def leave(code: int) -> NoReturn:
    """End the process at once, once all is written: taking a hundred thousand objects apart would take its time."""
    sys.stderr.flush()
    os._exit(code)


def look_for_no_blas() -> None:
    """Spare numba's search for SciPy's linear algebra, a fifth of a second; no kernel uses it."""
    import numba.np.linalg

    def ensure_blas() -> None:
        raise ImportError("kernels use no linear algebra library")

    numba.np.linalg.ensure_blas = ensure_blas
