"""What of one box lies over a face of another: the face that looks at it most, cut off at the edges of that face.

The polygon is a table of rows (u, v, height, edge): its corners in the axes of the face, how high they are above it,
and the number of the edge that leads to the next corner.  Edges 0 to 3 are those of the face that is cut, 4 to 7 those
where it was cut; a corner is known by the two edges that meet there.

Source: Sutherland and Hodgman, Reentrant polygon clipping, 1974.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.shapes.box import in_frame, side
from multibody_cli.contacts.shapes.patch import put
from multibody_cli.contacts.shapes.separation import ROUND_OFF
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import transposed_product


@kernel
def put_face(face, other, axis, out, code, forward, margin, polygon, contacts, n):
    """Write the corners of what of `other` lies over the face of the box `face` with the outward normal out UNIT[axis].

    Normals lead from `face` to `other` if `forward`.  Gives the next row, and the height of the lowest corner.
    """
    _lay_down(face, other, axis, out, polygon)
    count, source = 4, 0
    for cut in range(4):
        across = (axis + 1 + cut // 2) % 3
        sign, bound = (1.0 if cut % 2 == 0 else -1.0), face.size[across] * (1.0 + ROUND_OFF)
        count = _cut(polygon[source], count, cut // 2, sign, bound, 4 + cut, polygon[1 - source])
        source = 1 - source
    corners, lowest = polygon[source], math.inf
    outward = out * face.R[axis]
    normal = outward if forward else -outward
    for k in range(count):
        height = corners[k, 2]
        lowest = min(lowest, height)
        before = corners[k - 1 if k > 0 else count - 1, 3]
        feature = 64 * code + 8 * int(before) + int(corners[k, 3])
        p = face.x + corners[k, 0] * face.R[(axis + 1) % 3] + corners[k, 1] * face.R[(axis + 2) % 3]
        p = p + (face.size[axis] + (0.0 if forward else height)) * outward  # on the surface of A
        n = put(contacts, n, margin, p, normal, height, feature)
    return n, lowest


@kernel
def _lay_down(face, other, axis, out, polygon):
    """Write the corners of the incident face of `other` in the axes of the face of `face`."""
    R = transposed_product(face.R, other.R)
    j = 0
    for k in range(1, 3):
        if abs(R[k][axis]) > abs(R[j][axis]):
            j = k
    middle = in_frame(face, other.x) + (-side(out * R[j][axis]) * other.size[j]) * R[j]
    e, f = other.size[(j + 1) % 3] * R[(j + 1) % 3], other.size[(j + 2) % 3] * R[(j + 2) % 3]
    for k in range(4):
        p = middle + (1.0 if k in (0, 3) else -1.0) * e + (1.0 if k < 2 else -1.0) * f
        polygon[0, k, 0] = p[(axis + 1) % 3]
        polygon[0, k, 1] = p[(axis + 2) % 3]
        polygon[0, k, 2] = out * p[axis] - face.size[axis]
        polygon[0, k, 3] = k


@kernel
def _cut(corners, count, column, sign, bound, edge, kept):
    """Keep what lies at sign * (column) <= bound of a polygon of `count` corners; give the number of those left."""
    m = 0
    for k in range(count):
        following = k + 1 if k + 1 < count else 0
        here, there = bound - sign * corners[k, column], bound - sign * corners[following, column]
        if here >= 0.0:
            m = _append(corners, k, following, 0.0, corners[k, 3], kept, m)
            if there < 0.0:
                m = _append(corners, k, following, here / (here - there), edge, kept, m)
        elif there >= 0.0:
            m = _append(corners, k, following, here / (here - there), corners[k, 3], kept, m)
    return m


@formula
def _append(corners, k, following, share, edge, kept, m):
    """Write the point between two corners as corner m of the polygon that is kept, if there is room."""
    if m == len(kept):
        return m
    for i in range(3):
        kept[m, i] = corners[k, i] + share * (corners[following, i] - corners[k, i])
    kept[m, 3] = edge
    return m + 1
