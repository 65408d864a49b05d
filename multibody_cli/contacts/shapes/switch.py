"""Narrow-phase dispatch by the kinds of geoms.

Pairs with closed-form solutions have their own kernels; all other pairs use the convex algorithm.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.contacts.shapes import balls, box_box, capsule_box, convex
from multibody_cli.contacts.shapes.planes import contact_points_with_plane
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store


# --- world poses of geoms ---------------------------------------------------------------------------------------------
class Shape(NamedTuple):
    """A geom in the world, as a value: origin, orientation and size."""

    x: Any
    R: Any
    size: Any


@kernel
def place_geoms(geoms, bodies, placed):
    """Compute the world frame of every geom from the poses of the bodies."""
    for i in range(len(geoms)):
        geom = geoms[i]
        body = bodies[geom.body]
        R = load(body.R)
        store(placed[i].x, load(body.x) + R @ load(geom.x))
        store(placed[i].R, R @ load(geom.R))


@formula
def shape_of(geom, placed):
    """Return the shape of a geom with its world frame."""
    return Shape(load(placed.x), load(placed.R), load(geom.extent))


PLANE, SPHERE, CAPSULE, BOX, CYLINDER = map(int, tuple(GeomKind)[:5])


@kernel
def contact_points(i, j, geometry, margin, work, contacts, n) -> int:
    """Write the contacts of geoms i (A) and j (B) with gaps below the margin from row n on; return the next row."""
    if geometry.geoms[i].kind <= geometry.geoms[j].kind:
        return _contact_points_of_pair(i, j, geometry, margin, work, contacts, n)
    last = _contact_points_of_pair(j, i, geometry, margin, work, contacts, n)
    for k in range(n, min(last, len(contacts))):
        store(contacts[k].normal, -load(contacts[k].normal))
    return last


@kernel
def _contact_points_of_pair(i, j, geometry, margin, work, contacts, n) -> int:
    """`contact_points` for a kind of A that is not above that of B."""
    geom_a, geom_b = geometry.geoms[i], geometry.geoms[j]
    a, b = shape_of(geom_a, work.placed[i]), shape_of(geom_b, work.placed[j])
    if geom_a.kind == PLANE:
        return contact_points_with_plane(geom_b, a, b, geometry, margin, work.near, contacts, n)
    if geom_b.kind == SPHERE:
        return balls.two_balls(a.x, a.size.x, b.x, b.size.x, a.R.z, margin, contacts, n, 0)
    if geom_b.kind == CAPSULE:
        if geom_a.kind == SPHERE:
            return balls.sphere_capsule(a, b, margin, contacts, n)
        return balls.capsule_capsule(a, b, margin, contacts, n)
    if geom_b.kind == BOX:
        if geom_a.kind == SPHERE:
            return balls.sphere_box(a, b, margin, contacts, n)
        if geom_a.kind == CAPSULE:
            return capsule_box.capsule_box(a, b, margin, contacts, n)
        return box_box.box_box(a, b, margin, work.polygon, contacts, n)
    if geom_a.kind == SPHERE and geom_b.kind == CYLINDER:
        return balls.sphere_cylinder(a, b, margin, contacts, n)
    return convex.convex_convex(geom_a, geom_b, a, b, geometry, margin, work, contacts, n)
