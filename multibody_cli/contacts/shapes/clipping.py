"""Clipping of the incident face of one box along the edges of a reference face of another.

The polygon (`polygon`) is in the axes of the reference face.  An edge is named after the adjacent face of its box, and
a corner after the two edges that meet there, so that names persist when the boxes exchange roles.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.shapes.box import in_frame, side
from multibody_cli.contacts.shapes.patch import write_contact
from multibody_cli.contacts.shapes.polygon import cut
from multibody_cli.contacts.shapes.separation import ROUND_OFF
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import transposed_product

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
