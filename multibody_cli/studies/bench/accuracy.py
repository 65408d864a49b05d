"""The error of each run against a fine reference run, and what a simulated second costs.

The reference is run twice, once coarser: how far these two are apart is what the reference may be off by, and bounds
what can be said of the others.  `displacement` says what an error is.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from multibody_cli.errors import RunFailed, SceneError
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.output.sink import MemorySink
from multibody_cli.scene.timing import ADAPTIVE_PAUSES
from multibody_cli.scene.timing import Timing as Instants
from multibody_cli.studies.bench.displacement import Motion, largest_displacement
from multibody_cli.studies.bench.pareto import RESOLVED, Recommendation, front, recommend
from multibody_cli.studies.bench.plan import Case
from multibody_cli.studies.bench.setup import Setup
from multibody_cli.studies.bench.timing import Block, Timing, count_long_enough, time_blocks
from multibody_cli.studies.simulation import Simulation

MOST_INSTANTS = 100
"""Instants after the start at which runs are compared, at most."""

FINE, COARSE = 1e-13, 1e-12
"""Tolerances of the reference with an adaptive integrator, and of its coarser twin."""

FINER, LESS_FINE = 8, 4
"""With an integrator of fixed step: how much smaller its step, and that of the twin, is than the finest asked for."""

Prepare = Callable[[tuple[str, ...]], Simulation]
"""Makes the scene ready to run with values replaced; raises a `SceneError` where it cannot."""


@dataclass(frozen=True)
class Reference:
    """The run that others are compared with: its settings, and how far it may be off, m."""

    method: str
    integrator: str
    settings: tuple[str, ...]
    error: float


@dataclass(frozen=True)
class Accuracy(Setup):
    """What one run costs and how accurate it is.

    Parameters
    ----------
    status
        `complete` or `diverged`.
    error
        Largest displacement of a body, m; None if the run diverged.
    resolved
        Whether the error is well above that of the reference; it is only a bound otherwise.
    cost
        Time for a simulated second, output off, as blocks of whole runs found it; None if the run diverged.
    """

    status: str
    error: float | None
    resolved: bool
    cost: Timing | None

    @property
    def seconds(self) -> float | None:
        """Time for a simulated second, s."""
        return None if self.cost is None else self.cost.median


@dataclass
class Study:
    """Accuracy and cost of the runs of one scene at one size.

    Parameters
    ----------
    scene, settings, size
        As in `Setup`.
    wanted
        Accuracy that is asked for, m.
    duration
        Time simulated, s.
    instants
        At how many instants after the start, equally far apart, the bodies were compared.
    reference
        What with.
    runs
        The runs.
    """

    scene: str
    settings: tuple[str, ...]
    size: float | None
    wanted: float
    duration: float
    instants: int
    reference: Reference
    runs: list[Accuracy] = field(default_factory=list)

    @property
    def front(self) -> list[bool]:
        """Which runs no other one beats in both error and cost."""
        return front(self.runs, self.reference.error)

    @property
    def recommendation(self) -> Recommendation:
        """Which run to take."""
        return recommend(self.runs, self.reference.error, self.wanted)


class Yardstick:
    """Compares runs of one scene with its reference.

    Parameters
    ----------
    simulations
        What will be compared.
    prepare
        Makes the scene ready with other settings.

    Raises
    ------
    RunFailed
        No reference run comes to its end.
    """

    def __init__(self, simulations: Sequence[Simulation], prepare: Prepare) -> None:
        self.instants = common_instants(simulations)
        first = simulations[0]
        self.duration = first.scene.simulation.duration
        self._masses = [first.compiled.masses[name] for name in first.compiled.model.names.bodies]
        self.reference, self._motion = self._find_reference(simulations, prepare)

    def error_of(self, simulation: Simulation) -> float | None:
        """Run a scene; how far it ends up from the reference, m, or None if it diverges."""
        motion = self._run(simulation)
        return None if motion is None else largest_displacement(motion, self._motion, self._masses)

    def judge(self, simulation: Simulation, repeat: int, setup: Mapping[str, Any]) -> Accuracy:
        """Find error and cost of a run."""
        error = self.error_of(simulation)
        if error is None:
            return Accuracy(**setup, status="diverged", error=None, resolved=False, cost=None)
        resolved = error >= RESOLVED * self.reference.error
        return Accuracy(
            **setup, status="complete", error=error, resolved=resolved, cost=cost_of(simulation, self.duration, repeat)
        )

    def _find_reference(self, simulations: Sequence[Simulation], prepare: Prepare) -> tuple[Reference, Motion]:
        last = "no method and integrator can run it"
        for fine, coarse in _references(simulations):
            try:
                motion, twin = (self._run(prepare(_settings_of(case, simulations[0]))) for case in (fine, coarse))
            except SceneError as refusal:
                last = str(refusal).splitlines()[0]
                continue
            if motion is None or twin is None:
                last = f"`{fine.method}` with `{fine.integrator}` diverges"
                continue
            error = largest_displacement(twin, motion, self._masses)
            assert fine.method is not None
            assert fine.integrator is not None
            return Reference(fine.method, fine.integrator, fine.settings[2:], error), motion
        raise RunFailed(f"{simulations[0].scene.name}: there is no reference to measure errors against: {last}")

    def _run(self, simulation: Simulation) -> Motion | None:
        """Run a scene for its motion; None if it diverges."""
        compiled = dataclasses.replace(simulation.compiled, timing=_divided(simulation, self.instants))
        sink = MemorySink(["bodies/position", "bodies/quaternion"])
        summary = dataclasses.replace(simulation, compiled=compiled).run(sink)
        if summary.outcome.status != "complete":
            return None
        bodies = sink.trajectory()
        return Motion(bodies.channel("bodies/position").values, bodies.channel("bodies/quaternion").values)


def common_instants(simulations: Sequence[Simulation]) -> int:
    """Give the most equal intervals, up to `MOST_INSTANTS`, that end with whole steps in every run."""
    steps = [one.compiled.timing.steps for one in simulations if not _is_adaptive(one)]
    shared = math.gcd(*steps) or MOST_INSTANTS
    return max(count for count in range(1, MOST_INSTANTS + 1) if shared % count == 0)


def cost_of(simulation: Simulation, duration: float, repeat: int) -> Timing:
    """Time whole runs, output off, in s for a simulated second."""

    def block(count: int) -> Block:
        seconds = 0.0
        for _ in range(count):
            state = simulation.fresh_state()
            method = simulation.method_for(state)
            method.start(state)
            began = time.perf_counter()
            method.advance(state, duration)
            seconds += time.perf_counter() - began
        return Block(seconds, count)

    runs = time_blocks(block, count_long_enough(block), repeat)
    scaled = {key: getattr(runs, key) / duration for key in ("median", "fastest", "slowest")}
    return dataclasses.replace(runs, **scaled)


def _references(simulations: Sequence[Simulation]) -> Iterator[tuple[Case, Case]]:
    """List runs that may serve as a reference, each with its coarser twin, the best first."""
    own = simulations[0].scene.simulation
    steps = [one.scene.simulation.step for one in simulations if not _is_adaptive(one)]
    finest = min(steps, default=own.step)
    methods = [method for method in dict.fromkeys(("aba", own.method)) if METHODS[method].own_integrator is None]
    for integrator, method in product(("dop853", "rk4"), methods):
        if INTEGRATORS[integrator].adaptive:
            yield Case(method, integrator, None, FINE), Case(method, integrator, None, COARSE)
        else:
            yield Case(method, integrator, finest / FINER), Case(method, integrator, finest / LESS_FINE)


def _settings_of(case: Case, first: Simulation) -> tuple[str, ...]:
    """Settings of a run that may serve as a reference: what is written for one method is no option of another."""
    foreign = case.method != first.scene.simulation.method
    return (*case.settings, *(["simulation.options={}"] if foreign else []))


def _divided(simulation: Simulation, instants: int) -> Instants:
    """Instants of output that divide the run."""
    if _is_adaptive(simulation):
        every = simulation.scene.simulation.duration / instants
        return Instants(every, 1, instants, ADAPTIVE_PAUSES)
    per_output = simulation.compiled.timing.steps // instants
    return Instants(simulation.scene.simulation.step, per_output, instants, per_output)


def _is_adaptive(simulation: Simulation) -> bool:
    settings = simulation.scene.simulation
    return integrator_of(settings.method, settings.integrator).adaptive
