"""Several output instants in one call of compiled code: the same bytes as one at a time, and short calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes import NullSink

from multibody_cli import timeline
from multibody_cli.methods.contract import Report
from multibody_cli.methods.method import Method
from multibody_cli.output.hdf5 import Hdf5Sink
from multibody_cli.output.sink import Outcome
from multibody_cli.studies.simulation import PreparedSimulation, prepare

pytestmark = pytest.mark.compiled

SCENES = Path(__file__).parents[2] / "scenes"
CHAIN = (SCENES / "bench" / "chain.yaml", "vars.n=5", "output.every=3 ms", "simulation.duration=1.2 s")
SHORT_BLOCKS = (SCENES / "bench" / "chain.yaml", "vars.n=2", "output.every=1 ms", "simulation.duration=4.3 s")
RUNS: dict[str, tuple[Any, ...]] = {
    "tree": CHAIN,
    "many blocks": SHORT_BLOCKS,
    "fourth order": (*CHAIN, "simulation.integrator=rk4"),
    "implicit steps": (*CHAIN, "simulation.integrator=sdirk2"),
    "generated code": (*CHAIN, "simulation.method=symbolic"),
    "dense": (*CHAIN, "simulation.method=redmax"),
    "balls": (*CHAIN, "vars.joint=spherical"),
    "compressed": (*CHAIN, "output.compression=gzip"),
    "closed loops": (SCENES / "bench" / "ladder.yaml", "output.every=2 ms"),
    "couplings": (SCENES / "gallery" / "couplings.yaml",),
    "prescribed motion": (SCENES / "gallery" / "hybrid_dynamics.yaml",),
    "a run that diverges": (CHAIN[0], "vars.n=20", "simulation.step=0.1", "simulation.duration=10", "output.every=0.1"),
}
ALONE: dict[str, tuple[Any, ...]] = {
    "contacts": (SCENES / "gallery" / "falling_boxes.yaml", "simulation.duration=0.1"),
    "sampled controllers": (SCENES / "gallery" / "pid_control.yaml", "simulation.duration=1"),
    "adaptive steps": (*CHAIN, "simulation.integrator=dop853"),
    "domains of joints": (SCENES / "gallery" / "curve_joint.yaml",),
    "variational steps": (*CHAIN, "simulation.method=variational"),
    "implicit forces": (SCENES / "gallery" / "stiff_spring.yaml",),
}
"""Runs that need Python at each instant."""


class Calls:
    """Number of output instants of each call of compiled code that passes several."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.counts: list[int] = []
        record = timeline.Driver._record

        def noted(driver: timeline.Driver, count: int) -> tuple[int, Report]:
            self.counts.append(count)
            return record(driver, count)

        patch.setattr(timeline.Driver, "_record", noted)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def result_of(simulation: PreparedSimulation, path: Path) -> tuple[bytes, Outcome]:
    output = simulation.scene.output
    summary = simulation.run(Hdf5Sink(path, output.channels, output.compression, force=True))
    return path.read_bytes(), summary.outcome


@pytest.mark.parametrize("name", RUNS)
def test_bytes_do_not_depend_on_the_instants_of_a_call(
    name: str, tmp_path: Path, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, *overrides = RUNS[name]
    simulation = prepare(scene, overrides)
    many = result_of(simulation, tmp_path / "run.h5")
    assert max(calls.counts) > 4
    monkeypatch.setattr(timeline, "INSTANTS_AT_ONCE", 3)
    assert result_of(simulation, tmp_path / "run.h5") == many
    calls.counts.clear()
    monkeypatch.setattr(timeline, "INSTANTS_AT_ONCE", 0)
    assert result_of(simulation, tmp_path / "run.h5") == many
    assert not calls.counts


class Late(NullSink):
    """Reads each block when it receives the next one, as a sink that writes in the background may do."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._block: Any = None

    def write(self, samples: Any, count: int) -> None:
        self._read()
        self._block = samples, count

    def close(self, outcome: Outcome | None) -> None:
        self._read()

    def _read(self) -> None:
        if self._block is not None:
            samples, count = self._block
            self.times += samples.time[:count].tolist()


@pytest.mark.parametrize("name", ["many blocks", "contacts"])
def test_a_block_remains_unchanged_until_the_next_one(name: str) -> None:
    scene, *overrides = {**RUNS, **ALONE}[name]
    simulation = prepare(scene, [*overrides, "output.every=1 ms"] if name == "contacts" else overrides)
    late = Late()
    summary = simulation.run(late)
    every = simulation.compiled.timing.every
    assert late.times == pytest.approx([k * every for k in range(summary.instants)], abs=1e-9)
    assert summary.instants > 1000 or name == "contacts"


@pytest.mark.parametrize("name", ALONE)
def test_runs_that_need_python_pass_one_instant_at_a_time(name: str, calls: Calls) -> None:
    scene, *overrides = ALONE[name]
    prepare(scene, overrides).run(NullSink())
    assert not calls.counts


def test_a_run_that_diverges_within_a_call_keeps_its_valid_instants(tmp_path: Path, calls: Calls) -> None:
    scene, *overrides = RUNS["a run that diverges"]
    simulation = prepare(scene, overrides)
    summary = simulation.run(NullSink())
    last = summary.instants - 1
    assert summary.outcome.status == "diverged"
    assert last > sum(calls.counts[:-1]) + 1  # the last call passed an instant before the step that failed
    assert summary.reached == pytest.approx(0.1 * last)
    assert f"step {last + 1} " in summary.outcome.message
    assert f"last valid output at t = {summary.reached:.9g} s" in summary.outcome.message


def test_slow_calls_become_shorter(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which an instant takes 0.03 s: a call lasts for at most 0.2 s, in which a signal must be answered."""
    now = [0.0]
    record = timeline.Driver._record

    def slow(driver: timeline.Driver, count: int) -> tuple[int, Report]:
        now[0] += 0.03 * count
        return record(driver, count)

    monkeypatch.setattr(timeline.Driver, "_record", slow)
    monkeypatch.setattr("multibody_cli.timeline.clock.monotonic", lambda: now[0])
    scene, *overrides = CHAIN
    prepare(scene, overrides).run(NullSink())
    assert calls.counts
    assert max(calls.counts[3:]) * 0.03 <= 0.2


def test_slow_intervals_are_divided_after_many_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which a step takes 1 s from 0.05 s on: two calls have several steps, in which no signal is answered.

    Runs with contacts pass one output instant at a time; intervals before 0.05 s are short.
    """
    now, advance = [0.0], Method.advance
    steps_of_slow_calls: list[int] = []

    def slow(method: Method, state: Any, until: float) -> Report:
        if state.time[0] > 0.0499:
            steps_of_slow_calls.append(round((until - float(state.time[0])) / 1e-3))
            now[0] += steps_of_slow_calls[-1]
        return advance(method, state, until)

    monkeypatch.setattr(Method, "advance", slow)
    monkeypatch.setattr("multibody_cli.timeline.clock.monotonic", lambda: now[0])
    scene, *overrides = ALONE["contacts"]
    prepare(scene, [*overrides, "output.every=5 ms", "simulation.step=1 ms"]).run(NullSink())
    assert sum(steps_of_slow_calls) == 50
    assert steps_of_slow_calls[2:] == [1] * (len(steps_of_slow_calls) - 2)
