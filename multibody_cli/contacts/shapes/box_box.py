"""Boxes against boxes: a patch over a face, a point between edges, or the nearest points of separated boxes.

The best separating axis (`separation`) determines the kind of contact.  Over a face, the patch is the part of the other
box over the face (`clipping`).  If edges meet at a small angle to a face, as for stacked, rocking boxes, that patch is
kept, and the point between the edges replaces its corner where the same edges meet: two normals at one point contradict
each other if it sticks.  The smallest gap of a pair is exact: the distance of separated boxes, and minus the depth of
penetrating boxes.  The patch does not always contain that point: boxes past each other's corners are nearest elsewhere
(`box_features`), and the deepest corner may be beside the face.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.shapes.box import side
from multibody_cli.contacts.shapes.box_features import nearest_points
from multibody_cli.contacts.shapes.clipping import FACES, FEATURES, NAMES, name_of, write_clipped_face
from multibody_cli.contacts.shapes.patch import direction, write_contact
from multibody_cli.contacts.shapes.segments import nearest_parameters
from multibody_cli.contacts.shapes.separation import ROUND_OFF, best_axes, size_of
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import dot

ROCKING = 0.99
"""Cosine of the angle between the normals of edges and of a face above which the patch over the face is kept."""

BETWEEN_EDGES = FEATURES
BEYOND = FEATURES + 9
"""Features of the point between two edges, by their axes, and of the point outside the patch."""


@kernel
def box_box(a, b, margin, polygon, contacts, n) -> int:
    """Write the contacts over a face, between edges, or at the nearest points."""
    axis, face = best_axes(a, b, margin)
    if not axis.separation < margin:
        return n
    first, smallest = n, math.inf
    if axis.code >= 6:
        n, smallest = _between_edges(a, b, axis, margin, contacts, n)
    if axis.code < 6 or dot(axis.normal, face.normal) > ROCKING:
        n, lowest = _over_face(a, b, face, axis.separation, margin, polygon, contacts, n)
        smallest = min(smallest, lowest)
    if axis.code >= 6:
        n = _merge(a, b, axis, contacts, first, n)
    if smallest > axis.separation + ROUND_OFF * size_of(a, b):
        n = _beyond(a, b, axis, smallest, margin, contacts, n)
    return n


@kernel
def _over_face(a, b, face, floor, margin, polygon, contacts, n):
    """Write contacts at the corners of the part of one box over a face of the other; return next row and least gap."""
    k = face.code % 3
    if face.code < 3:
        return write_clipped_face(a, b, k, side(dot(face.normal, a.R[k])), True, floor, margin, polygon, contacts, n)
    return write_clipped_face(b, a, k, -side(dot(face.normal, b.R[k])), False, floor, margin, polygon, contacts, n)


@formula
def support(box, m):
    """Return the corner of a box farthest along m."""
    x, y, z = side(dot(m, box.R.x)) * box.size.x, side(dot(m, box.R.y)) * box.size.y, side(dot(m, box.R.z)) * box.size.z
    return box.x + x * box.R.x + y * box.R.y + z * box.R.z


@formula
def _middle_of_edge(box, k, m):
    """Return the middle of the edge along axis k farthest along m, which may be perpendicular to it by round-off."""
    i, j = (k + 1) % 3, (k + 2) % 3
    u, v = box.R[i], box.R[j]
    return box.x + (side(dot(m, u)) * box.size[i]) * u + (side(dot(m, v)) * box.size[j]) * v


@kernel
def _between_edges(a, b, axis, margin, contacts, n) -> tuple[int, float]:
    """Write the contact at the nearest points of the two facing edges; return the next row, and its gap or infinity."""
    i, j = (axis.code - 6) // 3, (axis.code - 6) % 3
    p, q = _middle_of_edge(a, i, axis.normal), _middle_of_edge(b, j, -axis.normal)
    u, v = a.R[i], b.R[j]
    s, t = nearest_parameters(q - p, u, a.size[i], v, b.size[j])
    p, q, gap = p + s * u, q + t * v, axis.separation
    if gap > 0.0 and dot(q - p, q - p) > (gap + ROUND_OFF * size_of(a, b)) ** 2:
        return n, math.inf  # they do not face each other
    middle = 0.5 * (p + q)
    return write_contact(
        contacts, n, margin, middle - (0.5 * gap) * axis.normal, axis.normal, gap, BETWEEN_EDGES + axis.code - 6
    ), gap


@kernel
def _merge(a, b, axis, contacts, first, n) -> int:
    """Merge the point between edges, in row `first`, with the corner of the patch where they meet; return the next row.

    The point keeps its normal and takes the name of the corner, by which impulses persist where the axis changes.
    """
    i, j = (axis.code - 6) // 3, (axis.code - 6) % 3
    for k in range(first + 1, n if n <= len(contacts) else first):
        if contacts[first].feature >= BETWEEN_EDGES and _edges_meet(a, b, i, j, axis.normal, contacts[k].feature):
            contacts[first].feature = contacts[k].feature
            contacts[k] = contacts[n - 1]
            return n - 1
    return n


@formula
def _edges_meet(a, b, i, j, m, feature):
    """Return whether a corner is where the edges along i of A, farthest along m, and along j of B, along -m, meet."""
    faces, edges = feature // NAMES**2, feature % NAMES**2
    across_a, across_b = 3 - i - faces // FACES // 2, 3 - j - faces % FACES // 2
    edge_a = name_of(across_a, side(dot(m, a.R[across_a])))
    edge_b = name_of(across_b, side(-dot(m, b.R[across_b])))
    return edges == NAMES * edge_a + FACES + edge_b


@kernel
def _beyond(a, b, axis, smallest, margin, contacts, n) -> int:
    """Write the contact at the nearest points of separated boxes, or at the deepest corner over the face.

    The separation along the axis may be less than the distance, which may be the `smallest` gap of the patch.
    """
    if axis.separation > 0.0:
        p, q = nearest_points(a, b)
        normal, gap = direction(q - p, axis.normal)
        if smallest <= gap + ROUND_OFF * size_of(a, b):
            return n
        if gap <= ROUND_OFF * size_of(a, b):
            normal = axis.normal
        return write_contact(contacts, n, margin, p, normal, gap, BEYOND)
    gap = axis.separation
    if axis.code < 3:
        return write_contact(
            contacts, n, margin, support(b, -axis.normal) - gap * axis.normal, axis.normal, gap, BEYOND
        )
    return write_contact(contacts, n, margin, support(a, axis.normal), axis.normal, gap, BEYOND)
