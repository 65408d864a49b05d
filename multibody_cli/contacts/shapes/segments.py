"""Nearest points of segments c + s u, |s| <= S, with a unit vector u."""

from __future__ import annotations

from multibody_cli.kernel import formula
from multibody_cli.spatial.products import cross, dot


@formula
def clamped(x, bound):
    """Return x clamped to [-bound, bound]."""
    return min(max(x, -bound), bound)


@formula
def nearest_parameters(w, u, S, v, T):
    """Parameters s and t of the nearest points of two segments; w leads from the center of the first to the second.

    Source: Ericson, Real-Time Collision Detection, 5.1.9.  The determinant is |u x v|^2, which keeps its digits where
    the segments are almost parallel.
    """
    c, a, b, across = dot(u, v), dot(u, w), dot(v, w), cross(u, v)
    determinant = dot(across, across)
    s = clamped((a - c * b) / determinant if determinant > 0.0 else a, S)
    t = c * s - b
    if abs(t) > T:
        t = clamped(t, T)
        s = clamped(a + c * t, S)
    return s, t
