"""Newton's method for the direction of largest separation, or smallest penetration, of two solids.

The gap along a unit vector n is s(n) = -n.e, where e is the support point of the difference A - B along n; the signed
distance is its maximum.  On each branch k of the difference (`solid`) it is smooth, with the gradient -e_k, and all
branches have the same second derivative -H.  If the maximum is on several branches, their gaps are equal, and the
projection of the origin along n is a mean of theirs with non-negative weights:

    maximize s  such that  s <= -n.e_k,  |n| = 1

Steps d perpendicular to n solve its conditions to first order; three branches need no curvature, and one is Newton's
method on the sphere, with H + s 1.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.shapes.patch import direction
from multibody_cli.contacts.shapes.polytope import POINTS, write_support_point
from multibody_cli.contacts.shapes.solid import ANY, support_hessian
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import UNIT, ZERO, cross, dot
from multibody_cli.spatial.values import Vec3

STEPS = 30
LAST = 1e-9
"""Smallest step, radians: the remaining error is its square."""

LARGEST = 0.3
"""Largest step, radians."""

EXACT = 2e-14
"""Difference of the branches at convergence, relative to the size of the shapes."""

OUTSIDE = 1e-11
"""Weights above minus this value count as non-negative."""


@formula
def across(n):
    """Return two unit vectors perpendicular to a unit vector and to each other."""
    e, _ = direction(cross(n, UNIT.x if abs(n.x) < 0.7 else UNIT.y), UNIT.z)
    return e, cross(n, e)


@kernel
def _list_branch(convex, count, corner):
    """Add the branches of a polytope corner to the scratch rows, unless present; return their number."""
    a, b = convex.points[corner].branch_a, convex.points[corner].branch_b
    for k in range(POINTS, POINTS + count):
        if convex.points[k].branch_a == a and convex.points[k].branch_b == b:
            return count
    point = convex.points[POINTS + count]
    point.branch_a, point.branch_b = a, b
    return count + 1


@kernel
def _step(convex, count, n, e, f) -> tuple[float, float, float, float]:
    """Return the step along e and f, infinite if there is none, and the weights of the branches."""
    p = load(convex.points[POINTS].e)
    s = -dot(n, p)
    x0, y0 = dot(e, p), dot(f, p)
    if count == 3:
        q, r = load(convex.points[POINTS + 1].e), load(convex.points[POINTS + 2].e)
        x1, y1, x2, y2 = dot(e, q) - x0, dot(f, q) - y0, dot(e, r) - x0, dot(f, r) - y0
        z1, z2 = dot(n, q) + s, dot(n, r) + s
        determinant = x1 * y2 - x2 * y1
        if determinant == 0.0:
            return math.inf, 0.0, 0.0, 0.0
        v, w = (x2 * y0 - x0 * y2) / determinant, (x0 * y1 - x1 * y0) / determinant
        return (y1 * z2 - y2 * z1) / determinant, (x2 * z1 - x1 * z2) / determinant, v, w
    ee, ef, ff = support_hessian(convex.solids[0], n, e, f)
    ge, gef, gff = support_hessian(convex.solids[1], -n, e, f)
    ee, ef, ff = ee + ge + s, ef + gef, ff + gff + s
    if count == 1:
        determinant = ee * ff - ef * ef
        if not (determinant > 0.0 and ee > 0.0):  # not near a maximum: uphill, as far as may be
            slope = math.sqrt(x0 * x0 + y0 * y0)
            return (-x0 / slope, -y0 / slope, 0.0, 0.0) if slope > 0.0 else (math.inf, 0.0, 0.0, 0.0)
        return (ef * y0 - ff * x0) / determinant, (ef * x0 - ee * y0) / determinant, 0.0, 0.0
    q = load(convex.points[POINTS + 1].e)
    x1, y1 = dot(e, q) - x0, dot(f, q) - y0
    length = math.sqrt(x1 * x1 + y1 * y1)
    if not length > 0.0:
        return math.inf, 0.0, 0.0, 0.0
    c, d = x1 / length, y1 / length  # along the difference of the branches; (-d, c) is across it
    along = -(dot(n, q) + s) / length
    stiff, coupled = d * d * ee - 2.0 * c * d * ef + c * c * ff, c * d * (ff - ee) + (c * c - d * d) * ef
    if not stiff > 0.0:
        return math.inf, 0.0, 0.0, 0.0
    side = (d * x0 - c * y0 - coupled * along) / stiff
    return c * along - d * side, d * along + c * side, -(c * x0 + d * y0) / length, 0.0


@kernel
def refine(convex, geometry, facet, weights, n) -> tuple[bool, Vec3, float, Vec3]:
    """Improve a direction on the branches of the corners of a facet that have a weight.

    Returns whether it is the exact one, the direction, the gap and the middle between the points of A and B.
    """
    count = 0
    if weights[0] > 0.0:
        count = _list_branch(convex, count, facet.i)
    if weights[1] > 0.0:
        count = _list_branch(convex, count, facet.j)
    if weights[2] > 0.0:
        count = _list_branch(convex, count, facet.k)
    for _ in range(STEPS):
        for k in range(POINTS, POINTS + count):
            write_support_point(convex, geometry, k, n, convex.points[k].branch_a, convex.points[k].branch_b)
        e, f = across(n)
        x, y, v, w = _step(convex, count, n, e, f)
        length = math.sqrt(x * x + y * y)
        if not length < math.inf:
            break
        if length < LAST:
            return _examined(convex, geometry, count, direction(n + x * e + y * f, n)[0], v, w)
        share = min(1.0, LARGEST / length)
        n, _ = direction(n + (share * x) * e + (share * y) * f, n)
    return False, n, 0.0, ZERO


@kernel
def _examined(convex, geometry, count, n, v, w) -> tuple[bool, Vec3, float, Vec3]:
    """Check that no branch is nearer and that the nearest point is inside the simplex of the branches."""
    gap = -dot(n, write_support_point(convex, geometry, POINTS + count, n, ANY, ANY))
    highest, middle = -math.inf, ZERO
    for k in range(count):
        p = write_support_point(
            convex, geometry, POINTS + k, n, convex.points[POINTS + k].branch_a, convex.points[POINTS + k].branch_b
        )
        share = 1.0 - v - w if k == 0 else (v if k == 1 else w)
        point = convex.points[POINTS + k]
        middle = middle + (0.5 * share) * (load(point.a) + load(point.b))
        gap, highest = min(gap, -dot(n, p)), max(highest, -dot(n, p))
    exact = highest - gap <= EXACT * convex.solids[0].pair_size and min(v, w) >= -OUTSIDE and v + w <= 1.0 + OUTSIDE
    return exact, n, gap, middle
