"""Along which directions friction is varied, how far, and what it costs.

Discs are approximated around where friction would be projected to (`conditions`): half planes beside a box for the
contacts that slide, with the curvature of the circle as a cost of going along it; a box for those that stick.

A regular polygon of 2 k sides is the sum of k segments, so friction is k numbers within equal bounds.  It lies inside
of the disc, corners on the circle: friction is up to 1 - cos(pi / 2 k) too small, half way between corners.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.combinations import put
from multibody_cli.contact_solver.friction.conditions import tangent_weight
from multibody_cli.contact_solver.friction.problem import normal_row
from multibody_cli.kernel import kernel
from multibody_cli.linalg.free_rows import zero_diagonal


@kernel
def place_equalities(P, S):
    """Let the equalities vary freely; how many combined rows there are."""
    for i in range(P.equalities):
        put(S.made, i, i, 1.0, 0.0, 0.0)
        bound(S, i, -math.inf, math.inf)
    return P.equalities


@kernel
def place_normals(P, k, S):
    """Let limits and normals push behind the first k combined rows; how many there are then."""
    for i in range(P.equalities, P.equalities + P.limits):
        put(S.made, k, i, 1.0, 0.0, 0.0)
        bound(S, k, 0.0, math.inf)
        k += 1
    for c in range(len(P.mu)):
        put(S.made, k, normal_row(P, c), 1.0, 0.0, 0.0)
        bound(S, k, 0.0, math.inf)
        k += 1
    return k


@kernel
def bound(S, k, lower, upper):
    """Bounds of a combined impulse."""
    S.lower[k] = lower
    S.upper[k] = upper
    S.shift[k] = 0.0


@kernel
def place_discs(P, x, u, k, S):
    """Radial and circumferential directions of all contacts, likewise."""
    floor = zero_diagonal(P.W)
    for c in range(len(P.mu)):
        n = normal_row(P, c)
        radius, w = S.radius[c], max(tangent_weight(P, n), floor)
        y1, y2 = x[n + 1] - u[n + 1] / w, x[n + 2] - u[n + 2] / w
        length = math.hypot(y1, y2)
        d1, d2 = (y1 / length, y2 / length) if length > 0.0 else (1.0, 0.0)
        put(S.made, k, n, 0.0, d1, d2)
        put(S.made, k + 1, n, 0.0, -d2, d1)
        bound(S, k, -radius, radius)
        bound(S, k + 1, -radius, radius)
        if length > radius > 0.0:
            S.shift[k + 1] = (length / radius - 1.0) * w
        k += 2
    return k


@kernel
def place_polygons(P, sides, k, S):
    """Segments of which the polygons are made, likewise."""
    half = sides // 2
    for c in range(len(P.mu)):
        n = normal_row(P, c)
        reach = S.radius[c] * math.sin(math.pi / sides)
        for h in range(half):
            angle = math.pi * h / half
            put(S.made, k, n, 0.0, math.cos(angle), math.sin(angle))
            bound(S, k, -reach, reach)
            k += 1
    return k


@kernel
def pull_inside(P, radius, x):
    """Shorten friction that is beyond its limit: the largest share by which any was."""
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
