"""Contacts of two convex solids: a patch over a face or along parallel edges, and the nearest points.

The direction of smallest distance or penetration comes from `closest`.  If a face of one solid is almost perpendicular
to it, the patch is the supporting face of the other solid clipped along that face, with the normal of the face;
otherwise two parallel edges may have two contacts.  The smallest gap of a pair is exact: the nearest points are an
additional contact if the patch does not contain them, or has another normal.

Features are numbers of faces and of edges, as for boxes: a corner of a patch is named after the faces of A and of B
and the two edges that meet there.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.contract import FACE_CORNERS
from multibody_cli.contacts.shapes.closest import closest
from multibody_cli.contacts.shapes.patch import direction, write_contact
from multibody_cli.contacts.shapes.planes import RIM
from multibody_cli.contacts.shapes.polygon import cut, reduce_corners
from multibody_cli.contacts.shapes.shown import (
    corner_of_supporting_face,
    face_toward,
    number_of_corners,
    supporting_edge,
    supporting_face,
)
from multibody_cli.contacts.shapes.solid import is_smooth, write_solid
from multibody_cli.contacts.shapes.tangency import across
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.products import cross, dot

ROCKING = 0.14
"""Sine of the angle between direction and face normal below which there is a patch over the face."""

TILTED = 1e-6
"""Sine of that angle above which the nearest points are added to the patch."""

SAME = 1e-9
"""Sine of the angle by which a face of B must be better aligned than one of A to be chosen."""

SIDE_BY_SIDE = 0.1
"""Sine of the angle below which edges are parallel."""

ROUND_OFF = 1e-9
"""Round-off relative to the size of the solids."""

MOST = 8
"""Largest number of points of a patch over a face."""

NEAREST = 0
BESIDE = 1
OVER = 3
"""Features of the nearest points, of the two ends where edges lie side by side, and from which on of patches."""

FACES = 2**20
NAMES = 2 * FACE_CORNERS
CUT_AT = 2 * RIM
"""Corners of a cap along which others are cut."""


@lazy_kernel
def convex_convex(geom_a, geom_b, a, b, geometry, margin, work, contacts, n) -> int:
    """Write the patch over a face or along edges, and the nearest points."""
    convex, origin, size = work.convex, a.x, geom_a.bounding_radius + geom_b.bounding_radius
    one, other = convex.solids[0], convex.solids[1]
    write_solid(geom_a, a, origin, size, one)
    write_solid(geom_b, b, origin, size, other)
    radii = one.radius + other.radius
    normal, gap, middle = closest(convex, geometry, margin + radii)
    gap, smallest = gap - radii, math.inf
    if not gap < margin:
        return n
    nearest = origin + middle + (0.5 * (one.radius - other.radius - gap)) * normal  # on the surface of A
    if not (is_smooth(one) or is_smooth(other)):
        face_a, up_a = face_toward(one, geometry, normal)
        face_b, up_b = face_toward(other, geometry, -normal)
        sine_a, sine_b = _sine(normal, up_a), _sine(-normal, up_b)
        if min(sine_a, sine_b) > ROCKING:
            n, smallest = _along_edges(convex, geometry, origin, normal, margin, contacts, n)
        else:
            tilted = min(sine_a, sine_b) > TILTED
            if tilted:
                n = write_contact(contacts, n, margin, nearest, normal, gap, NEAREST)
            holder = 1 if sine_b < sine_a - SAME else 0
            face, up = (face_b, up_b) if holder else (face_a, up_a)
            n, smallest = _over_face(convex, geometry, origin, holder, face, up, gap, margin, work.polygon, contacts, n)
            if tilted:
                return n
    if smallest > gap + ROUND_OFF * size:
        n = write_contact(contacts, n, margin, nearest, normal, gap, NEAREST)
    return n


@formula
def _sine(m, up):
    """Return the sine of the angle between a direction and a normal; above 1 if it is obtuse or the normal is 0."""
    s = cross(m, up)
    return math.sqrt(dot(s, s)) if dot(m, up) > 0.0 else 2.0


@kernel
def _lay_down(solid, geometry, face, count, m, base, e, f, up, first_name, polygon):
    """Write a face as a polygon in the axes e and f about a point, with its heights along `up`."""
    for k in range(count):
        p = corner_of_supporting_face(solid, geometry, face, k, count, m) - base
        polygon[k, 0], polygon[k, 1], polygon[k, 2], polygon[k, 3] = dot(p, e), dot(p, f), dot(p, up), first_name + k


@kernel
def _over_face(convex, geometry, origin, holder, face, up, floor, margin, polygon, contacts, n) -> tuple[int, float]:
    """Write the contacts over a face of solid number `holder`; return the next row and the smallest gap."""
    mine, other = convex.solids[holder], convex.solids[1 - holder]
    size, shown = mine.pair_size, supporting_face(other, geometry, -up)
    e, f = across(up)
    rim = number_of_corners(mine, geometry, face, CUT_AT)
    base = corner_of_supporting_face(mine, geometry, face, 0, rim, up)
    _lay_down(mine, geometry, face, rim, up, base, e, f, up, holder * FACE_CORNERS, polygon[2])
    count, source = number_of_corners(other, geometry, shown, RIM), 0
    closed = count > 2
    _lay_down(other, geometry, shown, count, -up, base, e, f, up, (1 - holder) * FACE_CORNERS, polygon[0])
    for k in range(rim):
        following = k + 1 if k + 1 < rim else 0
        x = polygon[2, following, 1] - polygon[2, k, 1]
        y = polygon[2, k, 0] - polygon[2, following, 0]
        length = math.sqrt(x * x + y * y)
        x, y = x / length, y / length
        bound = x * polygon[2, k, 0] + y * polygon[2, k, 1] + ROUND_OFF * size
        count = cut(polygon[source], count, closed, x, y, bound, polygon[2, k, 3], polygon[1 - source])
        source = 1 - source
    corners = polygon[source]
    faces = FACES * face + shown if holder == 0 else FACES * shown + face
    for k in range(count):
        before = k - 1 if k > 0 else (count - 1 if closed else 0)
        last, edge = int(corners[before, 3]), int(corners[k, 3])
        polygon[2, k, 0] = min(last, edge) * NAMES + max(last, edge)
    near = 0
    for k in range(count):
        corners[k, 2] = max(corners[k, 2] - other.radius, floor)
        if corners[k, 2] < margin:
            for i in range(3):
                corners[near, i] = corners[k, i]
            corners[near, 3] = polygon[2, k, 0]
            near += 1
    near = reduce_corners(corners, near, MOST, ROUND_OFF * size)
    normal, smallest = (up if holder == 0 else -up), math.inf
    for k in range(near):
        p = origin + base + corners[k, 0] * e + corners[k, 1] * f
        p = p + (0.0 if holder == 0 else corners[k, 2]) * up  # on the surface of A
        feature = OVER + faces * NAMES * NAMES + int(corners[k, 3])
        n = write_contact(contacts, n, margin, p, normal, corners[k, 2], feature)
        smallest = min(smallest, corners[k, 2])
    return n, smallest


@kernel
def _along_edges(convex, geometry, origin, normal, margin, contacts, n) -> tuple[int, float]:
    """Write the contacts at both ends of two parallel edges; return the next row and the smallest gap."""
    one, other, smallest = convex.solids[0], convex.solids[1], math.inf
    p, q, lies = supporting_edge(one, geometry, normal)
    v, w, lies_too = supporting_edge(other, geometry, -normal)
    if not (lies and lies_too):
        return n, smallest
    along, length = direction(q - p, normal)
    along_too, length_too = direction(w - v, normal)
    askew = cross(along, along_too)
    if dot(askew, askew) > SIDE_BY_SIDE * SIDE_BY_SIDE:
        return n, smallest
    s, t = dot(along, v - p), dot(along, w - p)
    low, high = min(s, t), max(s, t)
    low, high = min(max(low, 0.0), length), min(max(high, 0.0), length)
    for k in range(2):
        on_a = p + (high if k else low) * along
        share = min(max(dot(along_too, on_a - v), 0.0), length_too)
        on_b = v + share * along_too
        gap = dot(normal, on_b - on_a) - one.radius - other.radius
        middle = 0.5 * (on_a + on_b) + (0.5 * (one.radius - other.radius)) * normal
        if k == 0 or high > low:
            n = write_contact(contacts, n, margin, origin + middle - (0.5 * gap) * normal, normal, gap, BESIDE + k)
            smallest = min(smallest, gap)
    return n, smallest
