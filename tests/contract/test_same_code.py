"""What a kernel gives does not depend on how its code came into the process: compiled or found, before others or after.

The kernels are those of the best separating axis of two boxes, the smallest that hold copies of others which round in a
way of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba import config

ROOT = Path(__file__).parents[2]

RUN = """
import json, sys
import numpy as np
from multibody_cli.contacts.placing import Shape
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
    (code,) = [form.library._final_module for form in best_axes._entry.overloads.values()]
    functions = {}
    for function in code.functions:
        if not function.is_declaration:
            functions[function.name] = function.linkage.name
    print(json.dumps([numbers.tobytes().hex(), functions]))
"""


def run(cache, *what):
    """Call kernels in a process of their own; what the caller gave, and the functions in its code, if compiled here."""
    environment = {**os.environ, "MBSIM_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", RUN, *what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout) if "caller" in what else None


pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A cache, and what the process gave that filled it."""
    cache = tmp_path_factory.mktemp("kernels")
    return cache, *run(cache, "caller")


def test_code_that_was_found_gives_the_same_bytes_as_in_the_process_that_compiled_it(compiled):
    cache, numbers, _ = compiled
    again, functions = run(cache, "caller")
    assert not functions, "compiled again"
    assert again == numbers


def test_code_that_came_before_changes_nothing(compiled):
    cache, numbers, _ = compiled
    run(cache, "callees")
    assert run(cache, "callees", "caller")[0] == numbers


def test_the_order_of_compiling_changes_nothing(compiled, tmp_path):
    run(tmp_path, "callees")
    numbers, functions = run(tmp_path, "caller")
    assert functions
    assert numbers == compiled[1]


def test_copies_of_other_kernels_are_hidden(compiled):
    """Whether copies round differently is up to the processor; that nobody else can call them is not."""
    _, _, functions = compiled
    copies = {name: linkage for name, linkage in functions.items() if "_best_" in name}
    assert copies
    assert set(copies.values()) == {"internal"}
    public = [name for name, linkage in functions.items() if linkage != "internal" and "multibody_cli" in name]
    assert public
    assert all("best_axes" in name for name in public)
