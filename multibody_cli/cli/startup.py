"""Settings of the process that shorten startup and exit; only the command line applies them."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn


def disable_garbage_collection() -> None:
    """Disable garbage collection: imported objects persist, and a run creates no reference cycles."""
    gc.disable()


def disable_pydantic_plugins() -> None:
    """Disable pydantic's search for plugins among the installed packages."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def use_one_blas_thread() -> None:
    """Restrict the linear algebra of NumPy to one thread, so that results do not depend on the number of cores.

    The matrices of a scene are small, and starting the threads takes 0.1 s of processor time.
    """
    for library in ("OPENBLAS", "MKL", "OMP"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def exit_immediately(code: int) -> NoReturn:
    """Exit the process immediately after flushing stderr, without the cost of destroying all objects."""
    sys.stderr.flush()
    os._exit(code)
