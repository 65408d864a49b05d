"""Capsules: balls along a segment.  Every point of a patch is the contact of such a ball."""

from __future__ import annotations

from multibody_cli.contacts.shapes.patch import direction
from multibody_cli.contacts.shapes.segments import clamped, nearest_parameters
from multibody_cli.contacts.shapes.sphere import ball_on_plane, two_balls
from multibody_cli.kernel import kernel
from multibody_cli.spatial.products import cross, dot

SIDE_BY_SIDE = 0.1**2
"""Squared sine of the angle below which capsules are parallel, with contacts at the ends of their overlap."""

PARALLEL = 1e-9**2
"""Squared sine of the angle below which the nearest points between those ends are not an additional contact."""


@kernel
def plane_capsule(a, b, margin, contacts, n):
    """Write contacts at both end balls."""
    half = b.size.y * b.R.z
    n = ball_on_plane(a, b.x - half, b.size.x, margin, contacts, n, 0)
    return ball_on_plane(a, b.x + half, b.size.x, margin, contacts, n, 1)


@kernel
def sphere_capsule(a, b, margin, contacts, n):
    """Write the contact on the line to the nearest point of the segment; along x of the capsule for a center on it."""
    nearest = b.x + clamped(dot(b.R.z, a.x - b.x), b.size.y) * b.R.z
    return two_balls(a.x, a.size.x, nearest, b.size.x, b.R.x, margin, contacts, n, 0)


@kernel
def capsule_capsule(a, b, margin, contacts, n) -> int:
    """Write contacts at the nearest points of the segments, and at the ends of their overlap if they are parallel."""
    u, S, ra = a.R.z, a.size.y, a.size.x
    v, T, rb = b.R.z, b.size.y, b.size.x
    w, across = b.x - a.x, cross(u, v)
    spare, sine = direction(across, a.R.x)
    s, t = nearest_parameters(w, u, S, v, T)
    crossing = abs(s) < S and abs(t) < T and sine * sine > PARALLEL
    if crossing or sine * sine > SIDE_BY_SIDE:
        n = two_balls(a.x + s * u, ra, b.x + t * v, rb, spare, margin, contacts, n, 0)
    if sine * sine <= SIDE_BY_SIDE:
        middle, half, c = dot(u, w), abs(dot(u, v)) * T, dot(u, v)
        low, high = clamped(middle - half, S), clamped(middle + half, S)
        p, q = b.x + clamped(c * low - dot(v, w), T) * v, b.x + clamped(c * high - dot(v, w), T) * v
        n = two_balls(a.x + low * u, ra, p, rb, spare, margin, contacts, n, 1)
        if high > low:
            n = two_balls(a.x + high * u, ra, q, rb, spare, margin, contacts, n, 2)
    return n
