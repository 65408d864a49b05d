"""What lets a process of the command line start and end sooner; a library must not do these to its host."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn


def collect_no_garbage() -> None:
    """Spare the collector: importing makes a hundred thousand objects that all stay, and a run makes no cycles."""
    gc.disable()


def look_for_no_plugins() -> None:
    """Spare pydantic's search through all installed packages for plugins of its own."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def use_one_blas_thread() -> None:
    """Keep the linear algebra of NumPy on one thread: the results do not depend on the number of cores.

    The matrices of a scene are small, and the threads take 0.1 s of processor time to start.
    """
    for library in ("OPENBLAS", "MKL", "OMP"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def leave(code: int) -> NoReturn:
    """End the process at once, once all is written: taking a hundred thousand objects apart would take its time."""
    sys.stderr.flush()
    os._exit(code)
