"""Cost of a step, an evaluation and the first call of a method, in time and memory.

Every block starts from the same state, so that all blocks do the same work. Output is disabled.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.errors import RunFailed
from multibody_cli.immutable import Immutable
from multibody_cli.kernel.progress import seconds
from multibody_cli.methods.contract import Status
from multibody_cli.model import State
from multibody_cli.studies.bench.options import Setup
from multibody_cli.studies.bench.timing import TimedBlock, WallTime, count_long_enough, time_blocks
from multibody_cli.studies.simulation import PreparedSimulation

FEWEST_STEPS = 10
"""Minimum number of steps per block: each call needs one additional evaluation at its start."""


class Measurement(Setup):
    """One scene, run by one method, at one size.

    Parameters
    ----------
    bodies, n_dofs
        Of the scene.
    preprocessing
        Time to create the method, s; includes generation and compilation of model-specific code.
    first_call
        Time of the first start, step and evaluation, s; kernels are compiled or loaded.
    step, evaluation
        Timings, output off.
    steps_per_second, real_time_factor
        The latter is the ratio of simulated time to wall time.
    memory
        Size of the model, its state and the work arrays, bytes.
    peak_memory
        Peak memory of the process, bytes.
    """

    bodies: int
    n_dofs: int
    preprocessing: float
    first_call: float
    step: WallTime
    evaluation: WallTime
    steps_per_second: float
    real_time_factor: float
    memory: int
    peak_memory: int


def measure(simulation: PreparedSimulation, repeat: int, setup: Setup, duration: float | None = None) -> Measurement:
    """Measure one scene with its method.

    Parameters
    ----------
    simulation
        The scene.
    repeat
        Number of blocks.
    setup
        Its `Setup`.
    duration
        Simulated time of each block of steps, s; by default, blocks are long enough for the clock.

    Raises
    ------
    RunFailed
        The first step diverges.
    """
    settings, model = simulation.scene.simulation, simulation.compiled.model
    preprocessing, first_call = _preprocessing(simulation), _first_call(simulation)
    step_block, evaluation_block = partial(take_steps, simulation), partial(evaluate, simulation)
    count = steps_in(simulation, duration)
    if count is None or not step_block(count).succeeded:
        count = count_long_enough(step_block, FEWEST_STEPS)
    step = time_blocks(step_block, count, repeat)
    evaluation = time_blocks(evaluation_block, count_long_enough(evaluation_block), repeat)
    simulated_per_step = count * settings.step / step.count  # of adaptive steps, the mean
    state = simulation.fresh_state()
    return Measurement(
        **vars(setup),
        bodies=len(model.names.bodies),
        n_dofs=simulation.compiled.n_dofs,
        preprocessing=preprocessing,
        first_call=first_call,
        step=step,
        evaluation=evaluation,
        steps_per_second=1.0 / step.median,
        real_time_factor=simulated_per_step / step.median,
        memory=bytes_of((model.system, state, simulation.method_for(state).work)),
        peak_memory=_peak_memory(),
    )


def steps_in(simulation: PreparedSimulation, duration: float | None) -> int | None:
    """Return the number of steps in a simulated time, s, at least 1; None without a time."""
    return None if duration is None else max(1, round(duration / simulation.scene.simulation.step))


class MeasuredBlock(NamedTuple):
    """A block of steps with the state at its end, and the number of steps whose contacts were not solved."""

    block: TimedBlock
    state: State
    unsolved: int


def run_steps(simulation: PreparedSimulation, count: int, clock: Callable[[], float] = seconds) -> MeasuredBlock:
    """Take `count` steps from the start; an adaptive integrator covers the same time with steps of its choice."""
    state = simulation.fresh_state()
    method = simulation.method_for(state)
    before = method.start(state)
    until = count * simulation.scene.simulation.step
    began = clock()
    after = method.advance(state, until)
    block = TimedBlock(clock() - began, after.steps - before.steps, after.status is Status.OK)
    return MeasuredBlock(block, state, after.unsolved)


def take_steps(simulation: PreparedSimulation, count: int, clock: Callable[[], float] = seconds) -> TimedBlock:
    """Take `count` steps as `run_steps` does; return their time."""
    return run_steps(simulation, count, clock).block


def evaluate(simulation: PreparedSimulation, count: int, clock: Callable[[], float] = seconds) -> TimedBlock:
    """Compute all accelerations of the initial state `count` times."""
    state = simulation.fresh_state()
    method = simulation.method_for(state)
    began = clock()
    method.evaluate_repeatedly(state, count)
    return TimedBlock(clock() - began, count)


def bytes_of(arrays: Any) -> int:
    """Total size in bytes of all arrays in nested tuples."""
    if isinstance(arrays, tuple):
        return sum(bytes_of(one) for one in arrays)
    return int(getattr(arrays, "nbytes", 0))


def _preprocessing(simulation: PreparedSimulation) -> float:
    state = simulation.fresh_state()
    began = time.perf_counter()
    simulation.method_for(state)
    return time.perf_counter() - began


def _first_call(simulation: PreparedSimulation) -> float:
    began = time.perf_counter()
    if not take_steps(simulation, 1).succeeded:
        raise RunFailed(f"{simulation.scene.name}: the first step diverges")
    evaluate(simulation, 1)
    return time.perf_counter() - began


def _peak_memory() -> int:
    """Peak memory of this process, bytes; the system reports KiB, except on macOS."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


QUANTITIES = ("step", "evaluation")
"""Timings whose growth is fitted."""


class Growth(Immutable):
    """Exponent p of cost ~ size^p; for two sizes, without a standard error."""

    exponent: float
    standard_error: float | None

    def __str__(self) -> str:
        error = "" if self.standard_error is None else f" +- {self.standard_error:.3f}"
        return f"{self.exponent:.3f}{error}"


class SizeSeries(Immutable):
    """Measurements that differ in size only, and the fitted growth of each quantity."""

    name: str
    measurements: tuple[Measurement, ...]
    growth: dict[str, Growth]


def growth(sizes: Iterable[float], costs: Iterable[float]) -> Growth | None:
    """Fit the exponent by least squares of the logarithms; None for fewer than two different positive sizes."""
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


def series_of(measurements: Sequence[Measurement]) -> list[SizeSeries]:
    """Group measurements at several sizes into series, and fit the growth of each."""
    sized = [one for one in measurements if one.size is not None]
    configurations = {_configuration(one): None for one in sized}
    # the shortest names that distinguish the series
    short = [(one.scene, one.method, one.integrator) for one in configurations]
    series = []
    for configuration, head in zip(configurations, short, strict=True):
        several = tuple(one for one in sized if _configuration(one) == configuration)
        unique = short.count(head) == 1
        words = head if unique else (*head, configuration.stepping, *configuration.settings)
        name = " ".join(word for word in words if word)
        sizes = [one.size or 0.0 for one in several]
        fits = {word: growth(sizes, [getattr(one, word).median for one in several]) for word in QUANTITIES}
        series.append(SizeSeries(name, several, {word: fit for word, fit in fits.items() if fit is not None}))
    return series


def _configuration(one: Measurement) -> Setup:
    """Setup of a measurement without its size."""
    return Setup(one.scene, one.method, one.integrator, one.time_step, one.tolerance, one.settings, None, one.size_key)
