"""The policy of compiled code: one set of options, no allocation in the time loop, compiled once and found again."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba import config
from numba.core.dispatcher import Dispatcher

import multibody_cli
from multibody_cli import kernel as policy
from multibody_cli import prepare
from multibody_cli.methods import METHODS

TESTS = Path(__file__).parent.parent

RUN = """
import json, sys
sys.path.insert(0, {tests!r})
from numba.core import event
from numba.core.runtime import rtsys
from machines import *
from test_integrators import mixed_tree
compiled = event.RecordingListener()  # of this process alone: others may be compiling into the same folder
event.register("numba:compile", compiled)
packed, allocations = mixed_tree(), {{}}
for name in {integrators!r}:
    method, state = packed.method(name, 1e-4), packed.fresh_state()
    method.start(state)
    counts = [rtsys.get_allocation_stats().alloc]
    for until in (0.01, 0.02, 0.20):
        method.advance(state, until)
        counts.append(rtsys.get_allocation_stats().alloc)
    allocations[name] = [after - sooner for sooner, after in zip(counts, counts[1:])]
print(json.dumps({{"new": len(compiled.buffer), "allocations": allocations}}))
"""


def dispatchers():
    """(module, name, dispatcher) of every compiled function that a module of the package defines."""
    for found in pkgutil.walk_packages(multibody_cli.__path__, "multibody_cli."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if isinstance(value, Dispatcher) and value.py_func.__module__ == found.name:
                yield found.name, name, value


def test_every_compiled_function_follows_the_one_policy():
    found = list(dispatchers())
    assert len(found) > 50
    for module, name, dispatcher in found:
        options = dispatcher.targetoptions
        assert options["error_model"] == "numpy", f"{module}.{name}"
        assert options["fastmath"] == {"contract", "nsz", "arcp"}, f"{module}.{name}: NaN must keep its meaning"
        assert options["_nrt"] is False, f"{module}.{name} could allocate"
        assert not options.get("parallel"), f"{module}.{name}"


def test_rooms_that_leave_the_cache_alone_hold_no_kernel():
    rooms = {name.removesuffix(".py") for name in policy.WITHOUT_KERNELS}
    for module, name, _ in dispatchers():
        assert module.split(".")[1] not in rooms, f"{module}.{name} would not be compiled again when it changes"


def run_in_a_process(integrators):
    script = RUN.format(tests=str(TESTS), integrators=integrators)
    path = os.pathsep.join([str(TESTS / "physics"), str(TESTS.parent)])
    environment = {**os.environ, "NUMBA_NRT_STATS": "1", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def second_process():
    """What a process finds after another one has run the same machine."""
    integrators = ["semi_implicit_euler", "rk4", "dop853"]
    run_in_a_process(integrators)
    return run_in_a_process(integrators)


def test_a_second_process_compiles_nothing(second_process):
    assert second_process["new"] == 0


def test_steps_allocate_nothing(second_process):
    """The count per call of `advance` does not grow with the steps in it: 100 steps, then 1800."""
    for name, (_, few, many) in second_process["allocations"].items():
        assert many <= few, f"{name}: {few} allocations in 100 steps, {many} in 1800"


def test_the_cache_lies_where_it_is_told_to(tmp_path, monkeypatch):
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path / "here"))
    assert policy.cache_root() == tmp_path / "here"
    monkeypatch.delenv("MBSIM_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert policy.cache_root() == tmp_path / "user" / "mbsim"
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert os.access(policy.cache_root().parent, os.W_OK)


def test_the_cache_is_named_after_the_sources():
    assert Path(config.CACHE_DIR).name == policy.source_fingerprint()


def test_whether_kernels_are_compiled_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    assert policy.kernels_are_compiled() == bool(config.DISABLE_JIT)
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "kernel.nbi").touch()
    assert policy.kernels_are_compiled()


@pytest.mark.parametrize("method", sorted(name for name, kind in METHODS.items() if kind.own_integrator))
@pytest.mark.parametrize("loops", [False, True])
def test_compiled_steps_are_looked_for_where_they_are_kept(method: str, loops: bool, tmp_path: Path) -> None:
    """Else every run would say that it compiles."""
    hinge = "{type: revolute, child: a, axis: [0, 1, 0]}"
    scene = tmp_path / "scene.yaml"
    scene.write_text(
        "mbsim: 1\nbodies: {a: {mass: 1, inertia: {principal: [1, 1, 1]}, com: [0, 0, -1]}}\n"
        f"joints: {{h: {hinge}{', again: ' + hinge if loops else ''}}}\n"
        f"simulation: {{duration: 1 s, step: 1 ms, method: {method}}}\n",
        encoding="utf-8",
    )
    simulation = prepare(scene, [])
    made: Any = simulation.method_for(simulation.fresh_state())
    steps = made._take.py_func
    assert steps.__module__.rpartition(".")[2] == simulation.integrator.kernels
    assert steps.__qualname__.startswith(f"{simulation.kernel_owner}.")
