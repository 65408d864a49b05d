"""Simulations in threads: independent of each other, each in one thread at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from swing import SWING, load

import mbsim


def test_simulations_are_independent():
    """Of one scene with an expression of time, interleaved and in threads: each has the motion that it has alone."""
    scene = load(SWING, {"joints.hinge.force": "0.3*sin(5*t)*cos(3*t + 1)"})

    def controlled(sim: mbsim.Simulation, gain: float, count: int) -> None:
        for _ in range(count):
            sim.force["hinge"][:] = -gain * sim.v["hinge"]
            sim.step()

    alone = []
    for gain in (0.0, 0.1, 0.2, 0.3):
        sim = mbsim.Simulation(scene)
        controlled(sim, gain, 400)
        alone.append(sim.q["hinge"][0])
    assert len(set(alone)) == 4
    sims = [mbsim.Simulation(scene) for _ in range(4)]
    for _ in range(200):
        for k, sim in enumerate(sims):
            controlled(sim, 0.1 * k if k < 3 else 0.3, 1)
    threads = [
        threading.Thread(target=controlled, args=(sim, (0.0, 0.1, 0.2, 0.3)[k], 200)) for k, sim in enumerate(sims)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sim.q["hinge"][0] for sim in sims] == alone


STATE = """
mbsim: 1
name: state
bodies: {rod: {mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}}}
joints:
  hinge:
    type: revolute
    child: rod
    axis: [0, 1, 0]
    q: 0.5
    force: "-3*sin(q)*cos(2*t) - 0.1*v*abs(v) + 0.2*sin(t)"
simulation: {duration: 2 s, step: 0.1 ms, integrator: rk4}
"""


def test_runs_and_simulations_in_threads_share_no_scratch():
    """Long calls of compiled code at the same time, with forces that are programs of state and time."""
    scene = mbsim.load(STATE)
    alone, found = mbsim.Simulation(scene), {}
    alone.step(20_000)
    whole = scene.run()["joints/hinge/q"].values

    def advance(k: int) -> None:
        sim = mbsim.Simulation(scene)
        for _ in range(4):
            sim.step(5_000)
        found[k] = sim.q["hinge"][0]

    def complete(k: int) -> None:
        found[k] = scene.run()["joints/hinge/q"].values

    threads = [threading.Thread(target=advance if k < 4 else complete, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[k] for k in range(4)] == [alone.q["hinge"][0]] * 4
    assert all(np.array_equal(found[k], whole) for k in range(4, 8))


@pytest.mark.parametrize(("integrator", "slow"), [("rk4", "step"), ("dop853", "advance")])
def test_a_simulation_that_steps_in_another_thread_is_refused(integrator, slow, monkeypatch):
    sim = mbsim.Simulation(load(SWING, {"simulation.integrator": integrator}))
    data, inside, go = sim.save(), threading.Event(), threading.Event()
    quick = getattr(sim._method, slow)

    def wait(*arguments):
        inside.set()
        go.wait(60)
        return quick(*arguments)

    monkeypatch.setattr(sim._method, slow, wait)
    thread = threading.Thread(target=sim.advance, args=(0.001,))
    thread.start()
    inside.wait(60)
    for call in (
        sim.step,
        lambda: sim.advance(0.002),
        sim.save,
        sim.reset,
        lambda: sim.restore(data),
        lambda: sim.channel("energy/total"),
    ):
        with pytest.raises(mbsim.ArgumentError, match="is stepping in another thread"):
            call()
    go.set()
    thread.join()
    sim.advance(0.002)
    assert sim.time == 0.002


def test_threads_may_load_code_at_the_same_time():
    """In a process whose first kernels are loaded by six threads at once."""
    code = (
        "import threading, mbsim\n"
        f"scene = mbsim.load({STATE!r})\n"
        "threads = [threading.Thread(target=lambda: mbsim.Simulation(scene).step(10)) for _ in range(6)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(3):
        subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=300)
