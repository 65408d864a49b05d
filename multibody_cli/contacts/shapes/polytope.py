"""An expanding polytope inside the Minkowski difference A - B of two solids.

The difference is the set of all a - b.  It contains the origin if the solids intersect; a supporting plane with outward
normal n at distance d from the origin means that A separates from B by a translation of -d n.  The polytope is stored
as support points of the difference, and triangles with outward normals.

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
"""Largest number of points of a polytope."""

SPARE = 4
"""Additional rows of points, for scratch."""

FACETS = 2 * POINTS

POINT = np.dtype([("e", "f8", 3), ("a", "f8", 3), ("b", "f8", 3), ("branch_a", "i8"), ("branch_b", "i8")])
"""A point e = a - b of the difference, and the branches of A and B of a and b."""

FACET = np.dtype(
    [("normal", "f8", 3), ("offset", "f8"), ("distance", "f8"), ("doubt", "f8"), ("i", "i8"), ("j", "i8"), ("k", "i8")]
)
"""A triangle: outward normal, distance of its plane and of the triangle itself from the origin, possible error of the
plane due to round-off at the other end of the polytope, and rows of its corners.
"""

BESIDE = Vec3(3e-15, -7e-15, 5e-15)
"""Perturbation of support directions: among equally distant points A and B then return the same side, so that their
difference is a corner of the Minkowski difference.
"""

ROUND_OFF = 2e-15
"""Round-off relative to the size of the solids."""

DEGENERATE = 1e-26
"""Squared cross product of two edges, relative to the fourth power of the longest edge, of a degenerate triangle."""


@kernel
def write_support_point(convex, geometry, row, m, branch_a, branch_b):
    """Write the support point of the difference along m, on given branches or any; return it."""
    point, m = convex.points[row], m + BESIDE
    a, branch_a = support(convex.solids[0], geometry, m, branch_a)
    b, branch_b = support(convex.solids[1], geometry, -m, branch_b)
    store(point.e, a - b)
    store(point.a, a)
    store(point.b, b)
    point.branch_a, point.branch_b = branch_a, branch_b
    return a - b


@kernel
def nearest_weights(a, b, c) -> tuple[float, float, float]:
    """Return the barycentric weights of the point of a triangle nearest to the origin.

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
    """Return the three corners of a facet."""
    points = convex.points
    return load(points[facet.i].e), load(points[facet.j].e), load(points[facet.k].e)


@kernel
def write_facet(convex, row, i, j, k):
    """Write a facet; a degenerate facet has infinite distance."""
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
        facet.doubt = ROUND_OFF * convex.solids[0].pair_size * longest / math.sqrt(area)
        facet.offset = min(dot(normal, a), dot(normal, b), dot(normal, c))
        p, q, r = nearest_weights(a, b, c)
        nearest = p * a + q * b + r * c
        facet.distance = math.sqrt(dot(nearest, nearest))


@kernel
def begin(convex, geometry, normal):
    """Write an initial tetrahedron of support points, the first one along `normal`."""
    p = write_support_point(convex, geometry, 0, normal, ANY, ANY)
    q = write_support_point(convex, geometry, 1, -normal, ANY, ANY)
    along, _ = direction(p - q, normal)
    least = 0
    for k in range(1, 3):
        if abs(along[k]) < abs(along[least]):
            least = k
    e, _ = direction(cross(along, UNIT[least]), UNIT.x)
    f = cross(along, e)
    _put_farthest(convex, geometry, 2, q, e, f, along)
    across, _ = direction(cross(p - q, load(convex.points[2].e) - q), f)
    _put_farthest(convex, geometry, 3, q, across, across, ZERO)
    if dot(across, load(convex.points[3].e) - q) > 0.0:
        i, j = 0, 1
    else:
        i, j = 1, 0
    write_facet(convex, 0, i, j, 2)
    write_facet(convex, 1, j, i, 3)
    write_facet(convex, 2, i, 2, 3)
    write_facet(convex, 3, 2, j, 3)
    return 4, 4


@kernel
def _put_farthest(convex, geometry, row, base, e, f, along):
    """Write the support point along e, -e, f or -f farthest from the line through `base`, or from the plane.

    The line is parallel to `along`; if `along` is 0, the distance is that from the plane through `base` with normal e.
    """
    best, far = e, -1.0
    for k in range(4):
        m = (1.0 if k % 2 == 0 else -1.0) * (e if k < 2 else f)
        p = write_support_point(convex, geometry, row, m, ANY, ANY) - base
        p = p - dot(p, along) * along
        apart = dot(p, p) if dot(along, along) > 0.0 else abs(dot(p, e))
        if apart > far:
            best, far = m, apart
    write_support_point(convex, geometry, row, best, ANY, ANY)


@kernel
def expand(convex, facets, row) -> int:
    """Add a point to the polytope and replace the facets that it sees.

    Returns the number of facets, or -1 if no facet sees the point or the table is full.
    """
    p, edges, seed, highest = load(convex.points[row].e), convex.edges, -1, 0.0
    for k in range(facets):
        facet = convex.facets[k]
        above = dot(load(facet.normal), p) - facet.offset - facet.doubt
        if above > highest:
            seed, highest = k, above
    if seed < 0:
        return -1
    count, k = _remove_facet(convex, facets - 1, seed, 0), 0
    facets -= 1
    while k < facets:
        facet = convex.facets[k]
        if dot(load(facet.normal), p) > facet.offset + facet.doubt and _borders(edges, count, facet):
            if count + 3 > len(edges):
                return -1
            facets -= 1
            count, k = _remove_facet(convex, facets, k, count), 0
        else:
            k += 1
    if facets + count > len(convex.facets):
        return -1
    for k in range(count):
        write_facet(convex, facets + k, edges[k, 0], edges[k, 1], row)
    return facets + count


@kernel
def _remove_facet(convex, last, k, count):
    """Remove facet k; the last facet takes its row, and its edges are toggled in the list of horizon edges."""
    facet = convex.facets[k]
    count = _toggle(convex.edges, count, facet.i, facet.j)
    count = _toggle(convex.edges, count, facet.j, facet.k)
    count = _toggle(convex.edges, count, facet.k, facet.i)
    _copy(convex.facets[last], facet)
    return count


@formula
def _borders(edges, count, facet):
    """Return whether a facet has an edge of the list, in the opposite direction."""
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
    """Add the edge (i, j) to a list, or remove (j, i) from it; return the number of edges."""
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
