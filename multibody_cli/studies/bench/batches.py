"""Many whole runs together, beside single runs and the batches of peers.

The programs take turns, one block of each per round; the ratio of a round compares blocks of the same moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from multibody_cli.kernel.workers import cores
from multibody_cli.lanes.batch import LaneRuns, run_in_lanes, supported
from multibody_cli.lanes.program import compile_program
from multibody_cli.lanes.schemes import SCHEMES
from multibody_cli.peers import PEERS
from multibody_cli.peers.contract import Peer
from multibody_cli.peers.mechanism import mechanism_of
from multibody_cli.studies.bench.measurement import take_steps
from multibody_cli.studies.bench.options import Setup
from multibody_cli.studies.bench.timing import WallTime, costs_in_turn, long_enough, median_ratio, timing_of
from multibody_cli.studies.simulation import PreparedSimulation

SHORTEST_BATCH = 0.2
"""Duration from which a block of single runs or of a peer is not made longer, s."""

BATCH = "batch"

SCATTER = 0.01
"""Standard deviation of the initial velocities from those of the scene."""


class Other(NamedTuple):
    """Cost of a step in another program, s, and the median of its ratios to that of the batch."""

    timing: WallTime
    ratio: float


class BatchMeasurement(Setup):
    """Batches of one scene.

    Parameters
    ----------
    runs, steps, threads
        Number of runs, of steps of each, and of threads.
    in_lanes
        How many runs were made in lanes.
    reason
        The features that lanes do not support; empty if they support the scene.
    batch
        Cost of a step of a run, s: the wall time of the batch over the number of all steps.
    single
        The same for runs of the scene's method one after the other, on one thread, without their preparation.
    peers
        The same for peers that can make batches, by their names.
    """

    runs: int
    steps: int
    threads: int
    in_lanes: int
    reason: str
    batch: WallTime
    single: Other
    peers: Mapping[str, Other]


def measure_batch(
    simulation: PreparedSimulation, count: int, against: Sequence[str], repeat: int, setup: Setup
) -> BatchMeasurement:
    """Time `count` runs of a scene with scattered initial velocities; the final states are kept.

    Parameters
    ----------
    simulation
        The scene.
    count
        Number of runs.
    against
        Names of peers that support the scene; those that cannot make batches are left out.
    repeat
        Number of rounds.
    setup
        Its `Setup`.
    """
    runs, threads = _scattered(simulation, count), cores()
    steps = int(runs.instants[-1])
    reason = supported(runs.models, runs.integrator, runs.end) or ""
    in_lanes = np.zeros(count, np.bool_)

    def together() -> float:
        began = time.perf_counter()
        if not reason:
            program = compile_program(runs.models, SCHEMES[runs.integrator])
            in_lanes[:] = run_in_lanes(runs, program, threads).in_lanes
        for v in runs.v[~in_lanes]:
            take_steps(simulation.with_compiled(state=simulation.compiled.state._replace(v=v)), steps)
        return time.perf_counter() - began

    others = _peers(simulation, against, steps, threads)
    others[""] = lambda number: sum(take_steps(simulation, steps).seconds for _ in range(number))
    numbers = {name: long_enough(block, cores(), count, SHORTEST_BATCH) for name, block in others.items()}
    together()  # compiles

    def cost(name: str) -> float:
        seconds, number = (together(), count) if name == BATCH else (others[name](numbers[name]), numbers[name])
        return seconds / (number * steps)

    theirs = costs_in_turn({name: partial(cost, name) for name in (BATCH, *others)}, repeat)
    own = theirs.pop(BATCH)
    timings = {
        name: Other(timing_of(costs, numbers[name] * steps), median_ratio(costs, own)) for name, costs in theirs.items()
    }
    return BatchMeasurement(
        **vars(setup),
        runs=count,
        steps=steps,
        threads=threads,
        in_lanes=int(in_lanes.sum()),
        reason=reason,
        batch=timing_of(own, count * steps),
        single=timings.pop(""),
        peers=timings,
    )


def _scattered(simulation: PreparedSimulation, count: int) -> LaneRuns:
    compiled, settings = simulation.compiled, simulation.scene.simulation
    rng = np.random.default_rng(1)
    v = compiled.state.v + SCATTER * rng.standard_normal((count, compiled.model.nv))
    steps = max(1, round(settings.duration / compiled.control.step))
    q = np.tile(compiled.state.q, (count, 1))
    return LaneRuns([compiled.model], simulation.integrator.name, q, v, compiled.control.step, np.array([steps]))


def _peers(
    simulation: PreparedSimulation, names: Sequence[str], steps: int, threads: int
) -> dict[str, Callable[[int], float]]:
    """Return functions that make a number of runs in each peer, and return the time, s."""
    settings, compiled = simulation.scene.simulation, simulation.compiled
    found: dict[str, Callable[[int], float]] = {}
    for name in names:
        roll_out = PEERS[name].roll_out
        if roll_out is None or simulation.integrator.name not in PEERS[name].integrators:
            continue
        peer = PEERS[name].build(mechanism_of(compiled.model, compiled.state, settings.step, settings.integrator))

        def seconds(count: int, peer: Peer = peer, roll_out: Callable[..., float] = roll_out) -> float:
            return roll_out(peer, count, steps, threads)

        found[name] = seconds
    return found
