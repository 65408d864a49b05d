"""A polytope that grows inside of the difference of two solids, A - B.

The difference holds every a - b.  It holds the origin where the solids meet; a plane that touches it, with the outward
normal n, is as far above the origin as A must go back along n to be free of B.  The polytope is known by its points,
each the furthest of the difference in some direction, and its triangles with their normals outward.

Source: van den Bergen, Collision Detection in Interactive 3D Environments, 2003 (expanding polytope algorithm).
"""

from __future__ import annotations

import math

import numpy as np

from multibody_cli.contacts.shapes.patch import direction
from multibody_cli.contacts.shapes.solid import ANY, support
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import UNIT, ZERO, cross, dot
from multibody_cli.spatial.values import Vec3

POINTS = 256
"""Points that a polytope has at most."""

SPARE = 4
"""Rows of points after those, for scratch."""

FACETS = 2 * POINTS

POINT = np.dtype([("e", "f8", 3), ("a", "f8", 3), ("b", "f8", 3), ("branch_a", "i8"), ("branch_b", "i8")])
"""A point e = a - b of the difference, and the branches of A and B on which a and b lie."""

FACET = np.dtype(
    [("normal", "f8", 3), ("offset", "f8"), ("distance", "f8"), ("doubt", "f8"), ("i", "i8"), ("j", "i8"), ("k", "i8")]
)
"""A triangle: its outward normal, how far its plane lies above the origin, its distance from there, by how much
round-off may have moved its plane at the other end of the polytope, and the rows of its corners."""

BESIDE = Vec3(3e-15, -7e-15, 5e-15)
"""Directions are asked for a hair beside: of points that are equally far, A and B then give the same side, and their
difference is a corner of the difference."""

ROUND_OFF = 2e-15
"""Share of the size of the solids that counts as nothing."""

DEGENERATE = 1e-26
"""Share of the square of its longest edge below which a triangle has no area, and no normal."""


@kernel
def put_point(convex, vertices, row, m, branch_a, branch_b):
    """Write the point that is furthest along m, on given branches or any."""
    point, m = convex.points[row], m + BESIDE
    a, branch_a = support(convex.solids[0], vertices, m, branch_a)
    b, branch_b = support(convex.solids[1], vertices, -m, branch_b)
    store(point.e, a - b)
    store(point.a, a)
    store(point.b, b)
    point.branch_a, point.branch_b = branch_a, branch_b
    return a - b


@kernel
def nearest_weights(a, b, c) -> tuple[float, float, float]:
    """Weights of the corners in the point of a triangle that is nearest to the origin.

    Source: Ericson, Real-Time Collision Detection, 5.1.5.
    """
    u, v = b - a, c - a
    d1, d2, d3, d4, d5, d6 = -dot(u, a), -dot(v, a), -dot(u, b), -dot(v, b), -dot(u, c), -dot(v, c)
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3)
        return 1.0 - t, t, 0.0
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        return 1.0 - t, 0.0, t
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1.0 - t, t
    scale = 1.0 / (va + vb + vc)
    return va * scale, vb * scale, vc * scale


@formula
def corners_of(convex, facet):
    """The three corners of a facet."""
    points = convex.points
    return load(points[facet.i].e), load(points[facet.j].e), load(points[facet.k].e)


@kernel
def put_facet(convex, row, i, j, k):
    """Write a facet; one without area is infinitely far away."""
    facet = convex.facets[row]
    facet.i, facet.j, facet.k = i, j, k
    a, b, c = corners_of(convex, facet)
    u, v, w = b - a, c - a, c - b
    across = cross(u, v)
    area = dot(across, across)
    longest = max(dot(u, u), dot(v, v), dot(w, w))
    store(facet.normal, ZERO)
    facet.offset = facet.distance = math.inf
    facet.doubt = 0.0
    if area > DEGENERATE * longest * longest:
        normal = (1.0 / math.sqrt(area)) * across
        store(facet.normal, normal)
        facet.doubt = ROUND_OFF * convex.solids[0].size * longest / math.sqrt(area)
        facet.offset = min(dot(normal, a), dot(normal, b), dot(normal, c))
        p, q, r = nearest_weights(a, b, c)
        nearest = p * a + q * b + r * c
        facet.distance = math.sqrt(dot(nearest, nearest))


@kernel
def begin(convex, vertices, normal):
    """Write a tetrahedron of points of the difference, the first of them along a direction."""
    p = put_point(convex, vertices, 0, normal, ANY, ANY)
    q = put_point(convex, vertices, 1, -normal, ANY, ANY)
    along, _ = direction(p - q, normal)
    least = 0
    for k in range(1, 3):
        if abs(along[k]) < abs(along[least]):
            least = k
    e, _ = direction(cross(along, UNIT[least]), UNIT.x)
    f = cross(along, e)
    _put_farthest(convex, vertices, 2, q, e, f, along)
    across, _ = direction(cross(p - q, load(convex.points[2].e) - q), f)
    _put_farthest(convex, vertices, 3, q, across, across, ZERO)
    if dot(across, load(convex.points[3].e) - q) > 0.0:
        i, j = 0, 1
    else:
        i, j = 1, 0
    put_facet(convex, 0, i, j, 2)
    put_facet(convex, 1, j, i, 3)
    put_facet(convex, 2, i, 2, 3)
    put_facet(convex, 3, 2, j, 3)
    return 4, 4


@kernel
def _put_farthest(convex, vertices, row, base, e, f, along):
    """Write the point along e, -e, f or -f that lies furthest from the line through `base`, or from the plane if 0."""
    best, far = e, -1.0
    for k in range(4):
        m = (1.0 if k % 2 == 0 else -1.0) * (e if k < 2 else f)
        p = put_point(convex, vertices, row, m, ANY, ANY) - base
        p = p - dot(p, along) * along
        apart = dot(p, p) if dot(along, along) > 0.0 else abs(dot(p, e))
        if apart > far:
            best, far = m, apart
    put_point(convex, vertices, row, best, ANY, ANY)


@kernel
def expand(convex, facets, row) -> int:
    """Take in the point of a row: the facet that it is highest above, and those around it that see it, give way.

    Gives the number of facets, or -1 where none sees the point, or there is no room.
    """
    p, edges, seed, highest = load(convex.points[row].e), convex.edges, -1, 0.0
    for k in range(facets):
        facet = convex.facets[k]
        above = dot(load(facet.normal), p) - facet.offset - facet.doubt
        if above > highest:
            seed, highest = k, above
    if seed < 0:
        return -1
    count, k = _take_off(convex, facets - 1, seed, 0), 0
    facets -= 1
    while k < facets:
        facet = convex.facets[k]
        if dot(load(facet.normal), p) > facet.offset + facet.doubt and _borders(edges, count, facet):
            if count + 3 > len(edges):
                return -1
            facets -= 1
            count, k = _take_off(convex, facets, k, count), 0
        else:
            k += 1
    if facets + count > len(convex.facets):
        return -1
    for k in range(count):
        put_facet(convex, facets + k, edges[k, 0], edges[k, 1], row)
    return facets + count


@kernel
def _take_off(convex, last, k, count):
    """Take facet k off, whose place the last one takes; its edges go to the list of those on the rim of the hole."""
    facet = convex.facets[k]
    count = _toggle(convex.edges, count, facet.i, facet.j)
    count = _toggle(convex.edges, count, facet.j, facet.k)
    count = _toggle(convex.edges, count, facet.k, facet.i)
    _copy(convex.facets[last], facet)
    return count


@formula
def _borders(edges, count, facet):
    """Whether a facet has an edge of the list, seen from its other side."""
    found = False
    for k in range(count):
        i, j = edges[k, 1], edges[k, 0]
        found = (
            found
            or (i == facet.i and j == facet.j)
            or (i == facet.j and j == facet.k)
            or (i == facet.k and j == facet.i)
        )
    return found


@kernel
def _toggle(edges, count, i, j):
    """Add the edge from i to j to a list, or take the one from j to i off it."""
    for k in range(count):
        if edges[k, 0] == j and edges[k, 1] == i:
            edges[k, 0], edges[k, 1] = edges[count - 1, 0], edges[count - 1, 1]
            return count - 1
    edges[count, 0], edges[count, 1] = i, j
    return count + 1


@kernel
def _copy(source, target):
    store(target.normal, load(source.normal))
    target.offset, target.distance, target.doubt = source.offset, source.distance, source.doubt
    target.i, target.j, target.k = source.i, source.j, source.k
