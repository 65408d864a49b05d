"""Results do not depend on whether code was compiled or loaded, and a damaged cache is repaired."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from multibody_cli.kernel import is_interpreted, store

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(is_interpreted(), reason="nothing is compiled")

RUN = """
import json, sys
import numpy as np
from multibody_cli.contacts.shapes.switch import Shape
from multibody_cli.contacts.shapes.separation import _best_edges, _best_face, best_axes
from multibody_cli.spatial.values import Mat3, Vec3

generator = np.random.default_rng(1)

def box():
    rows, _ = np.linalg.qr(generator.normal(size=(3, 3)))
    return Shape(Vec3(*generator.uniform(-0.1, 0.1, 3)), Mat3(*(Vec3(*row) for row in rows)), Vec3(0.1, 0.075, 0.05))

pairs = [(box(), box()) for _ in range(1000)]
if "callees" in sys.argv:
    a, b = pairs[0]
    _best_edges(a, b, b.x, _best_face(a, b, b.x, 1.0), 1.0)
if "caller" in sys.argv:
    numbers = np.array([[(*axis.normal, axis.separation) for axis in best_axes(a, b, 1.0)] for a, b in pairs])
    print(json.dumps(numbers.tobytes().hex()))
"""


def start(cache, *words, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *words],
        # one process to compile: each begins with the import of numba, which takes as long as these kernels
        env={**os.environ, "MBSIM_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT), "MBSIM_JOBS": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(cache, *words, **environment):
    """Call kernels in a process of their own; return the numbers of `best_axes`, and the warnings."""
    process = start(cache, *words, **environment)
    out, stderr = process.communicate()
    assert process.returncode == 0, stderr[-2000:]
    return (json.loads(out) if "caller" in words else None), stderr


def files_in(cache):
    return sorted(path for path in cache.rglob("*") if path.is_file() and path.parent.name != "locks")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A cache, and the numbers of the process that filled it."""
    cache = tmp_path_factory.mktemp("kernels")
    return cache, run(cache, "caller")[0]


def test_cached_code_and_new_code_return_the_same_bytes(compiled):
    cache, numbers = compiled
    before = {path: path.stat().st_mtime_ns for path in files_in(cache)}
    assert run(cache, "caller") == (numbers, "")
    assert {path: path.stat().st_mtime_ns for path in files_in(cache)} == before, "compiled again"


def test_code_does_not_depend_on_the_order_of_compilation(compiled, tmp_path):
    run(tmp_path, "callees")
    assert run(tmp_path, "caller")[0] == compiled[1]
    assert {path.name for path in files_in(compiled[0])} <= {path.name for path in files_in(tmp_path)}


def test_code_does_not_depend_on_the_number_of_processes(compiled, tmp_path):
    assert run(tmp_path, "caller", MBSIM_JOBS="2")[0] == compiled[1]


HOLD = """
import time
from multibody_cli.kernel import store

with store.lock("k1"):
    print("held", flush=True)
    time.sleep(1)
"""


def test_one_process_compiles_while_another_waits(tmp_path, monkeypatch):
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    began = time.monotonic()
    with store.lock("k2"):
        assert time.monotonic() - began < 0.5
    with store.lock("k1"):
        assert time.monotonic() - began > 0.5
    process.communicate()


def test_two_processes_at_once_agree(compiled, tmp_path):
    both = [start(tmp_path, "caller") for _ in range(2)]
    found = [process.communicate() for process in both]
    assert [json.loads(out) for out, _ in found] == [compiled[1]] * 2
    assert [stderr for _, stderr in found] == ["", ""]


@pytest.mark.parametrize("damage", ["truncated", "exchanged", "foreign", "empty"])
def test_damaged_files_are_compiled_again_with_one_warning(damage, compiled, tmp_path):
    cache, numbers = compiled
    shutil.copytree(cache, tmp_path, dirs_exist_ok=True)
    places = files_in(tmp_path)
    for k, place in enumerate(places):
        content = {
            "truncated": place.read_bytes()[:-40],
            "exchanged": places[k - 1].read_bytes(),
            "foreign": b"something else",
            "empty": b"",
        }[damage]
        if damage != "exchanged" or k:
            place.write_bytes(content)
    again, stderr = run(tmp_path, "caller")
    assert again == numbers
    assert len(re.findall("CacheWarning: .*: compiled code is damaged", stderr)) == 1
    assert run(tmp_path, "caller") == (numbers, "")


def test_any_single_file_that_is_missing_is_compiled_again(compiled, tmp_path):
    cache, numbers = compiled
    shutil.copytree(cache, tmp_path, dirs_exist_ok=True)
    places = files_in(tmp_path)
    formulas = [place for place in places if place.name[0] == "f"]
    for place in [*formulas[:2], *(place for place in places if place.name[0] != "f")]:
        place.unlink()
        assert run(tmp_path, "caller") == (numbers, "")
    for place in places:  # a formula that is gone, with all that contains it
        if place.name[0] in "ek" or place == formulas[0]:
            place.unlink(missing_ok=True)
    assert run(tmp_path, "caller") == (numbers, "")


def test_settings_of_numba_do_not_reach_the_code(compiled, tmp_path):
    run(tmp_path, "caller", NUMBA_BOUNDSCHECK="1")
    own = {path.name: path.read_bytes() for path in files_in(compiled[0]) if path.name[0] in "ek"}
    assert {path.name: path.read_bytes() for path in files_in(tmp_path) if path.name[0] in "ek"} == own


@pytest.mark.skipif(sys.platform == "win32", reason="no kill")
def test_processes_that_are_killed_leave_nothing_broken(compiled, tmp_path):
    for k in range(4):
        process = start(tmp_path, "caller")
        time.sleep(0.8 + 0.4 * k)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert run(tmp_path, "caller") == (compiled[1], "")


def test_a_cache_that_cannot_be_written_costs_one_warning(compiled, tmp_path):
    """A file stands where the folder would be: as on a full or a read-only disk, nothing can be kept."""
    (tmp_path / "cache").write_text("no folder")
    again, stderr = run(tmp_path / "cache", "caller")
    assert again == compiled[1]
    assert len(re.findall("CacheWarning: .*: compiled code cannot be kept", stderr)) == 1
