"""Convex hulls of vertices against planes.

A hull may have many vertices near a plane.  Contacts are the lowest vertex and, of those within the margin, the
outermost in eight directions along the plane.  These include every corner of their outline with an angle below 135
degrees, because its normals span more than 45 degrees.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.shapes.patch import write_contact
from multibody_cli.contacts.shapes.solid import vertex
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import dot, transposed_times

HALF_ROOT = math.sqrt(0.5)
DIRECTIONS = ((1.0, 0.0), (HALF_ROOT, HALF_ROOT), (0.0, 1.0), (-HALF_ROOT, HALF_ROOT),
              (-1.0, 0.0), (-HALF_ROOT, -HALF_ROOT), (0.0, -1.0), (HALF_ROOT, -HALF_ROOT))  # fmt: skip


@kernel
def plane_hull(a, b, first, last, vertices, margin, contacts, n) -> int:
    """Write contacts at the lowest vertex and the outermost ones; `feature` is the number of the vertex."""
    up = transposed_times(b.R, a.R.z)
    base = dot(a.R.z, b.x - a.x)
    lowest, low = first, math.inf
    near = 0
    for k in range(first, last):
        height = base + dot(up, vertex(vertices, k))
        near += height < margin
        if height < low:
            lowest, low = k, height
    begin = n
    n = _write_vertex_contact(a, b, lowest, first, vertices, margin, contacts, n)
    if near > 1:
        for k in range(len(DIRECTIONS)):
            x, y = DIRECTIONS[k]
            along = transposed_times(b.R, x * a.R.x + y * a.R.y)
            outermost = _outermost(along, up, margin - base, first, last, vertices)
            if not _is_taken(outermost - first, contacts, begin, n):
                n = _write_vertex_contact(a, b, outermost, first, vertices, margin, contacts, n)
    return n


@kernel
def _outermost(along, up, below, first, last, vertices):
    """Return the vertex farthest along a direction, of those that are low enough."""
    found, far = first, -math.inf
    for k in range(first, last):
        p = vertex(vertices, k)
        if dot(up, p) < below and dot(along, p) > far:
            found, far = k, dot(along, p)
    return found


@kernel
def _is_taken(feature, contacts, begin, n):
    """Return whether a contact of the pair has this feature."""
    taken = False
    for k in range(begin, min(n, len(contacts))):
        taken = taken or contacts[k].feature == feature
    return taken


@formula
def _write_vertex_contact(plane, hull, k, first, vertices, margin, contacts, n):
    normal, p = plane.R.z, hull.x + hull.R @ vertex(vertices, k)
    height = dot(normal, p - plane.x)
    return write_contact(contacts, n, margin, p - height * normal, normal, height, k - first)
