"""Description of the machine of a benchmark."""

from __future__ import annotations

import os
import platform
from typing import Any

import llvmlite
import numpy as np

from multibody_cli.kernel.target import architecture


def describe_machine() -> dict[str, Any]:
    """Return a description of the machine."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "llvmlite": llvmlite.__version__,
        "target": architecture(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
