"""Signed distance of two convex solids, with direction and midpoint, for separated and penetrating solids.

A polytope expands inside the Minkowski difference of the solids (`polytope`) toward the origin, if the origin is
outside, or toward the nearest part of its own surface.  Each support direction has a lower bound of the distance, and
the polytope an upper bound.  The bounds meet after finitely many steps for polyhedra; for round solids, Newton's
method is applied to the last facet (`tangency`).

Bodies at rest have gaps or penetrations of round-off.  The direction is then the normal of a facet, which has finite
size, and not the vector between the nearest points, which is noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from multibody_cli.contacts.shapes.patch import direction
from multibody_cli.contacts.shapes.polytope import (
    POINTS,
    begin,
    corners_of,
    expand,
    nearest_weights,
    write_support_point,
)
from multibody_cli.contacts.shapes.solid import ANY, support
from multibody_cli.contacts.shapes.tangency import refine
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import UNIT, ZERO, dot
from multibody_cli.spatial.values import Vec3

LAST_POINT = POINTS - 1

CLOSE = 1e-13
"""Final difference of the bounds, relative to the size of the solids."""

NEAR_APART, NEAR_INSIDE = 1e-3, 1e-8
"""Likewise, from which Newton's method is tried: apart, its result is the only maximum; inside, there may be others,
which differ by less than this."""

SLOWER = 0.03
"""Factor to the bound at which Newton's method is tried again."""

SHORT = 1e-9
"""Distance, relative to the size of the solids, below which the direction between nearest points is noise."""

ALMOST_ONE = 1e-5
"""Distance, relative to the size of the solids, within which corners are one point that moves with the direction."""


class Closest(NamedTuple):
    """Direction from A to B, signed distance, and midpoint of the nearest points of two solids."""

    normal: Vec3
    gap: float
    middle: Vec3


@kernel
def closest(convex, geometry, limit) -> Closest:
    """Return the signed distance of two solids without their balls, or a bound above `limit` if it exceeds `limit`."""
    size = convex.solids[0].pair_size
    normal, _ = direction(load(convex.solids[1].x) - load(convex.solids[0].x), UNIT.z)
    gap = -dot(normal, write_support_point(convex, geometry, 0, normal, ANY, ANY))
    if gap >= limit:
        return Closest(normal, gap, ZERO)
    points, facets = begin(convex, geometry, normal)
    round_off, near_apart, near_inside = CLOSE * size, NEAR_APART * size, NEAR_INSIDE * size
    ended = False
    while not ended:
        row, apart = _facing(convex, facets, size)
        facet = convex.facets[row]
        i, j, k = facet.i, facet.j, facet.k
        weights, upper, normal = _next_direction(convex, facet, apart, size)
        gap = -dot(normal, write_support_point(convex, geometry, points, normal, ANY, ANY))
        if gap >= limit:
            return Closest(normal, gap, ZERO)
        ended = upper - gap <= round_off or points == LAST_POINT
        if ended or upper - gap <= (near_apart if apart else near_inside):
            exact, refined, best, middle = refine(convex, geometry, facet, weights, normal)
            if exact and best >= gap - round_off:
                return Closest(refined, best, middle)
            near_apart, near_inside = SLOWER * near_apart, SLOWER * near_inside
        if not ended:
            facets = expand(convex, facets, points)
            points += 1
            ended = facets < 0
    gap = upper if apart else gap
    return Closest(normal, gap, _middle(convex, geometry, i, j, k, weights, normal, gap))


@kernel
def _facing(convex, facets, size) -> tuple[int, bool]:
    """The facet nearest to the origin, of those that it sees if it is outside; and whether it is.

    Of equally near ones it is the one whose plane is as far as itself.
    """
    apart = False
    for k in range(facets):
        apart = apart or convex.facets[k].offset < 0.0
    nearest, least = 0, math.inf
    for k in range(facets):
        facet = convex.facets[k]
        if facet.distance < least and (facet.offset < 0.0 or not apart):
            nearest, least = k, facet.distance
    bound = least + CLOSE * size
    for k in range(facets):
        facet = convex.facets[k]
        seen = facet.distance <= bound and (facet.offset < 0.0 or not apart)
        if seen and abs(facet.offset) > abs(convex.facets[nearest].offset):
            nearest = k
    return nearest, apart


@kernel
def _next_direction(convex, facet, apart, size) -> tuple[tuple[float, float, float], float, Vec3]:
    """Return the weights of the nearest point of a facet, the upper bound, and the next support direction."""
    a, b, c = corners_of(convex, facet)
    normal = load(facet.normal)
    if not apart:
        foot = facet.offset * normal
        return nearest_weights(a - foot, b - foot, c - foot), -facet.offset, normal
    weights = nearest_weights(a, b, c)
    p = weights[0] * a + weights[1] * b + weights[2] * c
    if facet.distance + facet.offset > CLOSE * size and facet.distance > SHORT * size:
        normal, _ = direction(-p, normal)
    return weights, facet.distance, normal


@kernel
def _middle(convex, geometry, i, j, k, weights, normal, gap) -> Vec3:
    """The middle between the nearest points of A and B.

    Of corners that are almost one point of a round solid the one along the normal is more exact than their mean.
    """
    p, q, r = convex.points[i], convex.points[j], convex.points[k]
    heaviest = p if weights[0] >= max(weights[1], weights[2]) else (q if weights[1] >= weights[2] else r)
    for side in range(2):
        u, v, w = (load(p.a), load(q.a), load(r.a)) if side == 0 else (load(p.b), load(q.b), load(r.b))
        spread = max(dot(v - u, v - u), dot(w - u, w - u))
        if spread < (ALMOST_ONE * convex.solids[0].pair_size) ** 2:
            if side == 0:
                return support(convex.solids[0], geometry, normal, heaviest.branch_a)[0] + (0.5 * gap) * normal
            return support(convex.solids[1], geometry, -normal, heaviest.branch_b)[0] - (0.5 * gap) * normal
    middle = weights[0] * (load(p.a) + load(p.b)) + weights[1] * (load(q.a) + load(q.b))
    return 0.5 * (middle + weights[2] * (load(r.a) + load(r.b)))
