"""The end of the way: Newton's method on the conditions of all contacts at once.

Where x - u / w would be projected to (`conditions`) tells what each contact does: it is open, sticks or slides along
d.  With that held, its conditions are

    open     alpha = 0, beta = 0
    sticks   u_n = 0,  u_t = 0
    slides   u_n = 0,  beta = mu alpha d + tau t,  (1 - k) w tau + k t.u_t = 0      t across d,  k = mu alpha / |y|

and one linear system answers for all of them, not symmetric where contacts slide, for then a normal impulse brings its
friction along.  What contacts do is asked again after each step.  The steps are of least norm: redundant contacts stay
as near as they can to how the passes let them share.

Nothing makes this converge from anywhere.  It is tried, and taken only if all conditions are met to the tolerance.

Source: Alart and Curnier, Comput. Methods Appl. Mech. Eng. 92 (1991).
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.combinations import combined, expand, product, put
from multibody_cli.contact_solver.friction.conditions import (
    find_velocities,
    limit_friction,
    normal_residual,
    size_of,
    tangent_residual,
    tangent_weight,
)
from multibody_cli.contact_solver.friction.friction_pass import EXACT
from multibody_cli.contact_solver.friction.problem import friction_limit, normal_row
from multibody_cli.contact_solver.friction.tangent_frames import pull_inside
from multibody_cli.kernel import kernel
from multibody_cli.linalg.free_rows import zero_diagonal
from multibody_cli.linalg.least_norm import solve_any

STEPS = 12
"""Steps of one attempt, at most."""

PATIENCE = 4
"""Steps in a row that may fail to lower the residual."""


@kernel
def finish(P, tolerance, x, S):
    """Try to meet all conditions from x: the steps made, and the relative residual; if it is not met x stays."""
    least, failed, steps = math.inf, 0, 0
    for i in range(len(x)):
        S.last[i] = x[i]
    while True:
        clean(P, S.last, S)
        find_velocities(P, S.last, S.u)
        size = size_of(P, S.last, S.u)
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
        if not (residual < math.inf) or relative <= EXACT or steps == STEPS or failed == (1 if good else PATIENCE):
            break
        step(P, S.last, S)
        steps += 1
    if good:
        for i in range(len(x)):
            x[i] = S.best[i]
    return steps, relative


@kernel
def clean(P, x, S):
    """Let x be what it may be: no impulse pulls, no friction is beyond its limit."""
    for i in range(P.equalities, P.equalities + P.limits):
        x[i] = max(x[i], 0.0)
    for c in range(len(P.mu)):
        x[normal_row(P, c)] = max(x[normal_row(P, c)], 0.0)
    limit_friction(P, x, S.radius)
    pull_inside(P, S.radius, x)


@kernel
def step(P, x, S):
    """One step of Newton's method."""
    find_velocities(P, x, S.u)
    n = write_conditions(P, x, S.u, S)
    find_velocities(P, x, S.u)
    for i in range(n):
        S.b[i] = -combined(S.read, i, S.u)
        if S.shift[i] != 0.0:
            S.b[i] -= S.shift[i] * (S.made.a[i, 1] * x[S.made.first[i] + 1] + S.made.a[i, 2] * x[S.made.first[i] + 2])
        for k in range(n):
            S.V[i, k] = product(S.read, i, P.W, S.made, k) * S.scale[k]
        S.V[i, i] += S.shift[i] * S.scale[i]
        for k in range(n):
            S.V[i, k] *= S.weight[i]
        S.b[i] *= S.weight[i]
    solve_any(S.V, n, S.b, S.order, S.y, S.solver.factors)
    for k in range(n):
        S.y[k] *= S.scale[k]
    expand(S.made, n, S.y, x)


@kernel
def write_conditions(P, x, u, S):
    """Ask what each row does, and write its conditions; impulses that its doing rules out are taken from x."""
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
    """A combined row whose velocity is to be 0."""
    put(S.made, k, first, a0, a1, a2)
    put(S.read, k, first, a0, a1, a2)
    S.scale[k] = scale
    S.weight[k] = scale
    S.shift[k] = 0.0
    return k + 1


@kernel
def write_contact(P, c, k, floor, x, u, S):
    """The conditions of one contact."""
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
    put(S.made, k - 1, n, 1.0, P.mu[c] * d1, P.mu[c] * d2)
    S.scale[k - 1] = 1.0 / (math.sqrt(w_n) + P.mu[c] * math.sqrt(w))
    k = write_row(S, k, n, 0.0, -d2, d1, scale)
    put(S.read, k - 1, n, 0.0, -share * d2, share * d1)
    S.shift[k - 1] = (1.0 - share) * w
    return k
