"""Newton's method for one proximal iteration: gamma = P(x - u / R), u = B xi + b, xi = xi0 + B^T gamma (`proximal`).

P is piecewise smooth.  A step is shortened a few times at most, because an iteration with more compliance is cheaper
than many short steps.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.block_matrix import add_rows, clear, eliminate, substitute
from multibody_cli.contact_solver.friction.rescue.central_path import step_along
from multibody_cli.contact_solver.friction.cones import project
from multibody_cli.contact_solver.friction.problem import PER_CONTACT, accumulate_transposed, compute_row_velocities
from multibody_cli.kernel import kernel

MAX_STEPS = 12
"""Largest number of steps."""

MIN_SHARE = 0.3
"""Share of a Newton step below which it is not shortened further."""

EQUATION_TOLERANCE, LOOSE_EQUATION_TOLERANCE = 1e-13, 1e-9
"""Residual of the equation for xi, relative to its terms: tolerance, and tolerance once steps no longer halve it."""


@kernel
def equation_residual(F, compliance, proximal_point, xi, S) -> tuple[float, float]:
    """Compute gamma, its derivatives, and the residual xi - xi0 - B^T gamma; return its norm and that of B^T gamma."""
    xi_residual = S.xi_residual[: len(xi)]
    compute_row_velocities(F, xi, S.u)
    for k in range(len(F.r)):
        S.y[k] = proximal_point[k] - S.u[k] / (compliance * F.w[k])
    project(F, S.y, S.gamma, S.D)
    norm = scale = 0.0
    for i in range(len(xi)):
        xi_residual[i] = 0.0
    accumulate_transposed(F, S.gamma, xi_residual)
    for i in range(len(xi)):
        scale += xi_residual[i] * xi_residual[i]
        xi_residual[i] = xi[i] - S.xi0[i] - xi_residual[i]
        norm += xi_residual[i] * xi_residual[i]
    return math.sqrt(norm), math.sqrt(scale)


@kernel
def compute_step(F, compliance, n, S):
    """Compute the Newton step from the result of `equation_residual` into `S.step`."""
    M = S.matrix
    clear(n, M)
    constraint_rows = F.equalities + F.limits
    for k in range(constraint_rows):
        if S.D[k, 0] != 0.0:
            add_rows(F, k, 1, S.D, 1.0 / (compliance * F.w[k]), M)
    for c in range(len(F.mu)):
        k = constraint_rows + PER_CONTACT * c
        if S.D[k, 0] != 0.0 and (c >= F.friction_patches or S.D[k + 1, 1] != 0.0 or S.D[k + 2, 2] != 0.0):
            add_rows(F, k, PER_CONTACT, S.D, 1.0 / (compliance * F.w[k]), M)
    eliminate(n, M)
    step = S.step[:n]
    for i in range(n):
        step[i] = -S.xi_residual[i]
    substitute(n, M, step)


@kernel
def follow_coulomb(F, compliance, accuracy, proximal_point, xi, S) -> tuple[int, bool]:
    """Solve for xi in place by Newton's method, updating gamma; return the number of steps, and convergence."""
    n = len(xi)
    norm, scale = equation_residual(F, compliance, proximal_point, xi, S)
    for steps in range(MAX_STEPS):
        if norm <= accuracy * scale:
            return steps, True
        compute_step(F, compliance, n, S)
        share = 1.0
        step_along(xi, share, S.step, S.trial[:n])
        now, scale = equation_residual(F, compliance, proximal_point, S.trial[:n], S)
        if now <= LOOSE_EQUATION_TOLERANCE * scale and now > 0.5 * norm:
            step_along(xi, share, S.step, xi)
            return steps + 1, True
        while not now < (1.0 - 0.1 * share) * norm and share > MIN_SHARE:
            share *= 0.5
            step_along(xi, share, S.step, S.trial[:n])
            now, scale = equation_residual(F, compliance, proximal_point, S.trial[:n], S)
        if not now < norm:
            return steps + 1, norm <= LOOSE_EQUATION_TOLERANCE * scale
        for i in range(n):
            xi[i] = S.trial[i]
        norm = now
    return MAX_STEPS, norm <= max(accuracy, LOOSE_EQUATION_TOLERANCE) * scale
