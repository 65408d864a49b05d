"""Along which axis two boxes are furthest apart, or least deep in each other: separating axes.

Boxes are apart where one of 15 axes separates them: the normals of their faces, and those of the planes that two edges
span.  The separation along each of them is never more than the distance, and where boxes penetrate the largest one is
minus the shortest way out.  Faces of A go before those of B, and both before edges, unless the others are clearly
better: boxes that lie on each other would otherwise change between axes that differ by round-off, and their patch with
them.

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
"""Share of the separation by which another axis must be better to be taken."""

ROUND_OFF = 1e-9
"""Share of the size of the boxes that counts as nothing."""

PARALLEL = 1e-10
"""Sine of the angle between edges below which they span no plane."""


class Axis(NamedTuple):
    """An axis: its code (face i of A; 3 + face j of B; 6 + 3 i + j for edges), unit vector from A to B, separation."""

    code: int
    normal: Vec3
    separation: float


@formula
def half_width(R, h, m):
    """Half the width along m of a box with the axes R and half edges h."""
    return abs(dot(R.x, m)) * h.x + abs(dot(R.y, m)) * h.y + abs(dot(R.z, m)) * h.z


@formula
def size_of(a, b):
    """How large two boxes are."""
    return a.size.x + a.size.y + a.size.z + b.size.x + b.size.y + b.size.z


@kernel
def best_axes(a, b, margin):
    """Give the best axis of all, and the best one of faces; no better one is looked for than the margin."""
    w = b.x - a.x
    face = _best_face(a, b, w, margin)
    if face.separation < margin:
        return _best_edges(a, b, w, face, margin), face
    return face, face


@formula
def _tolerance(a, b, separation):
    return BIAS * abs(separation) + ROUND_OFF * size_of(a, b)


@kernel
def _best_face(a, b, w, margin) -> Axis:
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
    return Axis(code, normal, best)


@kernel
def _best_edges(a, b, w, face, margin) -> Axis:
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
                    return Axis(code, normal, best)
    return Axis(code, normal, best)
