"""Boxes: point queries in their frames, and contacts of balls with them."""

from __future__ import annotations

from multibody_cli.contacts.shapes.patch import clamped, direction, write_contact
from multibody_cli.kernel import formula
from multibody_cli.spatial.products import UNIT, transposed_times
from multibody_cli.spatial.values import Vec3


@formula
def side(x):
    """Return 1 or -1, the sign of x."""
    return 1.0 if x >= 0.0 else -1.0


@formula
def within(p, h):
    """Return the point of a box with half edges h nearest to p, in its frame."""
    return Vec3(clamped(p.x, h.x), clamped(p.y, h.y), clamped(p.z, h.z))


@formula
def in_frame(shape, p):
    """Return a world point in the frame of a shape."""
    return transposed_times(shape.R, p - shape.x)


@formula
def corner(box, k):
    """Return corner k < 8 of a box; bit i of k is the side along axis i."""
    x = box.size.x if k & 1 else -box.size.x
    y = box.size.y if k & 2 else -box.size.y
    z = box.size.z if k & 4 else -box.size.z
    return box.x + box.R @ Vec3(x, y, z)


@formula
def nearest_face(p, h):
    """Return the signed distance (negative) of an inner point from the nearest face, and the normal of that face."""
    x, y, z = abs(p.x) - h.x, abs(p.y) - h.y, abs(p.z) - h.z
    if x >= y and x >= z:
        return x, side(p.x) * UNIT.x
    if y >= z:
        return y, side(p.y) * UNIT.y
    return z, side(p.z) * UNIT.z


@formula
def distance_from_box(p, h):
    """Return the signed distance of a point from a box in its frame, and the outward unit vector."""
    outward, distance = direction(p - within(p, h), UNIT.z)
    if distance > 0.0:
        return distance, outward
    return nearest_face(p, h)


@formula
def put_ball(at, out, distance, radius, box, margin, contacts, n, feature):
    """Write the contact of a ball (A) about a point in the frame of the box (B), at a distance along `out`."""
    normal = -(box.R @ out)
    return write_contact(contacts, n, margin, box.x + box.R @ at + radius * normal, normal, distance - radius, feature)


@formula
def ball_at_box(p, radius, box, margin, contacts, n, feature):
    """Write the contact of a ball (A) about p, in the frame of the box, and of the box (B)."""
    distance, outward = distance_from_box(p, box.size)
    return put_ball(p, outward, distance, radius, box, margin, contacts, n, feature)
