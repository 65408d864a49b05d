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
