"""Threads that solve islands at the same time: the same bits for any number, and none is left behind."""

from __future__ import annotations

import gc
import threading
import time
import warnings

import numpy as np
import pytest

import mbsim
from multibody_cli.contact_solver import solution
from multibody_cli.contact_solver.team import await_team, post
from multibody_cli.contact_solver.threads import BODIES_PER_THREAD, THREAD_NAME, at_most_threads
from multibody_cli.kernel import bound_kernel

HEAD = "mbsim: 1\nname: towers\nworld: {shapes: [{type: plane}]}\ncontacts: {friction: 0.5}\nbodies:\n"
TOWERS, LEVELS = 12, 4


def scene(method: str, *settings: str) -> mbsim.Scene:
    """Towers of boxes of different heights that slide and topple, each an island, and some islands that merge."""
    box = "shapes: [{type: box, size: [0.2, 0.2, 0.2], density: 500}]"
    boxes = [
        f"  b{i}_{j}: {{{box}, position: [{0.25 * i}, {0.02 * j}, {0.1 + 0.201 * j}], "
        f"velocity: {{linear: [{0.3 * (i % 3)}, 0, 0], angular: [0, 0, {i}]}}}}\n"
        for i in range(TOWERS)
        for j in range(1 + i % LEVELS)
    ]
    timing = f"simulation: {{method: {method}, duration: 0.4 s, step: 2 ms}}\n"
    return mbsim.load(HEAD + "".join(boxes) + timing, [*settings])


earlier: set[threading.Thread] = set()
"""Threads of simulations that other tests keep."""


@pytest.fixture(autouse=True)
def alone():
    gc.collect()
    earlier.update(threading.enumerate())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbsim.SceneWarning)
        yield
    earlier.clear()


def wait_until_serving(count: int) -> None:
    """Wait until so many threads serve the teams of this test: those of a collected simulation end in a moment."""
    gc.collect()
    wait_for(lambda: sum(one.name == THREAD_NAME for one in threading.enumerate() if one not in earlier) == count)


def end_state(monkeypatch, threads: int, end: float, method: str, *settings: str) -> np.ndarray:
    monkeypatch.setenv("MBSIM_JOBS", str(threads))
    sim = mbsim.Simulation(scene(method, *settings))
    wait_until_serving(threads - 1)
    sim.advance(until=end)
    return np.concatenate([sim._state.q, sim._state.v, sim._state.ledger])


@pytest.mark.parametrize(
    ("end", "method", "settings"),
    [
        (0.4, "aba", ()),
        (0.4, "baraff", ()),
        (0.4, "variational", ()),
        (0.006, "aba", ("contacts.method=staggered_projections",)),
    ],
)
def test_the_bits_do_not_depend_on_the_number_of_threads(monkeypatch, end, method, settings):
    one = end_state(monkeypatch, 1, end, method, *settings)
    for threads in (2, 3):
        np.testing.assert_array_equal(end_state(monkeypatch, threads, end, method, *settings), one)


def wait_for(condition) -> None:
    deadline = time.monotonic() + 10.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(1e-3)


@pytest.mark.parametrize("settings", [(), ("contacts.method=staggered_projections",)])
def test_an_island_uses_nothing_of_the_islands_before(monkeypatch, settings):
    monkeypatch.setenv("MBSIM_JOBS", "1")
    ends = []
    for soiled in (False, True):
        sim = mbsim.Simulation(scene("aba", *settings))
        for _ in range(6):
            sim.step()
            if soiled:
                soil(sim._method.contact_work.island)
        ends.append(sim._memory.tobytes())
    assert ends[0] == ends[1]


def soil(arrays) -> None:
    """Overwrite the numbers of work arrays, but not constants, which are infinite."""
    for array in arrays:
        if isinstance(array, tuple):
            soil(array)
        elif array.dtype.kind == "f" and not np.isinf(array).any():
            array.fill(np.nan)


def posed(threads: int, monkeypatch):
    """Return a simulation, the work arrays of its last step without impulses, and the number of their islands."""
    monkeypatch.setenv("MBSIM_JOBS", str(threads))
    sim = mbsim.Simulation(scene("aba"))
    sim.advance(until=0.1)
    work, boxes = sim._method.contact_work, len(sim._model.names.bodies)
    work.x[:] = 0.0
    work.converged[:] = 0
    return sim, work, int(work.groups.island_number[:boxes].max()) + 1


def test_threads_alone_solve_islands_and_end_with_their_simulation(monkeypatch):
    sim, expected, count = posed(1, monkeypatch)
    solve = bound_kernel(solution.solve_impulses, solve_island=solution.SOLVERS[False])
    solve(sim._model.system.contacts.options, expected, 0, 0, count)
    sim, work, islands = posed(3, monkeypatch)
    assert islands == count >= 3
    post(work.team, count, work.groups.first_row, 0, 0)
    await_team(work.team)  # none is taken yet: it releases the mutex
    wait_for(lambda: work.team.next[0] >= count and work.team.solving[0] == 0)
    assert np.abs(expected.x).max() > 0.0
    np.testing.assert_array_equal(work.x, expected.x)
    wait_until_serving(2)
    del sim
    wait_until_serving(0)


def test_threads_still_serve_after_a_state_is_restored(monkeypatch):
    """A state does not contain the team: the conditions of another process would never wake the threads of this one."""
    sims = []
    for threads in (1, 3):
        monkeypatch.setenv("MBSIM_JOBS", str(threads))
        sims.append(mbsim.Simulation(scene("aba")))
        sims[-1].advance(until=0.1)
    sims[1].restore(sims[0].save())
    for sim in sims:
        sim.advance(until=0.2)
    np.testing.assert_array_equal(sims[1]._memory, sims[0]._memory)
    del sim, sims
    wait_until_serving(0)


def test_one_thread_steps_a_few_bodies(monkeypatch):
    monkeypatch.setenv("MBSIM_JOBS", "4")
    few = BODIES_PER_THREAD // 2
    boxes = "".join(
        f"  b{i}: {{shapes: [{{type: sphere, radius: 0.1, density: 500}}], position: [{i}, 0, 0.1]}}\n"
        for i in range(few)
    )
    sim = mbsim.Simulation(mbsim.load(HEAD + boxes + "simulation: {duration: 0.1 s, step: 2 ms}\n"))
    sim.step()
    assert sim._method.contact_work.groups.island_number[:few].max() == few - 1
    wait_until_serving(0)


def test_the_number_of_threads_is_limited_where_runs_share_the_cores(monkeypatch):
    monkeypatch.setenv("MBSIM_JOBS", "3")
    with at_most_threads(1):
        sim = mbsim.Simulation(scene("aba"))
        wait_until_serving(0)
        sim.step()
    with at_most_threads(2):
        sim = mbsim.Simulation(scene("aba"))
    wait_until_serving(1)
