"""Cylinders along z against planes and spheres."""

from __future__ import annotations

import math

from multibody_cli.contacts.shapes.box import in_frame, side
from multibody_cli.contacts.shapes.patch import direction, write_contact
from multibody_cli.contacts.shapes.segments import clamped
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import UNIT, dot, transposed_times
from multibody_cli.spatial.values import Vec3

STANDING = 0.1
"""Sine of the angle between axis and normal below which there are contacts all around a rim."""

UPRIGHT = 1e-12
"""Sine of that angle below which no point of a rim is lower than the others."""

RIM = 8
HALF_ROOT = math.sqrt(0.5)


@kernel
def plane_cylinder(a, b, margin, contacts, n) -> int:
    """Write contacts at the lowest point of each rim, and for a standing cylinder at eight body-fixed points."""
    up = transposed_times(b.R, a.R.z)
    sine = math.hypot(up.x, up.y)
    for end in range(2):
        z = b.size.y if end else -b.size.y
        first = end * (RIM + 1)
        if sine > UPRIGHT:
            lowest = Vec3(-b.size.x * up.x / sine, -b.size.x * up.y / sine, z)
            n = _put_point(a, b, lowest, margin, contacts, n, first)
        if sine < STANDING:
            for k in range(RIM):
                n = _put_point(a, b, _rim_point(k, b.size.x, z), margin, contacts, n, first + 1 + k)
    return n


@formula
def _rim_point(k, radius, z):
    """Return point k of a regular octagon."""
    x, y = (radius, 0.0) if k % 2 == 0 else (HALF_ROOT * radius, HALF_ROOT * radius)
    quarter = k // 2
    if quarter & 1:
        x, y = -y, x
    return Vec3(-x, -y, z) if quarter & 2 else Vec3(x, y, z)


@formula
def _put_point(plane, cylinder, p, margin, contacts, n, feature):
    normal, p = plane.R.z, cylinder.x + cylinder.R @ p
    height = dot(normal, p - plane.x)
    return write_contact(contacts, n, margin, p - height * normal, normal, height, feature)


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
