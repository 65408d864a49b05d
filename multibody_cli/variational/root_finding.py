"""Root finding for the discrete Euler-Lagrange equations of a step: iterates of its mean rates until they converge.

`prepare`, `evaluate_iterate`, `compute_correction`, `constraints_satisfied` and `carry_over_residual` are template
parameters; `unconstrained` and `constrained` provide them.

Source: Lee, Liu, Park and Srinivasa 2016, Alg. 1 and Alg. 3.
"""

from __future__ import annotations

import math
from typing import Any

from multibody_cli.joints.motion import prescribe
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load
from multibody_cli.tree.configuration import displace, displace_coordinates, normalize
from multibody_cli.variational.discrete_motion import exceeds_rotation_limit, kick
from multibody_cli.variational.initial_guess import guess_rates, prescribe_rates
from multibody_cli.variational.workspace import DIAGNOSTIC_ITERATIONS, max_abs

STALL_RATIO = 0.7
"""The iteration has stalled when a correction exceeds this fraction of the previous one.

The first two corrections are not compared: multipliers start from 0, and after a good guess the second correction only
cancels part of a large first one.
"""

MIN_RATIO = 0.05
"""Lower bound on the convergence rate that is assumed for the next correction.

RIQN converges at a constant rate, which the first correction may hide when it is much larger than the second.
"""

VIOLATION_FACTOR = 1e3
"""Largest accepted error of a constraint row, relative to that of the coordinates and round-off."""

ROUND_OFF = 1e-15
"""Of positions, relative to the extent of the mechanism. Stalled iterations within 1000 times this have converged."""


# --- template parameters ------------------------------------------------------------------------------------------
def prepare(system: Any, work: Any, step: Any, h: float) -> None:
    """Template parameter: compute everything that is constant during the iteration."""


def evaluate_iterate(system: Any, work: Any, step: Any, t: float) -> None:
    """Template parameter: compute poses and constraint errors at the iterate; t is the time there."""


def compute_correction(system: Any, work: Any, step: Any, h: float) -> None:
    """Template parameter: compute the correction of the mean rates, `step.correction`."""


def constraints_satisfied(work: Any, step: Any, max_violation: float) -> bool:
    """Template parameter: whether all active rows hold at the end, ineffective rows included."""
    return True


def carry_over_residual(system: Any, work: Any, step: Any, h: float) -> None:
    """Template parameter: store the residual impulse in `step.residual_carry_over`."""


# --- iteration ----------------------------------------------------------------------------------------------------
def solve_step(system, work, step, t, h, q, v) -> bool:
    """Solve the DEL equations of a step h from (t, q, v) for `step.q` and `step.rate`; return whether they converged.

    On failure `step.rate` is restored for the next guess.
    """
    tree, settings = system.tree, step.settings
    for j in range(len(v)):
        step.previous_rate[j] = step.rate[j]
    guess_rates(step, v, h)
    prescribe_rates(system.motions, t, h, settings.first_kick, v, step.rate)
    for k in range(len(q)):
        step.q[k] = q[k]
    displace(tree, step.q, step.rate, h)
    prescribe(system.motions, t + h, step.q, step.correction, step.correction)
    prepare(system, work, step, h)
    rate_scale = 1.0 + max_abs(v)
    if find_root(system, work, step, t + h, h, rate_scale):
        normalize(tree, step.q)
        evaluate_iterate(system, work, step, t + h)
        max_violation = VIOLATION_FACTOR * (
            settings.tolerance * abs(h) * rate_scale + ROUND_OFF * extent_of(step.discrete_motions)
        )
        if constraints_satisfied(work, step, max_violation) and not exceeds_rotation_limit(step.discrete_motions):
            carry_over_residual(system, work, step, h)
            return True
    kick(step.discrete_motions, -settings.first_kick * h)
    for j in range(len(v)):
        step.rate[j] = step.previous_rate[j]
    return False


def find_root(system, work, step, t, h, rate_scale) -> bool:
    """Correct the mean rates until the corrections converge, relative to `rate_scale`; return whether they did."""
    settings, before = step.settings, math.inf
    for k in range(settings.max_iterations):
        step.iteration[0] = k
        evaluate_iterate(system, work, step, t)
        compute_correction(system, work, step, h)
        size = max_abs(step.correction) / rate_scale
        step.diagnostics[DIAGNOSTIC_ITERATIONS] = max(step.diagnostics[DIAGNOSTIC_ITERATIONS], k + 1.0)
        if not size < math.inf:
            return False
        displace_coordinates(step.plain, step.quaternions, step.q, step.correction, h)
        for j in range(len(step.rate)):
            step.rate[j] += step.correction[j]
        if is_converged(size, before, settings.tolerance):
            return True
        if k > 1 and size > STALL_RATIO * before:
            return size <= 1e3 * ROUND_OFF * extent_of(step.discrete_motions) / abs(h * rate_scale)
        before = size
    return False


@formula
def is_converged(size, before, tolerance):
    """Return whether the remaining corrections, extrapolated from the last two, stay below the tolerance."""
    ratio = max(size / before, MIN_RATIO) if before < math.inf else 1.0
    return size <= tolerance or (ratio < STALL_RATIO and size * ratio <= tolerance * (1.0 - ratio))


@kernel
def extent_of(discrete_motions):
    """Return the largest absolute coordinate of a body, at least 1 m."""
    most = 1.0
    for i in range(1, len(discrete_motions)):
        x = load(discrete_motions[i].x)
        most = max(most, abs(x.x), abs(x.y), abs(x.z))
    return most
