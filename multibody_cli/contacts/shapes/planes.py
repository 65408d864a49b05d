"""Planes against all other shapes: contacts at their lowest points.

A hull may have many vertices near a plane.  Contacts are the lowest vertex and, of those within the margin, the
outermost in eight directions along the plane.  These include every corner of their outline with an angle below 135
degrees, because its normals span more than 45 degrees.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.contacts.shapes.box import corner
from multibody_cli.contacts.shapes.patch import write_contact
from multibody_cli.contacts.shapes.solid import farthest_vertex, vertex
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.products import dot, scaled, transposed_times
from multibody_cli.spatial.values import Vec3

SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID, HULL = map(int, tuple(GeomKind)[1:])

STANDING = 0.1
"""Sine of the angle between axis and normal below which there are contacts all around the rims of a cylinder."""

UPRIGHT = 1e-12
"""Sine of that angle below which no point of a rim is lower than the others."""

HALF_ROOT = math.sqrt(0.5)
DIRECTIONS = ((1.0, 0.0), (HALF_ROOT, HALF_ROOT), (0.0, 1.0), (-HALF_ROOT, HALF_ROOT),
              (-1.0, 0.0), (-HALF_ROOT, -HALF_ROOT), (0.0, -1.0), (HALF_ROOT, -HALF_ROOT))  # fmt: skip
RIM = len(DIRECTIONS)


@kernel
def contact_points_with_plane(geom, a, b, geometry, margin, near, contacts, n) -> int:
    """Write the contacts of a plane (A) and a geom (B) with gaps below the margin; return the next row."""
    if geom.kind == SPHERE:
        return _put(a, b.x, b.size.x, margin, contacts, n, 0)
    if geom.kind == CAPSULE:
        half = b.size.y * b.R.z
        n = _put(a, b.x - half, b.size.x, margin, contacts, n, 0)
        return _put(a, b.x + half, b.size.x, margin, contacts, n, 1)
    if geom.kind == BOX:
        for k in range(8):
            n = _put(a, corner(b, k), 0.0, margin, contacts, n, k)
        return n
    if geom.kind == CYLINDER:
        return _rims(a, b, margin, contacts, n)
    if geom.kind == ELLIPSOID:  # the point with a parallel tangent plane: diag(r)^2 m / |diag(r) m|, m = R^T normal
        m = scaled(b.size, transposed_times(b.R, a.R.z))
        return _put(a, b.x - (1.0 / math.sqrt(dot(m, m))) * (b.R @ scaled(b.size, m)), 0.0, margin, contacts, n, 0)
    if geom.kind == HULL:
        return _vertices(geom, a, b, geometry, margin, near, contacts, n)
    return n


@formula
def _put(plane, center, radius, margin, contacts, n, feature):
    """Write the contact of a plane (A) and a ball or a point (B)."""
    normal = plane.R.z
    height = dot(normal, center - plane.x)
    return write_contact(contacts, n, margin, center - height * normal, normal, height - radius, feature)


@lazy_kernel
def _rims(a, b, margin, contacts, n) -> int:
    """Write contacts at the lowest point of each rim, and for a standing cylinder (B) at eight body-fixed points."""
    up = transposed_times(b.R, a.R.z)
    sine = math.hypot(up.x, up.y)
    for end in range(2):
        z = b.size.y if end else -b.size.y
        first = end * (RIM + 1)
        if sine > UPRIGHT:
            lowest = Vec3(-b.size.x * up.x / sine, -b.size.x * up.y / sine, z)
            n = _put(a, b.x + b.R @ lowest, 0.0, margin, contacts, n, first)
        if sine < STANDING:
            for k in range(RIM):
                x, y = DIRECTIONS[k]
                p = b.x + b.R @ Vec3(b.size.x * x, b.size.x * y, z)
                n = _put(a, p, 0.0, margin, contacts, n, first + 1 + k)
    return n


@lazy_kernel
def _vertices(geom, a, b, geometry, margin, near, contacts, n) -> int:
    """Write contacts at the lowest vertex and the outermost ones; `feature` is the number of the vertex.

    `near` is scratch for the vertices within the margin.
    """
    up, vertices = transposed_times(b.R, a.R.z), geometry.vertices
    base = dot(a.R.z, b.x - a.x)
    lowest = farthest_vertex(geom, geometry, -up)
    if not base + dot(up, vertex(vertices, lowest)) < margin:
        return n
    count, low = 0, math.inf
    for k in range(geom.first_vertex, geom.last_vertex):
        height = base + dot(up, vertex(vertices, k))
        if height < margin:
            near[count] = k
            count += 1
        if height < low:
            lowest, low = k, height
    begin, first = n, geom.first_vertex
    n = _put(a, b.x + b.R @ vertex(vertices, lowest), 0.0, margin, contacts, n, lowest - first)
    if count > 1:
        for k in range(len(DIRECTIONS)):
            x, y = DIRECTIONS[k]
            along = transposed_times(b.R, x * a.R.x + y * a.R.y)
            outermost = _outermost(along, vertices, near, count)
            if not _is_taken(outermost - first, contacts, begin, n):
                n = _put(a, b.x + b.R @ vertex(vertices, outermost), 0.0, margin, contacts, n, outermost - first)
    return n


@kernel
def _outermost(along, vertices, near, count):
    """Return the vertex farthest along a direction, of those that are near."""
    found, far = near[0], -math.inf
    for k in range(count):
        p = vertex(vertices, near[k])
        if dot(along, p) > far:
            found, far = near[k], dot(along, p)
    return found


@kernel
def _is_taken(feature, contacts, begin, n):
    """Return whether a contact of the pair has this feature."""
    taken = False
    for k in range(begin, min(n, len(contacts))):
        taken = taken or contacts[k].feature == feature
    return taken
