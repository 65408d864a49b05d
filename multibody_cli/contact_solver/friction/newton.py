"""Semismooth Newton method on the conditions of all contacts.

The projection of x - u / w (`conditions`) determines whether each contact is open, sticks, or slides along d.  For
fixed modes the conditions are

    open     alpha = 0, beta = 0
    sticks   u_n = 0,  u_t = 0
    slides   u_n = 0,  beta = mu alpha d + tau t,  (1 - k) w tau + k t.u_t = 0      t across d,  k = mu alpha / |y|

one linear system, not symmetric if contacts slide, because a normal impulse changes the friction.  Modes are updated
after each step.  Steps are of minimum norm, so that redundant contacts stay close to the distribution found by the
passes.

The method does not converge globally.  Its result is accepted only if all conditions are met within the tolerance.

Source: Alart and Curnier, Comput. Methods Appl. Mech. Eng. 92 (1991).
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.combinations import (
    add_combined_impulses,
    combined_entry,
    combined_velocity,
    set_combination,
)
from multibody_cli.contact_solver.friction.conditions import (
    compute_row_velocities,
    limit_friction,
    normal_residual,
    problem_size,
    tangent_residual,
    tangent_weight,
)
from multibody_cli.contact_solver.friction.friction_pass import EXACT
from multibody_cli.contact_solver.friction.problem import friction_limit, normal_row
from multibody_cli.contact_solver.friction.tangent_frames import clip_friction
from multibody_cli.kernel import kernel
from multibody_cli.linalg.free_rows import zero_diagonal
from multibody_cli.linalg.least_norm import solve_least_norm_system

MAX_STEPS = 12
"""Largest number of steps."""

MAX_FAILED_STEPS = 4
"""Steps in a row that may fail to lower the residual."""


@kernel
def polish(P, tolerance, x, S):
    """Solve all conditions from x; return the number of steps and the relative residual.  x changes only on success."""
    least, failed, steps = math.inf, 0, 0
    for i in range(len(x)):
        S.last[i] = x[i]
    while True:
        clip_impulses(P, S.last, S)
        compute_row_velocities(P, S.last, S.u)
        size = problem_size(P, S.last, S.u)
        residual = max(normal_residual(P, S.last, S.u), tangent_residual(P, S.radius, S.last, S.u))
        if residual < least:
            failed = 0 if residual < 0.5 * least else failed + 1
            least = residual
            for i in range(len(x)):
                S.best[i] = S.last[i]
        else:
            failed += 1
        relative = least / size if size > 0.0 else least
        good = relative <= tolerance
        if (
            not (residual < math.inf)
            or relative <= EXACT
            or steps == MAX_STEPS
            or failed == (1 if good else MAX_FAILED_STEPS)
        ):
            break
        newton_step(P, S.last, S)
        steps += 1
    if good:
        for i in range(len(x)):
            x[i] = S.best[i]
    return steps, relative


@kernel
def clip_impulses(P, x, S):
    """Clip negative unilateral impulses to 0, and friction to its limits."""
    for i in range(P.equalities, P.equalities + P.limits):
        x[i] = max(x[i], 0.0)
    for c in range(len(P.mu)):
        x[normal_row(P, c)] = max(x[normal_row(P, c)], 0.0)
    limit_friction(P, x, S.radius)
    clip_friction(P, S.radius, x)


@kernel
def newton_step(P, x, S):
    """Apply one Newton step to x."""
    compute_row_velocities(P, x, S.u)
    n = write_conditions(P, x, S.u, S)
    compute_row_velocities(P, x, S.u)
    for i in range(n):
        S.b[i] = -combined_velocity(S.velocity_combinations, i, S.u)
        if S.diagonal_shift[i] != 0.0:
            S.b[i] -= S.diagonal_shift[i] * (
                S.impulse_combinations.a[i, 1] * x[S.impulse_combinations.first[i] + 1]
                + S.impulse_combinations.a[i, 2] * x[S.impulse_combinations.first[i] + 2]
            )
        for k in range(n):
            S.V[i, k] = combined_entry(S.velocity_combinations, i, P.W, S.impulse_combinations, k) * S.scale[k]
        S.V[i, i] += S.diagonal_shift[i] * S.scale[i]
        for k in range(n):
            S.V[i, k] *= S.weight[i]
        S.b[i] *= S.weight[i]
    solve_least_norm_system(S.V, n, S.b, S.order, S.y, S.solver.factors)
    for k in range(n):
        S.y[k] *= S.scale[k]
    add_combined_impulses(S.impulse_combinations, n, S.y, x)


@kernel
def write_conditions(P, x, u, S):
    """Write the conditions of all rows for their current modes; return their number."""
    floor, n = zero_diagonal(P.W), 0
    for i in range(P.equalities + P.limits):
        w = P.W[i, i]
        if i < P.equalities or x[i] * w > u[i]:
            if w > floor:
                n = write_row(S, n, i, 1.0, 0.0, 0.0, 1.0 / math.sqrt(w))
        else:
            x[i] = 0.0
    for c in range(len(P.mu)):
        n = write_contact(P, c, n, floor, x, u, S)
    return n


@kernel
def write_row(S, k, first, a0, a1, a2, scale):
    """Write a condition of zero velocity; return the next row."""
    set_combination(S.impulse_combinations, k, first, a0, a1, a2)
    set_combination(S.velocity_combinations, k, first, a0, a1, a2)
    S.scale[k] = scale
    S.weight[k] = scale
    S.diagonal_shift[k] = 0.0
    return k + 1


@kernel
def write_contact(P, c, k, floor, x, u, S):
    """Write the conditions of one contact; return the next row."""
    n = normal_row(P, c)
    alpha, w_n, w = x[n] - u[n] / max(P.W[n, n], floor), P.W[n, n], max(tangent_weight(P, n), floor)
    if not alpha > 0.0 or w_n <= floor:
        x[n] = x[n + 1] = x[n + 2] = 0.0
        return k
    k = write_row(S, k, n, 1.0, 0.0, 0.0, 1.0 / math.sqrt(w_n))
    radius = friction_limit(P.mu[c], alpha)
    if radius == 0.0:
        x[n + 1] = x[n + 2] = 0.0
        return k
    scale = 1.0 / math.sqrt(w)
    y1, y2 = x[n + 1] - u[n + 1] / w, x[n + 2] - u[n + 2] / w
    length = math.hypot(y1, y2)
    if length <= radius:
        k = write_row(S, k, n, 0.0, 1.0, 0.0, scale)
        return write_row(S, k, n, 0.0, 0.0, 1.0, scale)
    d1, d2, share = y1 / length, y2 / length, radius / length
    across = d1 * x[n + 2] - d2 * x[n + 1]
    x[n + 1] = P.mu[c] * x[n] * d1 - across * d2
    x[n + 2] = P.mu[c] * x[n] * d2 + across * d1
    set_combination(S.impulse_combinations, k - 1, n, 1.0, P.mu[c] * d1, P.mu[c] * d2)
    S.scale[k - 1] = 1.0 / (math.sqrt(w_n) + P.mu[c] * math.sqrt(w))
    k = write_row(S, k, n, 0.0, -d2, d1, scale)
    set_combination(S.velocity_combinations, k - 1, n, 0.0, -share * d2, share * d1)
    S.diagonal_shift[k - 1] = (1.0 - share) * w
    return k
