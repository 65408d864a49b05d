"""Contact points: writing of a contact, and unit vectors."""

from __future__ import annotations

import math

from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import store
from multibody_cli.spatial.products import cross, dot

NO_LENGTH = 1e-150
"""Length below which the squares of components underflow, m."""


@formula
def write_contact(contacts, n, margin, p, normal, gap, feature):
    """Write contact n if its gap is below the margin; p is the point on the surface of A.

    Returns the next row, even if the table is full, so that the caller has the number of contacts.
    """
    if not gap < margin:
        return n
    if n < len(contacts):
        contact = contacts[n]
        contact.gap = gap
        contact.time = contact.delay = 0.0
        contact.feature = feature
        store(contact.point, p + (0.5 * gap) * normal)
        store(contact.normal, normal)
    return n + 1


@formula
def direction(d, spare):
    """Return the unit vector along d and the length of d; `spare` and 0 if d is 0."""
    length = math.sqrt(dot(d, d))
    if length > NO_LENGTH:
        return (1.0 / length) * d, length
    return spare, 0.0


# --- nearest points of segments c + s u, |s| <= S, with a unit vector u -----------------------------------------------
@formula
def clamped(x, bound):
    """Return x clamped to [-bound, bound]."""
    return min(max(x, -bound), bound)


@formula
def nearest_parameters(w, u, half_u, v, half_v):
    """Parameters s and t of the nearest points of two segments; w leads from the center of the first to the second.

    Source: Ericson, Real-Time Collision Detection, 5.1.9.  The determinant is |u x v|^2, which keeps its digits where
    the segments are almost parallel.
    """
    c, a, b, across = dot(u, v), dot(u, w), dot(v, w), cross(u, v)
    determinant = dot(across, across)
    s = clamped((a - c * b) / determinant if determinant > 0.0 else a, half_u)
    t = c * s - b
    if abs(t) > half_v:
        t = clamped(t, half_v)
        s = clamped(a + c * t, half_u)
    return s, t
