"""Friction problems with their whole Delassus matrix, and the conditions of Coulomb's law.

    equalities  u = 0
    limits      l >= 0,      u >= 0,    l u = 0
    normals     alpha >= 0,  u_n >= 0,  alpha u_n = 0
    tangents    |beta| <= mu alpha,  and  u_t = 0 inside,  beta = -mu alpha u_t / |u_t| on the boundary

Each condition states that x is the projection of x - u / w onto its admissible set, for any w > 0 (Alart and Curnier,
Comput. Methods Appl. Mech. Eng. 92, 1991).  With w the diagonal of W, the difference times sqrt(w) is a velocity in the
mass norm, the square root of an energy, independent of the units of the row.  The *size* of a problem is the largest
such velocity of a row without impulses, or the norm of the impulses, sqrt(x.W x), if that is larger.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from multibody_cli.contact_solver.friction.problem import MIN_FRICTION_IMPULSE, PER_CONTACT, first_resistance
from multibody_cli.kernel import Floats, Integers, formula, kernel
from multibody_cli.linalg.free_rows import zero_diagonal

WITHIN = 1.0 - 2.0**-50
"""Factor of friction at its limit, so that round-off does not exceed the limit."""


class DenseProblem(NamedTuple):
    """A friction problem with rows as in `problem`."""

    W: Floats  # (m, m) symmetric, both triangles
    r: Floats  # (m,) velocities of the rows without impulses
    mu: Floats  # (discs,) coefficients of friction
    loads: Integers  # (resistances,) normal row of the contact of each trailing disc
    equalities: int
    constraint_rows: int  # number of equalities and of limits
    friction_patches: int  # number of leading contacts whose normal impulse is given


@formula
def normal_row(problem, c):
    """Return the normal row of contact c; its two tangent rows follow."""
    return problem.constraint_rows + PER_CONTACT * c


@kernel
def compute_row_velocities(problem, x, u):
    """Compute u = W x + r."""
    for i in range(len(x)):
        u[i] = problem.r[i]
        for j in range(len(x)):
            u[i] += problem.W[i, j] * x[j]


@kernel
def tangent_weight(problem, n):
    """Return the larger eigenvalue of the tangent block of W for the contact with normal row n."""
    a, b, c = problem.W[n + 1, n + 1], problem.W[n + 2, n + 1], problem.W[n + 2, n + 2]
    return max(0.5 * (a + c) + math.sqrt(0.25 * (a - c) * (a - c) + b * b), zero_diagonal(problem.W))


@formula
def friction_limit(problem, c, x):
    """Return the radius of disc c."""
    resistance = c - first_resistance(problem)
    load = problem.loads[resistance] if resistance >= 0 else normal_row(problem, c)
    radius = problem.mu[c] * max(x[load], 0.0)
    return radius if radius > MIN_FRICTION_IMPULSE else 0.0


@formula
def clipped(b1, b2, radius):
    """Return friction projected onto the disc of that radius."""
    length = max(math.hypot(b1, b2), MIN_FRICTION_IMPULSE)
    share = WITHIN * radius / length if length > radius else 1.0
    return share * b1, share * b2


@kernel
def problem_size(problem, x, u) -> float:
    """Return max |r| / sqrt(w) or sqrt(x.W x), the larger of both, or the load on a friction patch; 1 if all are 0.

    Rows without response have no velocity in the mass norm.  The size is infinite if sqrt(x.W x) is infinite or no
    number.
    """
    size, squared, floor = 0.0, 0.0, zero_diagonal(problem.W)
    for i in range(len(x)):
        if problem.W[i, i] > floor:
            size = max(size, abs(problem.r[i]) / math.sqrt(problem.W[i, i]))
        squared += x[i] * (u[i] - problem.r[i])
    for c in range(problem.friction_patches):
        n = normal_row(problem, c)
        size = max(size, x[n] * math.sqrt(tangent_weight(problem, n)))
    if not squared < math.inf:
        return math.inf
    size = max(size, math.sqrt(max(squared, 0.0)))
    return size if size > 0.0 else 1.0


@kernel
def relative_residual(problem, x, u) -> float:
    """Return the largest residual of all conditions relative to the size of the problem; u (m,) becomes W x + r.

    It is infinite if the size is.
    """
    compute_row_velocities(problem, x, u)
    floor, worst = zero_diagonal(problem.W), friction_residual(problem, x, u)
    for i in range(problem.equalities):
        worst = max(worst, abs(u[i]) / math.sqrt(max(problem.W[i, i], floor)))
    for i in range(problem.equalities, problem.constraint_rows):
        worst = max(worst, one_sided_residual(max(problem.W[i, i], floor), x[i], u[i]))
    for c in range(problem.friction_patches, first_resistance(problem)):
        n = normal_row(problem, c)
        worst = max(worst, one_sided_residual(max(problem.W[n, n], floor), x[n], u[n]))
    size = problem_size(problem, x, u)
    return worst / size if size < math.inf else math.inf


@formula
def one_sided_residual(w, x, u):
    """Return the residual of x >= 0, u >= 0, x u = 0."""
    return abs(x - max(x - u / w, 0.0)) * math.sqrt(w)


@kernel
def friction_residual(problem, x, u) -> float:
    """Return the largest residual of the tangents."""
    worst = 0.0
    for c in range(len(problem.mu)):
        n = normal_row(problem, c)
        w = tangent_weight(problem, n)
        b1, b2 = clipped(x[n + 1] - u[n + 1] / w, x[n + 2] - u[n + 2] / w, friction_limit(problem, c, x))
        worst = max(worst, math.hypot(x[n + 1] - b1, x[n + 2] - b2) * math.sqrt(w))
    return worst


@kernel
def scale_to_dissipate(problem, x, u):
    """Scale the impulses such that they do not increase the energy: 1/2 x.W x + r.x <= 0; u (m,) is W x + r."""
    work = squared = 0.0
    for i in range(len(x)):
        work += problem.r[i] * x[i]
        squared += x[i] * (u[i] - problem.r[i])
    if work + 0.5 * squared > 0.0:
        for i in range(len(x)):
            x[i] *= max(-work / squared, 0.0)
