"""Spheres, and the balls that other shapes are swept from: against planes and against each other."""

from __future__ import annotations

from multibody_cli.contacts.shapes.patch import direction, write_contact
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import dot


@formula
def ball_on_plane(plane, center, radius, margin, contacts, n, feature):
    """Write the contact of a plane (A) and a ball (B)."""
    normal = plane.R.z
    height = dot(normal, center - plane.x)
    return write_contact(contacts, n, margin, center - height * normal, normal, height - radius, feature)


@formula
def two_balls(a, radius_a, b, radius_b, spare, margin, contacts, n, feature):
    """Write the contact of balls about a (A) and about b (B); `spare` is the normal if a = b."""
    normal, apart = direction(b - a, spare)
    return write_contact(contacts, n, margin, a + radius_a * normal, normal, apart - radius_a - radius_b, feature)


@kernel
def plane_sphere(a, b, margin, contacts, n):
    """Write the contact at the lowest point."""
    return ball_on_plane(a, b.x, b.size.x, margin, contacts, n, 0)


@kernel
def sphere_sphere(a, b, margin, contacts, n):
    """Write the contact on the line of the centers; along z of A if they coincide."""
    return two_balls(a.x, a.size.x, b.x, b.size.x, a.R.z, margin, contacts, n, 0)
