"""Boxes against boxes: a patch over a face, a point between edges, or the nearest points of separated boxes.

The best separating axis (`separation`) determines the kind of contact.  Over a face, the patch is the part of the other
box over the face.  If edges meet at a small angle to a face, as for stacked, rocking boxes, that patch is kept, and the
point between the edges replaces its corner where the same edges meet: two normals at one point contradict each other if
it sticks.  The smallest gap of a pair is exact: the distance of separated boxes, and minus the depth of penetrating
boxes.  The patch does not always contain that point: boxes past each other's corners are nearest elsewhere, and the
deepest corner may be beside the face.

The patch is clipped (`polygon`) in the axes of the reference face.  An edge is named after the adjacent face of its
box, and a corner after the two edges that meet there, so that names persist when the boxes exchange roles.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.shapes.box import corner, in_frame, side, within
from multibody_cli.contacts.shapes.patch import direction, nearest_parameters, write_contact
from multibody_cli.contacts.shapes.polygon import cut
from multibody_cli.contacts.shapes.separation import ROUND_OFF, best_axes, size_of
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.products import dot, transposed_product
from multibody_cli.spatial.values import Vec3


# --- the nearest points of two boxes that are apart: of a corner and a box, or of two edges ---------------------------
@kernel
def nearest_points(a, b) -> tuple[Vec3, Vec3]:
    """Return the nearest points of A and B."""
    p, q, best = a.x, b.x, math.inf
    for k in range(8):
        on_b = corner(b, k)
        on_a = _nearest_of(a, on_b)
        apart = dot(on_b - on_a, on_b - on_a)
        if apart < best:
            p, q, best = on_a, on_b, apart
        on_a = corner(a, k)
        on_b = _nearest_of(b, on_a)
        apart = dot(on_b - on_a, on_b - on_a)
        if apart < best:
            p, q, best = on_a, on_b, apart
    for k in range(12):
        i, middle = k // 4, _middle(a, k)
        for m in range(12):
            j, other = m // 4, _middle(b, m)
            s, t = nearest_parameters(other - middle, a.R[i], a.size[i], b.R[j], b.size[j])
            on_a, on_b = middle + s * a.R[i], other + t * b.R[j]
            apart = dot(on_b - on_a, on_b - on_a)
            if apart < best:
                p, q, best = on_a, on_b, apart
    return p, q


@formula
def _nearest_of(box, p):
    """Return the point of a box nearest to p."""
    return box.x + box.R @ within(in_frame(box, p), box.size)


@formula
def _middle(box, k):
    """Return the middle of edge k < 12; each axis has four consecutive edges."""
    j, h = (k // 4 + 1) % 3, (k // 4 + 2) % 3
    return (
        box.x
        + ((1.0 if k & 1 else -1.0) * box.size[j]) * box.R[j]
        + ((1.0 if k & 2 else -1.0) * box.size[h]) * box.R[h]
    )


# --- clipping of the incident face of one box along the edges of a reference face of another --------------------------
FACES = 6
NAMES = 2 * FACES
"""Faces of both boxes, those of A first."""

FEATURES = FACES * FACES * NAMES * NAMES
"""One number for each combination of two faces and two edges."""


@formula
def name_of(axis, out):
    """Return the number of the face of a box with outward normal along an axis, on the side `out`."""
    return 2 * axis + (1 if out > 0.0 else 0)


@kernel
def write_clipped_face(face, other, axis, out, forward, floor, margin, polygon, contacts, n) -> tuple[int, float]:
    """Write contacts at the corners of the part of `other` over a face of `face` with outward normal out UNIT[axis].

    `face` is A if `forward`, else B; gaps are at least `floor`.  Returns the next row, and the height of the lowest
    corner.
    """
    mine, theirs = (0, FACES) if forward else (FACES, 0)
    incident = _lay_down(face, other, axis, out, theirs, polygon)
    faces = FACES * name_of(axis, out) + incident if forward else FACES * incident + name_of(axis, out)
    count, source = 4, 0
    for side_of in range(4):
        across, sign = (axis + 1 + side_of // 2) % 3, 1.0 if side_of % 2 == 0 else -1.0
        edge, bound = mine + name_of(across, sign), face.size[across] * (1.0 + ROUND_OFF)
        x, y = (sign, 0.0) if side_of < 2 else (0.0, sign)
        count = cut(polygon[source], count, True, x, y, bound, edge, polygon[1 - source])
        source = 1 - source
    corners, lowest = polygon[source], math.inf
    outward = out * face.R[axis]
    normal = outward if forward else -outward
    for k in range(count):
        height = max(corners[k, 2], floor)
        lowest = min(lowest, height)
        edge, before = int(corners[k, 3]), int(corners[k - 1 if k > 0 else count - 1, 3])
        feature = (NAMES * faces + min(edge, before)) * NAMES + max(edge, before)
        p = face.x + corners[k, 0] * face.R[(axis + 1) % 3] + corners[k, 1] * face.R[(axis + 2) % 3]
        p = p + (face.size[axis] + (0.0 if forward else height)) * outward  # on the surface of A
        n = write_contact(contacts, n, margin, p, normal, height, feature)
    return n, lowest


@kernel
def _lay_down(face, other, axis, out, first_name, polygon) -> int:
    """Write the corners of the incident face of `other` in the axes of the face of `face`; return its name."""
    R = transposed_product(face.R, other.R)
    j = 0
    for k in range(1, 3):
        if abs(R[k][axis]) > abs(R[j][axis]):
            j = k
    toward = -side(out * R[j][axis])
    middle = in_frame(face, other.x) + (toward * other.size[j]) * R[j]
    e, f = other.size[(j + 1) % 3] * R[(j + 1) % 3], other.size[(j + 2) % 3] * R[(j + 2) % 3]
    for k in range(4):  # from (+, +) round to (+, -); the edge to the next corner is on f, -e, -f, e in turn
        p = middle + (1.0 if k in (0, 3) else -1.0) * e + (1.0 if k < 2 else -1.0) * f
        edge = name_of((j + 2 - k % 2) % 3, 1.0 if k in (0, 3) else -1.0)
        polygon[0, k, 0] = p[(axis + 1) % 3]
        polygon[0, k, 1] = p[(axis + 2) % 3]
        polygon[0, k, 2] = out * p[axis] - face.size[axis]
        polygon[0, k, 3] = first_name + edge
    return name_of(j, toward)


ROCKING = 0.99
"""Cosine of the angle between the normals of edges and of a face above which the patch over the face is kept."""

BETWEEN_EDGES = FEATURES
BEYOND = FEATURES + 9
"""Features of the point between two edges, by their axes, and of the point outside the patch."""


@lazy_kernel
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
