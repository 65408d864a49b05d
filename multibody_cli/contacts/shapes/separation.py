"""Separating axes of two boxes: the axis of largest separation, or of smallest penetration.

Boxes are separated if one of 15 axes separates them: the normals of their faces, and those of the planes spanned by two
edges.  The separation along each axis is at most the distance, and for penetrating boxes the largest separation is
minus the depth.  Faces of A are preferred to those of B, and both to edges, unless the others are clearly better:
otherwise resting boxes would alternate between axes that differ by round-off, and their patch with them.

Source: Gottschalk, Lin and Manocha, OBBTree, SIGGRAPH 1996.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from multibody_cli.contacts.shapes.box import side
from multibody_cli.contacts.shapes.patch import direction
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import UNIT, cross, dot, transposed_times
from multibody_cli.spatial.values import Vec3

BIAS = 1e-3
"""Relative difference in separation by which another axis must be better to be chosen."""

ROUND_OFF = 1e-9
"""Round-off relative to the size of the boxes."""

PARALLEL = 1e-10
"""Sine of the angle below which edges are parallel."""


class SeparatingAxis(NamedTuple):
    """An axis: its code (face i of A; 3 + face j of B; 6 + 3 i + j for edges), unit vector from A to B, separation."""

    code: int
    normal: Vec3
    separation: float


@formula
def half_width(R, h, m):
    """Return half the width along m of a box with axes R and half edges h."""
    return abs(dot(R.x, m)) * h.x + abs(dot(R.y, m)) * h.y + abs(dot(R.z, m)) * h.z


@formula
def size_of(a, b):
    """Return the size of two boxes."""
    return a.size.x + a.size.y + a.size.z + b.size.x + b.size.y + b.size.z


@kernel
def best_axes(a, b, margin):
    """Return the best of all axes and the best face axis; the search stops at a separation above the margin."""
    w = b.x - a.x
    face = _best_face(a, b, w, margin)
    if face.separation < margin:
        return _best_edges(a, b, w, face, margin), face
    return face, face


@formula
def _tolerance(a, b, separation):
    return BIAS * abs(separation) + ROUND_OFF * size_of(a, b)


@kernel
def _best_face(a, b, w, margin) -> SeparatingAxis:
    code, normal, best, threshold = 0, UNIT.x, -math.inf, -math.inf
    for k in range(6):
        if k == 3:
            threshold = best + _tolerance(a, b, best)
        m = a.R[k] if k < 3 else b.R[k - 3]
        distance = dot(w, m)
        apart = abs(distance) - (a.size[k] if k < 3 else b.size[k - 3])
        apart = apart - (half_width(b.R, b.size, m) if k < 3 else half_width(a.R, a.size, m))
        if apart > threshold:
            code, normal, best, threshold = k, side(distance) * m, apart, apart
        if apart >= margin:
            break
    return SeparatingAxis(code, normal, best)


@kernel
def _best_edges(a, b, w, face, margin) -> SeparatingAxis:
    code, normal, best = face.code, face.normal, face.separation
    threshold = best + _tolerance(a, b, best)
    d = transposed_times(a.R, w)
    for j in range(3):
        u = transposed_times(a.R, b.R[j])
        for i in range(3):
            m, sine = direction(cross(UNIT[i], u), UNIT.x)
            if sine > PARALLEL:
                distance = dot(d, m)
                world = a.R @ m
                apart = abs(distance) - half_width(UNIT, a.size, m) - half_width(b.R, b.size, world)
                if apart > threshold:
                    code, normal, best, threshold = 6 + 3 * i + j, side(distance) * world, apart, apart
                if apart >= margin:
                    return SeparatingAxis(code, normal, best)
    return SeparatingAxis(code, normal, best)
