"""Tests of `plain/`, in a process of their own that compiles nothing.

Each of their scenes would bind kernels of its own, a minute of compiling; some steps in plain Python take a moment.
That the same kernels compile is seen by the scenes of the gallery.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = sorted(path.name for path in (TESTS / "plain").glob("*.py"))


def test_there_are_some():
    assert len(FILES) >= 4


@pytest.mark.parametrize("name", FILES)
def test_file(name):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(TESTS / "plain" / name)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
