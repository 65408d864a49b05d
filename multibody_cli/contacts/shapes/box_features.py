"""The nearest points of two boxes that are apart: of a corner and a box, or of two edges."""

from __future__ import annotations

import math

from multibody_cli.contacts.shapes.box import corner, in_frame, within
from multibody_cli.contacts.shapes.segments import nearest_parameters
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import dot
from multibody_cli.spatial.values import Vec3


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
