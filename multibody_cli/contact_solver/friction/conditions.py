"""Conditions of a friction problem, and their residuals.

    equalities  u = 0
    limits      x >= 0,      u >= 0,    x u = 0
    normals     alpha >= 0,  u_n >= 0,  alpha u_n = 0
    tangents    |beta| <= mu alpha,  and  u_t = 0 inside,  beta = -mu alpha u_t / |u_t| on the boundary

Each condition states that x is the projection of x - u / w onto its admissible set, for any w > 0.  With w the diagonal
of W, the difference times sqrt(w) is a velocity in the mass norm, the square root of an energy, independent of the
units of the row.  The *size* of a problem is the largest such velocity of a row without impulses, or the norm of the
impulses, sqrt(x.W x), if that is larger.

Source: Alart and Curnier, Comput. Methods Appl. Mech. Eng. 92 (1991).
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.problem import friction_limit, normal_row
from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.free_rows import zero_diagonal


@kernel
def compute_row_velocities(P, x, u):
    """Compute u = W x + r."""
    for i in range(len(P.r)):
        u[i] = P.r[i]
    for j in range(len(P.r)):
        if x[j] != 0.0:
            for i in range(len(P.r)):
                u[i] += P.W[j, i] * x[j]


@kernel
def tangent_weight(P, n):
    """Return the larger eigenvalue of the tangent block of W for the contact with normal row n."""
    a, b, c = P.W[n + 1, n + 1], P.W[n + 2, n + 1], P.W[n + 2, n + 2]
    return 0.5 * (a + c) + math.sqrt(0.25 * (a - c) * (a - c) + b * b)


@kernel
def problem_size(P, x, u):
    """Return the size of the problem, with u the velocities for the impulses x."""
    floor, largest, squared = zero_diagonal(P.W), 0.0, 0.0
    for i in range(len(P.r)):
        if P.W[i, i] > floor:
            largest = max(largest, abs(P.r[i]) / math.sqrt(P.W[i, i]))
        squared += x[i] * (u[i] - P.r[i])
    return max(largest, math.sqrt(max(squared, 0.0)))


@formula
def energy_change(P, x, u):
    """Return 1/2 x.W x + r.x: the change of kinetic energy if r are the velocities before the impulses."""
    total = 0.0
    for i in range(len(P.r)):
        total += 0.5 * x[i] * (u[i] + P.r[i])
    return total


@kernel
def normal_residual(P, x, u):
    """Return the largest residual of equalities, limits and normals."""
    floor, worst = zero_diagonal(P.W), 0.0
    first, last = P.equalities, P.equalities + P.limits
    for i in range(first):
        worst = max(worst, abs(u[i]) / math.sqrt(max(P.W[i, i], floor)))
    for i in range(first, last):
        worst = max(worst, one_sided_residual(P.W[i, i], x[i], u[i], floor))
    for c in range(len(P.mu)):
        n = normal_row(P, c)
        worst = max(worst, one_sided_residual(P.W[n, n], x[n], u[n], floor))
    return worst


@formula
def one_sided_residual(w, x, u, floor):
    """Return the residual of one unilateral row."""
    w = max(w, floor)
    return abs(x - max(x - u / w, 0.0)) * math.sqrt(w)


@kernel
def limit_friction(P, x, radius):
    """Compute the friction limits (contacts,) for the normal impulses."""
    for c in range(len(P.mu)):
        radius[c] = friction_limit(P.mu[c], x[normal_row(P, c)])


@kernel
def tangent_residual(P, radius, x, u):
    """Return the largest residual of the tangents, for discs of the given radii (contacts,)."""
    floor, worst = zero_diagonal(P.W), 0.0
    for c in range(len(P.mu)):
        n = normal_row(P, c)
        w = max(tangent_weight(P, n), floor)
        y1, y2 = x[n + 1] - u[n + 1] / w, x[n + 2] - u[n + 2] / w
        share = disc_scale(y1, y2, radius[c])
        worst = max(worst, math.hypot(x[n + 1] - share * y1, x[n + 2] - share * y2) * math.sqrt(w))
    return worst


@formula
def disc_scale(y1, y2, radius):
    """Return the factor that projects a vector onto a disc."""
    length = math.hypot(y1, y2)
    return radius / length if length > radius else 1.0
