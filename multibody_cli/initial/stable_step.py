"""Largest stable step in the initial state: of the fastest mode, and of the feedback of Baumgarte.

Oscillations of implicit forces about the initial state, and their energies.

About a state, x'' = a - K x - D x'.  In the basis of the modes x ~ exp(s t), each amplitude c follows c' = s c + b, so
that it oscillates about -b/s with the amplitude |c + b/s| of the start.  Its energy is the largest kinetic energy of
the mode and its conjugate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from multibody_cli.alarms.catalogue import STABILITY
from multibody_cli.alarms.contract import Oscillations, Raised, Remedy
from multibody_cli.alarms.remedies import IMPLICIT, reduce_step
from multibody_cli.initial.linearized_motion import (
    MOST_COORDINATES,
    acceleration_derivatives,
    accelerations_of,
    force_derivatives,
    linearization_of,
    modes_of,
    modes_of_trees,
)
from multibody_cli.kernel import Flags
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.contract import Integrator
from multibody_cli.methods.options import StabilizationOptions, ends_at_corrected_velocities
from multibody_cli.model import Floats, Model, State
from multibody_cli.scene.simulation import SimulationSpec

MOST_DIFFERENCED = 30
"""Largest number of coordinates of a model whose accelerations are differenced: 4 evaluations for each, 0.03 s in all.

The check of a larger model includes springs, dampers and muscles alone.
"""


def stable_steps(integrator: Integrator, simulation: SimulationSpec, damping: Floats, frequency: Floats) -> Floats:
    """Return the longest stable step of each mode with an integrator, s; infinite without a limit.

    Parameters
    ----------
    integrator
        The integrator; `simulation` has the method, whose steps may be composed of longer ones, and its options.
    damping, frequency
        Coefficients c and w (n,) of the modes, 1/s.
    """
    if integrator.stable_step is None:
        return np.full(len(frequency), np.inf)
    method = METHODS[simulation.method]
    limits = np.asarray(integrator.stable_step(damping, frequency))
    if method.own_integrator is integrator:
        limits = limits / method.longest_stage(method.Options.model_validate(simulation.options))
    return np.where(limits < 1e6, limits, np.inf)


class StepCheck(NamedTuple):
    """Longest stable step at the start, s, infinite if there is none or it is not known, and the alarms."""

    longest: float
    alarms: tuple[Raised, ...]


def check_step(simulation: SimulationSpec, model: Model, state: State) -> StepCheck:
    """Compare the step of a run with the stability limits of its integrator.

    Parameters
    ----------
    simulation
        The settings of the run.
    model, state
        The model in joint coordinates, and its initial state.
    """
    integrator = integrator_of(simulation.method, simulation.integrator, simulation.options)
    allowed = simulation.alarms.get(STABILITY, 1.0)
    longest, place = _fastest_mode(integrator, simulation, model, state)
    feedback = _feedback_limit(integrator, simulation)
    alarms = []

    def report(limit: float, cause: str, remedy: Remedy) -> None:
        message = f"the step of {simulation.step:.4g} s exceeds the stability limit of {cause}"
        ratio = simulation.step / limit
        alarms.append(Raised(STABILITY, "warning", message, remedy, value=ratio, threshold=allowed, at_start=True))

    if simulation.step > allowed * longest:
        name = integrator.name or simulation.method
        cause = f"`{name}` for the fastest motion at the start, {longest:.3g} s, of {place}"
        change = IMPLICIT if model.system.forces.depends_on_motion else ""
        report(longest, cause, reduce_step(simulation.step, 2.0 * simulation.step / longest, change))
    if simulation.step > allowed * feedback:
        rate = simulation.options.get("baumgarte_rate", StabilizationOptions().baumgarte_rate)
        change = (
            f"reduce `simulation.options.baumgarte_rate` to {0.5 * rate * feedback / simulation.step:.4g}, or use "
            "`simulation.options.stabilization: projection`"
        )
        cause = f"`{integrator.name}` with `baumgarte_rate: {rate:.4g}`, {feedback:.3g} s"
        report(feedback, cause, Remedy(change=change))
    return StepCheck(min(longest, feedback), tuple(alarms))


SLACK = 2.0
"""Ratio of the stable step to the step of a run above which round-off cannot change the result of the check."""


def have_stable_steps(simulation: SimulationSpec, model: Model, q: Floats, v: Floats) -> Flags:
    """Return of R states (R,) whether the step is so short that `check_step` surely raises no alarm.

    Parameters
    ----------
    simulation
        The settings of the runs.
    model
        A tree without motions, loops and constraints other than limits.
    q, v
        (R, nq) and (R, nv) initial states, none of them at a limit.
    """
    integrator = integrator_of(simulation.method, simulation.integrator, simulation.options)
    allowed = min(simulation.alarms.get(STABILITY, 1.0), 1.0)
    longest = np.full(len(q), _feedback_limit(integrator, simulation))
    if _limits_the_step(integrator, model):
        if not _is_differenced(model):
            return np.zeros(len(q), np.bool_)
        try:
            modes = modes_of_trees(model, q, v)
        except np.linalg.LinAlgError:
            return np.zeros(len(q), np.bool_)
        known = np.isfinite(modes.damping).all(axis=1) & np.isfinite(modes.frequency).all(axis=1)
        damping, frequency = modes.damping[known], modes.frequency[known]
        limits = stable_steps(integrator, simulation, damping.ravel(), frequency.ravel()).reshape(damping.shape)
        longest[known] = np.minimum(longest[known], limits.min(axis=1))
        longest[~known] = 0.0
    return np.asarray(SLACK * simulation.step <= allowed * longest)


def _is_differenced(model: Model) -> bool:
    """Whether the accelerations of a model are differenced."""
    return int(model.system.tree.links["nv"].sum()) <= MOST_DIFFERENCED


def _limits_the_step(integrator: Integrator, model: Model) -> bool:
    """Whether the modes of a model are checked."""
    checked = _is_differenced(model) or model.system.forces.depends_on_motion
    n = int(model.system.tree.links["nv"].sum())
    return integrator.stable_step is not None and checked and 0 < n <= MOST_COORDINATES


def _fastest_mode(integrator: Integrator, simulation: SimulationSpec, model: Model, state: State) -> tuple[float, str]:
    """Return the shortest stable step of all modes, s, and the coordinate that moves most in that mode."""
    if not _limits_the_step(integrator, model):
        return math.inf, ""
    try:
        linear = linearization_of(model, state)
        if _is_differenced(model):
            K, D, _ = acceleration_derivatives(model, state, linear.directions)
        else:
            K, D = force_derivatives(model, state, linear)
        modes = modes_of(linear, K, D)
    except np.linalg.LinAlgError:
        return math.inf, ""  # bodies without inertia: the run reports them
    limits = stable_steps(integrator, simulation, modes.damping, modes.frequency)
    if not len(limits):
        return math.inf, ""
    worst = int(np.argmin(limits))
    shape = np.abs(linear.directions @ modes.shapes[:, worst]) * model.system.tree.weights
    fastest = int(np.argmax(shape))
    return float(limits[worst]), model.names.coordinates[fastest]


def _feedback_limit(integrator: Integrator, simulation: SimulationSpec) -> float:
    """Return the longest step at which the feedback of constraint errors is stable, s."""
    options = METHODS[simulation.method].Options.model_validate(simulation.options)
    if not isinstance(options, StabilizationOptions) or options.stabilization == "projection":
        return math.inf
    rate = options.baumgarte_rate
    if ends_at_corrected_velocities(simulation.options):
        return 2.0 / rate  # an error becomes 1 - step rate times as large
    if integrator.feedback_step is None:
        return math.inf
    return float(integrator.feedback_step(np.array([2.0 * rate]), np.array([rate]))[0])


# --- oscillations of implicit forces about the initial state, and their energies --------------------------------------
def oscillations_of(simulation: SimulationSpec, model: Model, state: State) -> Oscillations | None:
    """Return the oscillations of springs, dampers and muscles that the integrator treats implicitly; None without any.

    Parameters
    ----------
    simulation
        The settings of the run.
    model, state
        The model in joint coordinates, and its initial state.
    """
    integrator = integrator_of(simulation.method, simulation.integrator, simulation.options)
    n = int(model.system.tree.links["nv"].sum())
    if integrator.stability_function is None or not model.system.forces.depends_on_motion or n > MOST_COORDINATES:
        return None
    try:
        linear = linearization_of(model, state)
        modes = modes_of(linear, *force_derivatives(model, state, linear))
        N, s = linear.directions, modes.exponents
        basis = np.concatenate([modes.shapes, modes.shapes * s])
        rates = np.stack([N.T @ state.v, N.T @ accelerations_of(model, state)], axis=1)
        rates = np.concatenate([np.zeros_like(rates), rates])
        amplitudes, changes = np.linalg.lstsq(basis, rates.astype(complex))[0].T
    except np.linalg.LinAlgError:
        return None  # bodies without inertia: the run reports them
    swings = (s.imag > 0.0) & (s.real <= 1e-6 * abs(s))
    if not swings.any() or not np.isfinite(rates).all():
        return None
    s, shapes = s[swings], modes.shapes[:, swings]
    M = N[linear.free].T @ linear.M @ N[linear.free]
    masses = np.einsum("ij,ik,kj->j", shapes.conj(), M, shapes).real
    energies = 2.0 * abs(s * amplitudes[swings] + changes[swings]) ** 2 * masses
    places = np.abs((N @ shapes) * model.system.tree.weights[:, None]).argmax(axis=0)
    return Oscillations(s, energies, tuple(model.names.coordinates[j] for j in places), simulation.duration)
