"""How fast a method is: time per step, per evaluation and of the first call, memory, and growth with size.

A block is one call of compiled code, long enough for the clock; the median of several blocks is reported with
the fastest and the slowest.  Every block starts from the same state, so that all of them do the same work.
"""

from __future__ import annotations

import math
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numba
import numpy as np

from multibody_cli.errors import RunFailed
from multibody_cli.methods.contract import Status
from multibody_cli.studies.simulation import Simulation

SHORTEST_BLOCK = 0.02
"""Seconds that a block lasts at least."""


class Block(NamedTuple):
    """What one call did: seconds, how often the thing that is timed was done, and whether all went well."""

    seconds: float
    done: int
    sound: bool = True


@dataclass(frozen=True)
class Timing:
    """Seconds that one step, or one evaluation, takes."""

    median: float
    fastest: float
    slowest: float
    blocks: int
    count: int  # in each block


@dataclass(frozen=True)
class Measurement:
    """One scene, run by one method, at one size.

    Parameters
    ----------
    scene, method, integrator
        Names.
    size
        The number that `--size` gave, or None.
    bodies, freedoms
        Of the scene.
    first_call
        Seconds of the first start, step and evaluation: kernels are compiled, or loaded from an earlier run.
    step, evaluation
        Timings, output off.
    steps_per_second, real_time_factor
        The latter is simulated time over time.
    memory
        Bytes of the model, its state and the work arrays.
    peak_memory
        Largest memory of the process so far, bytes.
    """

    scene: str
    method: str
    integrator: str
    size: float | None
    bodies: int
    freedoms: int
    first_call: float
    step: Timing
    evaluation: Timing
    steps_per_second: float
    real_time_factor: float
    memory: int
    peak_memory: int


@dataclass(frozen=True)
class Growth:
    """Exponent p of cost ~ size^p by least squares of logarithms; no standard error for two sizes."""

    exponent: float
    standard_error: float | None


def measure(simulation: Simulation, repeat: int, size: float | None = None) -> Measurement:
    """Measure one scene with its method.

    Parameters
    ----------
    simulation
        The scene.
    repeat
        Number of blocks of which the median is taken.
    size
        For the report.

    Raises
    ------
    RunFailed
        If the very first step diverges.
    """
    settings, model = simulation.scene.simulation, simulation.compiled.model
    first_call = _first_call(simulation)
    step_block, evaluation_block = partial(_step, simulation), partial(_evaluate, simulation)
    count = count_long_enough(step_block)
    step = time_blocks(step_block, count, repeat)
    evaluation = time_blocks(evaluation_block, count_long_enough(evaluation_block), repeat)
    simulated_per_step = count * settings.step / step.count  # an adaptive step is what it was on average
    state = simulation.fresh_state()
    return Measurement(
        scene=simulation.scene.name,
        method=settings.method,
        integrator=settings.integrator,
        size=size,
        bodies=len(model.names.bodies),
        freedoms=simulation.compiled.freedoms,
        first_call=first_call,
        step=step,
        evaluation=evaluation,
        steps_per_second=1.0 / step.median,
        real_time_factor=simulated_per_step / step.median,
        memory=bytes_of((model.system, state, simulation.method_for(state).work)),
        peak_memory=_peak_memory(),
    )


def count_long_enough(block: Callable[[int], Block]) -> int:
    """Find how often to do a thing in a block; less where a run diverges before."""
    count, sound = 1, 1
    while True:
        found = block(count)
        if not found.sound:
            return sound
        if found.seconds >= SHORTEST_BLOCK:
            return count
        wanted = 1.2 * count * SHORTEST_BLOCK / max(found.seconds, 1e-6)
        sound, count = count, min(10 * count, max(2 * count, math.ceil(wanted)))


def time_blocks(block: Callable[[int], Block], count: int, repeat: int) -> Timing:
    """Time a thing that can be done any number of times in one call."""
    blocks = [block(count) for _ in range(repeat)]
    costs = [one.seconds / max(1, one.done) for one in blocks]
    return Timing(statistics.median(costs), min(costs), max(costs), repeat, max(1, blocks[0].done))


def growth(sizes: Iterable[float], costs: Iterable[float]) -> Growth | None:
    """Fit the exponent; None where there are fewer than two different sizes above zero."""
    points = [(math.log(size), math.log(cost)) for size, cost in zip(sizes, costs, strict=True) if size > 0]
    x, y = np.array(points).reshape(-1, 2).T
    if len(set(x)) < 2:
        return None
    dx = x - x.mean()
    exponent = float(dx @ y / (dx @ dx))
    residual = y - y.mean() - exponent * dx
    spare = len(x) - 2
    error = math.sqrt(float(residual @ residual) / spare / float(dx @ dx)) if spare else None
    return Growth(exponent, error)


def bytes_of(arrays: Any) -> int:
    """Bytes of all arrays in nested tuples."""
    if isinstance(arrays, tuple):
        return sum(bytes_of(one) for one in arrays)
    return int(getattr(arrays, "nbytes", 0))


def describe_machine() -> dict[str, Any]:
    """Say what the numbers were measured on."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def _first_call(simulation: Simulation) -> float:
    began = time.perf_counter()
    if not _step(simulation, 1).sound:
        raise RunFailed(f"{simulation.scene.name}: the very first step diverges, so there is nothing to measure")
    _evaluate(simulation, 1)
    return time.perf_counter() - began


def _step(simulation: Simulation, count: int) -> Block:
    """Take `count` steps; an adaptive integrator takes as many as it needs for that time."""
    state = simulation.fresh_state()
    method = simulation.method_for(state)
    before = method.start(state)
    until = count * simulation.scene.simulation.step
    began = time.perf_counter()
    after = method.advance(state, until)
    return Block(time.perf_counter() - began, after.steps - before.steps, after.status is Status.OK)


def _evaluate(simulation: Simulation, count: int) -> Block:
    state = simulation.fresh_state()
    method = simulation.method_for(state)
    began = time.perf_counter()
    method.evaluate_repeatedly(state, count)
    return Block(time.perf_counter() - began, count)


def _peak_memory() -> int:
    """Largest memory of this process so far, bytes; the system counts in KiB, but for macOS."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
