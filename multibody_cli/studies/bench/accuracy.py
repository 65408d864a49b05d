"""Error of each run relative to a fine reference run, and the cost per simulated second.

The reference is run twice, once with coarser settings. The difference of both runs estimates the error of the reference
and limits the resolution of the errors of other runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from multibody_cli.errors import RunFailed, SceneError
from multibody_cli.immutable import Immutable, replace
from multibody_cli.kernel.progress import seconds
from multibody_cli.mass import MassProperties
from multibody_cli.methods import METHODS
from multibody_cli.methods.integrators import INTEGRATORS
from multibody_cli.model import Floats
from multibody_cli.scene.timing import ADAPTIVE_PAUSES, Timing
from multibody_cli.spec.rotations import rotation_matrices
from multibody_cli.studies.bench.options import BenchCase, Setup
from multibody_cli.studies.bench.timing import TimedBlock, WallTime, count_long_enough, time_blocks
from multibody_cli.studies.simulation import PreparedSimulation

MOST_INSTANTS = 100
"""Maximum number of instants after the start at which runs are compared."""

FINE, COARSE = 1e-13, 1e-12
"""Tolerances of the reference run and of its coarser counterpart, for adaptive integrators."""

IMPACTS = "semi_implicit_euler"
"""Integrator of the reference run of motion with impacts or dry friction, if that of the scene does not support it."""

FINER = {1: 32, 2: 8, 4: 8}
"""Ratio of the finest requested step to that of the reference, by the order of the integrator; for fixed steps.

The step of the coarser counterpart is twice that of the reference.
"""

Prepare = Callable[[tuple[str, ...]], PreparedSimulation]
"""Prepares the scene with replaced values; raises a `SceneError` if it is invalid."""


class ReferenceRun(Immutable):
    """The reference run: its settings, and its estimated error, m."""

    method: str
    integrator: str
    settings: tuple[str, ...]
    error: float


class Accuracy(Setup):
    """Cost and accuracy of one run.

    Parameters
    ----------
    status
        `complete` or `diverged`.
    error
        Largest displacement error of a body, m; None if the run diverged.
    resolved
        Whether the error is well above that of the reference; otherwise it is an upper bound.
    cost
        Wall time per simulated second, output off, from blocks of whole runs; None if the run diverged.
    """

    status: str
    error: float | None
    resolved: bool
    cost: WallTime | None

    @property
    def seconds(self) -> float | None:
        """Wall time per simulated second, s."""
        return None if self.cost is None else self.cost.median


class Study(Immutable):
    """Accuracy and cost of the runs of one scene at one size.

    Parameters
    ----------
    scene, settings, size
        As in `Setup`.
    wanted
        Requested accuracy, m.
    duration
        Simulated time, s.
    instants
        Number of equidistant instants after the start at which the bodies are compared.
    reference
        The reference run.
    runs
        The runs.
    """

    scene: str
    settings: tuple[str, ...]
    size: float | None
    wanted: float
    duration: float
    instants: int
    reference: ReferenceRun
    runs: list[Accuracy]

    @property
    def front(self) -> list[bool]:
        """Which runs are on the Pareto front of error and cost."""
        return front(self.runs, self.reference.error)

    @property
    def recommendation(self) -> Recommendation:
        """The recommended run."""
        return recommend(self.runs, self.reference.error, self.wanted)


class ReferenceComparison:
    """Compares runs of one scene with its reference run.

    Parameters
    ----------
    simulations
        The runs to compare.
    prepare
        Prepares the scene with other settings.

    Raises
    ------
    RunFailed
        No reference run completes.
    """

    def __init__(self, simulations: Sequence[PreparedSimulation], prepare: Prepare) -> None:
        self.instants = common_instants(simulations)
        first = simulations[0]
        self.duration = first.scene.simulation.duration
        self._masses = [first.compiled.masses[name] for name in first.compiled.model.names.bodies]
        self.reference, self._motion = self._find_reference(simulations, prepare)

    def error_of(self, simulation: PreparedSimulation) -> float | None:
        """Run a scene; return its error relative to the reference, m, or None if it diverges."""
        motion = self._run(simulation)
        return None if motion is None else largest_displacement(motion, self._motion, self._masses)

    def judge(self, simulation: PreparedSimulation, repeat: int, setup: Setup) -> Accuracy:
        """Measure error and cost of a run."""
        error = self.error_of(simulation)
        if error is None:
            return Accuracy(**vars(setup), status="diverged", error=None, resolved=False, cost=None)
        resolved, cost = error >= RESOLVED * self.reference.error, cost_of(simulation, self.duration, repeat)
        return Accuracy(**vars(setup), status="complete", error=error, resolved=resolved, cost=cost)

    def _find_reference(
        self, simulations: Sequence[PreparedSimulation], prepare: Prepare
    ) -> tuple[ReferenceRun, SampledMotion]:
        last = "no combination of method and integrator supports it"
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
            return ReferenceRun(fine.method, fine.integrator, fine.settings[2:], error), motion
        raise RunFailed(f"{simulations[0].scene.name}: no reference run for the errors: {last}")

    def _run(self, simulation: PreparedSimulation) -> SampledMotion | None:
        """Run a scene and return its motion; None if it diverges."""
        divided = simulation.with_compiled(timing=_divided(simulation, self.instants))
        summary, bodies = divided.run_in_memory(["bodies/position", "bodies/quaternion"])
        if not summary.outcome.reached_end:
            return None
        return SampledMotion(bodies.channel("bodies/position").values, bodies.channel("bodies/quaternion").values)


def common_instants(simulations: Sequence[PreparedSimulation]) -> int:
    """Return the largest number of equal intervals, up to `MOST_INSTANTS`, that are whole steps in every run."""
    steps = [one.compiled.timing.steps for one in simulations if not one.integrator.adaptive]
    shared = math.gcd(*steps) or MOST_INSTANTS
    return max(count for count in range(1, MOST_INSTANTS + 1) if shared % count == 0)


def cost_of(simulation: PreparedSimulation, duration: float, repeat: int) -> WallTime:
    """Time whole runs, output off; the result is in s per simulated second."""

    def block(count: int) -> TimedBlock:
        total = 0.0
        for _ in range(count):
            state = simulation.fresh_state()
            method = simulation.method_for(state)
            method.start(state)
            began = seconds()
            method.advance(state, duration)
            total += seconds() - began
        return TimedBlock(total, count)

    runs = time_blocks(block, count_long_enough(block), repeat)
    scaled = {key: getattr(runs, key) / duration for key in ("median", "fastest", "slowest")}
    return replace(runs, **scaled)


def _references(simulations: Sequence[PreparedSimulation]) -> Iterator[tuple[BenchCase, BenchCase]]:
    """Yield candidates for the reference, each with its coarser counterpart, best first."""
    own = simulations[0].scene.simulation
    steps = [one.scene.simulation.step for one in simulations if not one.integrator.adaptive]
    finest = min(steps, default=own.step)
    methods = [method for method in dict.fromkeys(("aba", own.method)) if METHODS[method].own_integrator is None]
    integrators = dict.fromkeys(("dop853", "rk4", own.integrator, IMPACTS))
    for integrator, method in product(integrators, methods):
        if INTEGRATORS[integrator].adaptive:
            yield BenchCase(method, integrator, None, FINE), BenchCase(method, integrator, None, COARSE)
        else:
            step = finest / FINER[INTEGRATORS[integrator].order]
            yield BenchCase(method, integrator, step), BenchCase(method, integrator, 2.0 * step)


def _settings_of(case: BenchCase, first: PreparedSimulation) -> tuple[str, ...]:
    """Return the settings of a candidate; options of another method are removed."""
    foreign = case.method != first.scene.simulation.method
    return (*case.settings, *(["simulation.options={}"] if foreign else []))


def _divided(simulation: PreparedSimulation, instants: int) -> Timing:
    """Return output instants that divide the run."""
    if simulation.integrator.adaptive:
        every = simulation.scene.simulation.duration / instants
        return Timing(every, 1, instants, ADAPTIVE_PAUSES)
    per_output = simulation.compiled.timing.steps // instants
    return Timing(simulation.scene.simulation.step, per_output, instants, per_output)


class SampledMotion(NamedTuple):
    """Motion of B bodies at T instants: (T, B, 3) frame origins, m, and (T, B, 4) quaternions (w, x, y, z)."""

    position: Floats
    quaternion: Floats


def largest_displacement(found: SampledMotion, wanted: SampledMotion, masses: Sequence[MassProperties]) -> float:
    """Return the largest error of any body at any instant, m; the origin represents a body without mass.

    The error of a body is the root mean square displacement of its mass elements from their reference positions,

        e^2 = |dc|^2 + tr(dR P dR^T) / m,

    with dc the difference of the centers of mass, dR that of the rotation matrices, m the mass and P the second moments
    of the mass about its center, P = tr(J)/2 - J. It does not depend on the body frame.
    """
    worst = 0.0
    R, R_wanted = rotation_matrices(found.quaternion), rotation_matrices(wanted.quaternion)
    for k, body in enumerate(masses):
        dR = R[:, k] - R_wanted[:, k]
        dc = found.position[:, k] - wanted.position[:, k] + dR @ body.com
        square = np.einsum("ti,ti->t", dc, dc)
        if body.mass > 0.0:
            P = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
            square += np.einsum("tij,jk,tik->t", dR, P, dR) / body.mass
        worst = max(worst, float(square.max(initial=0.0)))
    return float(np.sqrt(worst))


RESOLVED = 10.0
"""Smallest ratio of a resolved error to the error of the reference; smaller errors are only bounded."""

TRUSTED = 0.05
"""Largest error of the reference, relative to the requested accuracy."""

RAISED = 1.05
"""Factor of an advised accuracy, so that two digits of it are not too small."""


class Recommendation(Immutable):
    """Index of the recommended run among the candidates (None if there is none), and the reason."""

    index: int | None
    sentence: str


def displayed_error(error: float, reference_error: float) -> float:
    """Return an error as it is displayed and compared, m."""
    return float(f"{max(error, RESOLVED * reference_error):.3g}")


def front(runs: Sequence[Accuracy], reference_error: float) -> list[bool]:
    """Return which runs no other run dominates, the Pareto front; diverged runs are excluded.

    A run dominates another if it is no worse in error and in cost, and better in one of them. Errors are rounded to
    three digits as displayed, and errors that the reference cannot resolve are replaced by the bound that it implies.
    """
    points = [_point(run, reference_error) for run in runs]
    succeeded = [point for point in points if point is not None]
    return [
        point is not None and not any(a <= point[0] and b <= point[1] and (a, b) != point for a, b in succeeded)
        for point in points
    ]


def recommend(runs: Sequence[Accuracy], reference_error: float, wanted: float) -> Recommendation:
    """Return the cheapest run whose error, including that of the reference, is within the requested accuracy.

    Parameters
    ----------
    runs
        The runs.
    reference_error
        Estimated error of the reference, m.
    wanted
        Requested accuracy, m.
    """
    if reference_error > TRUSTED * wanted:
        return Recommendation(
            None,
            f"no recommendation for {wanted:.3g} m, which needs a reference within {TRUSTED * wanted:.2g} m: the error "
            f"of this one is {reference_error:.2g} m; request {RAISED * reference_error / TRUSTED:.2g} m or more, or "
            "shorten the run with --duration",
        )
    points = [_point(run, reference_error) for run in runs]
    succeeded = [(*point, k) for k, point in enumerate(points) if point is not None]
    if not succeeded:
        return Recommendation(None, f"no recommendation for {wanted:.3g} m: every run diverged")
    good = [(seconds, error, k) for error, seconds, k in succeeded if error + reference_error <= wanted]
    if not good:
        error, _, k = min(succeeded)
        worst = error + reference_error
        return Recommendation(
            None,
            f"no run of {len(runs)} reaches {wanted:.3g} m: the best, {runs[k].description}, has an error of "
            f"{error:.3g} m, and {worst:.3g} m with that of the reference, {worst / wanted:.3g} times as large",
        )
    seconds, error, k = min(good)
    return Recommendation(
        k,
        f"for {wanted:.3g} m use {runs[k].description}: error {error:.3g} m, {seconds:.3g} s per simulated second "
        f"({1 / seconds:.4g} x real time), the fastest of those that reach it, {len(good)} of {len(runs)}",
    )


def _point(run: Accuracy, reference_error: float) -> tuple[float, float] | None:
    if run.error is None or run.seconds is None:
        return None
    return displayed_error(run.error, reference_error), run.seconds
