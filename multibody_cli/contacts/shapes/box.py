"""Boxes against planes and balls, and what is near a point of the frame of a box."""

from __future__ import annotations

from multibody_cli.contacts.shapes.patch import direction, put
from multibody_cli.contacts.shapes.segments import clamped
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import UNIT, dot, transposed_times
from multibody_cli.spatial.values import Vec3


@formula
def side(x):
    """1 or -1, as x points."""
    return 1.0 if x >= 0.0 else -1.0


@formula
def within(p, h):
    """The point nearest to p of a box with half edges h, in its frame."""
    return Vec3(clamped(p.x, h.x), clamped(p.y, h.y), clamped(p.z, h.z))


@formula
def in_frame(shape, p):
    """A point of the world in the frame of a shape."""
    return transposed_times(shape.R, p - shape.x)


@formula
def corner(box, k):
    """Corner k < 8 of a box: bit 0 tells the side along x, bit 1 along y, bit 2 along z."""
    x = box.size.x if k & 1 else -box.size.x
    y = box.size.y if k & 2 else -box.size.y
    z = box.size.z if k & 4 else -box.size.z
    return box.x + box.R @ Vec3(x, y, z)


@formula
def nearest_face(p, h):
    """How far a point inside lies from the nearest face, as a number below 0, and the normal of that face."""
    x, y, z = abs(p.x) - h.x, abs(p.y) - h.y, abs(p.z) - h.z
    if x >= y and x >= z:
        return x, side(p.x) * UNIT.x
    if y >= z:
        return y, side(p.y) * UNIT.y
    return z, side(p.z) * UNIT.z


@formula
def distance_from_box(p, h):
    """Signed distance of a point from a box in its frame, and the unit vector that leads out."""
    outward, distance = direction(p - within(p, h), UNIT.z)
    if distance > 0.0:
        return distance, outward
    return nearest_face(p, h)


@formula
def ball_at_box(p, radius, box, margin, contacts, n, feature):
    """One contact of a ball (A) about p, in the frame of the box, and of the box (B)."""
    distance, outward = distance_from_box(p, box.size)
    normal = -(box.R @ outward)
    return put(contacts, n, margin, box.x + box.R @ p + radius * normal, normal, distance - radius, feature)


@kernel
def plane_box(a, b, margin, contacts, n):
    """At the corners."""
    normal = a.R.z
    for k in range(8):
        p = corner(b, k)
        height = dot(normal, p - a.x)
        n = put(contacts, n, margin, p - height * normal, normal, height, k)
    return n


@kernel
def sphere_box(a, b, margin, contacts, n):
    """At the point of the box that is nearest to the center, or to the nearest face if the center is inside."""
    return ball_at_box(in_frame(b, a.x), a.size.x, b, margin, contacts, n, 0)
