"""Friction directions with bounds and curvature, for the programs of the friction pass.

A disc is approximated at the projection of the friction (`conditions`): for sliding contacts by a half plane and a box,
with the curvature of the circle as a cost along it; for sticking contacts by a box.

A regular polygon of 2 k sides is the sum of k segments, so that its friction is k numbers within equal bounds.  It is
inscribed in the disc: friction is up to 1 - cos(pi / 2 k) too small, midway between corners.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.combinations import set_combination
from multibody_cli.contact_solver.friction.conditions import tangent_weight
from multibody_cli.contact_solver.friction.problem import normal_row
from multibody_cli.kernel import kernel
from multibody_cli.linalg.free_rows import zero_diagonal


@kernel
def add_equalities(P, S):
    """Add the equalities as unbounded rows; return the number of combined rows."""
    for i in range(P.equalities):
        set_combination(S.impulse_combinations, i, i, 1.0, 0.0, 0.0)
        bound(S, i, -math.inf, math.inf)
    return P.equalities


@kernel
def add_normals(P, k, S):
    """Add limits and normals as non-negative rows after the first k; return the number of combined rows."""
    for i in range(P.equalities, P.equalities + P.limits):
        set_combination(S.impulse_combinations, k, i, 1.0, 0.0, 0.0)
        bound(S, k, 0.0, math.inf)
        k += 1
    for c in range(len(P.mu)):
        set_combination(S.impulse_combinations, k, normal_row(P, c), 1.0, 0.0, 0.0)
        bound(S, k, 0.0, math.inf)
        k += 1
    return k


@kernel
def bound(S, k, lower, upper):
    """Set the bounds of a combined impulse."""
    S.lower[k] = lower
    S.upper[k] = upper
    S.diagonal_shift[k] = 0.0


@kernel
def add_discs(P, x, u, k, S):
    """Add radial and circumferential directions of all contacts after the first k rows; return the number of rows."""
    floor = zero_diagonal(P.W)
    for c in range(len(P.mu)):
        n = normal_row(P, c)
        radius, w = S.radius[c], max(tangent_weight(P, n), floor)
        y1, y2 = x[n + 1] - u[n + 1] / w, x[n + 2] - u[n + 2] / w
        length = math.hypot(y1, y2)
        d1, d2 = (y1 / length, y2 / length) if length > 0.0 else (1.0, 0.0)
        set_combination(S.impulse_combinations, k, n, 0.0, d1, d2)
        set_combination(S.impulse_combinations, k + 1, n, 0.0, -d2, d1)
        bound(S, k, -radius, radius)
        bound(S, k + 1, -radius, radius)
        if length > radius > 0.0:
            S.diagonal_shift[k + 1] = (length / radius - 1.0) * w
        k += 2
    return k


@kernel
def add_polygons(P, sides, k, S):
    """Add the segments of the polygons of all contacts after the first k rows; return the number of rows."""
    half = sides // 2
    for c in range(len(P.mu)):
        n = normal_row(P, c)
        half_length = S.radius[c] * math.sin(math.pi / sides)
        for h in range(half):
            angle = math.pi * h / half
            set_combination(S.impulse_combinations, k, n, 0.0, math.cos(angle), math.sin(angle))
            bound(S, k, -half_length, half_length)
            k += 1
    return k


@kernel
def clip_friction(P, radius, x):
    """Clip friction to its limit; return the largest relative excess."""
    excess = 0.0
    for c in range(len(P.mu)):
        n = normal_row(P, c)
        length = math.hypot(x[n + 1], x[n + 2])
        if length > radius[c]:
            excess = max(excess, (length - radius[c]) / length)
        while length > radius[c]:
            share = (1.0 - 1.2e-16) * radius[c] / length
            x[n + 1] *= share
            x[n + 2] *= share
            length = math.hypot(x[n + 1], x[n + 2])
    return excess
