"""Path following for the smoothed Coulomb's law: a globalization of Newton's method.

Coulomb's law is nonsmooth, and Newton's method may cycle if many contacts slide and press on each other.  Smoothed by
sigma (`smoothed_law`) the equations are smooth, and their solutions for all sigma form a path.  Each step reduces sigma
to a tenth.  It is shortened if it leaves the neighbourhood of the path, where the residual exceeds sigma.

Source: Qi, Sun and Zhou, A new look at smoothing Newton methods, Math. Program. 87 (2000).
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.problem import PER_CONTACT, step_along
from multibody_cli.contact_solver.friction.rescue.smoothed_law import compute_residual, compute_step, initialize
from multibody_cli.kernel import lazy_kernel

SMOOTHING_REDUCTION = 0.1
"""Smallest ratio of sigma between consecutive steps."""

MAX_STEPS = 60
"""Largest number of Newton steps."""

SHORT_STEP, MIN_STEP, MAX_SHORT_STEPS = 0.1, 1e-3, 10
"""Fraction of a short step, smallest fraction, and number of short steps in a row that ends a path."""


@lazy_kernel
def follow_path(problem, xi0, compliance, first, last, x, xi, scratch, matrix) -> tuple[int, bool]:
    """Follow the path from sigma = `first` to `last`, relative to the velocities of the problem.

    The guess x (m,) is replaced by the impulses at the end, and xi (n,) by their normal velocities.  Returns the number
    of steps, and whether the end of the path was reached.
    """
    n, m, steps, short = len(xi), len(x), 0, 0
    size = initialize(problem, xi0, x, xi, scratch)
    sigma, least, near = first * size, last * size, math.sqrt(m / PER_CONTACT)
    residual = compute_residual(problem, compliance, sigma, xi0, scratch.y[:m], xi, scratch)
    while (
        steps < MAX_STEPS
        and short < MAX_SHORT_STEPS
        and residual < math.inf
        and (sigma > least or residual > near * sigma)
    ):
        target = max(SMOOTHING_REDUCTION * sigma, 0.9 * least) if residual <= near * sigma else sigma
        compute_step(problem, compliance, sigma, target, n, scratch, matrix)
        share, then, then_left, taken = 2.0, sigma, math.inf, False
        while not taken and share > MIN_STEP:
            share *= 0.5
            then = math.sqrt(sigma * sigma + share * (target * target - sigma * sigma))
            step_along(scratch.y[:m], share, scratch.y_step, scratch.y_trial)
            step_along(xi, share, scratch.xi_step, scratch.xi_trial)
            then_left = compute_residual(
                problem, compliance, then, xi0, scratch.y_trial[:m], scratch.xi_trial[:n], scratch
            )
            taken = then_left < (1.0 - 0.1 * share) * residual or (target < sigma and then_left <= near * then)
        step_along(scratch.y[:m], share, scratch.y_step, scratch.y)
        step_along(xi, share, scratch.xi_step, xi)
        sigma, residual = then, then_left
        short = short + 1 if share < SHORT_STEP else 0
        steps += 1
    if not residual < math.inf:
        return steps, False
    for k in range(m):
        x[k] = scratch.x[k] / scratch.unit[k]
    return steps, sigma <= least and residual <= near * sigma
