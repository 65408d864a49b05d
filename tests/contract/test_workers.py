"""Worker processes that compile kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

MODULE = """
import numpy as np
from multibody_cli.kernel import kernel

@kernel
def double(x):
    for i in range(len(x)):
        x[i] *= 2.0

VALUES = np.ones(3)
double(VALUES)
"""
"""A module that calls its kernel when it is imported, as a worker imports it to compile the kernel."""


def test_a_worker_starts_no_workers(tmp_path: Path) -> None:
    (tmp_path / "calls.py").write_text(MODULE, encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        "MBSIM_CACHE_DIR": str(tmp_path / "cache"),
        "NUMBA_DISABLE_JIT": "0",
    }
    run = subprocess.run(
        [sys.executable, "-c", "import calls"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 1
    assert 'call them below `if __name__ == "__main__":`' in run.stderr
