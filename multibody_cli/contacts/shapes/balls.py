"""Balls, and the balls that a capsule consists of: against each other, boxes and cylinders.

Every point of a patch of capsules is the contact of such balls.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.shapes.box import ball_at_box, in_frame, side
from multibody_cli.contacts.shapes.patch import clamped, direction, nearest_parameters, write_contact
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import UNIT, cross, dot
from multibody_cli.spatial.values import Vec3

SIDE_BY_SIDE = 0.1**2
"""Squared sine of the angle below which capsules are parallel, with contacts at the ends of their overlap."""

PARALLEL = 1e-9**2
"""Squared sine of the angle below which the nearest points between those ends are not an additional contact."""


@formula
def two_balls(a, radius_a, b, radius_b, spare, margin, contacts, n, feature):
    """Write the contact of balls about a (A) and about b (B); `spare` is the normal if a = b."""
    normal, apart = direction(b - a, spare)
    return write_contact(contacts, n, margin, a + radius_a * normal, normal, apart - radius_a - radius_b, feature)


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


@kernel
def sphere_box(a, b, margin, contacts, n):
    """Write the contact at the point of the box, or the face, nearest to the center."""
    return ball_at_box(in_frame(b, a.x), a.size.x, b, margin, contacts, n, 0)


@kernel
def sphere_cylinder(a, b, margin, contacts, n) -> int:
    """Write the contact at the point of the cylinder, or of its side and ends, nearest to the center."""
    p, radius, half = in_frame(b, a.x), b.size.x, b.size.y
    distance_of_axis = math.hypot(p.x, p.y)
    around = Vec3(p.x / distance_of_axis, p.y / distance_of_axis, 0.0) if distance_of_axis > 0.0 else UNIT.x
    over = p - (min(distance_of_axis, radius) * around + clamped(p.z, half) * UNIT.z)
    outward, distance = direction(over, around)
    if distance_of_axis <= radius and abs(p.z) <= half:
        distance = distance_of_axis - radius
        if abs(p.z) - half > distance:
            distance, outward = abs(p.z) - half, side(p.z) * UNIT.z
        else:
            outward = around
    normal = -(b.R @ outward)
    return write_contact(contacts, n, margin, a.x + a.size.x * normal, normal, distance - a.size.x, 0)
