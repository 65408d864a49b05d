"""The one place that branches on the kinds of geoms."""

from __future__ import annotations

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.contacts.shapes import box, box_box, capsule, capsule_box, cylinder, ellipsoid, hull, sphere
from multibody_cli.kernel import kernel

PLANE, SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID, HULL = map(int, GeomKind)

TOUCHING = frozenset(
    {(GeomKind.PLANE, kind) for kind in GeomKind if kind is not GeomKind.PLANE}
    | {(GeomKind.SPHERE, kind) for kind in (GeomKind.SPHERE, GeomKind.CAPSULE, GeomKind.BOX, GeomKind.CYLINDER)}
    | {(GeomKind.CAPSULE, GeomKind.CAPSULE), (GeomKind.CAPSULE, GeomKind.BOX), (GeomKind.BOX, GeomKind.BOX)}
)
"""The pairs of kinds that can touch, the lower one first; between all others `touch` finds nothing."""


@kernel
def touch(geom_a, geom_b, a, b, vertices, margin, work, n):
    """Write the contacts of two geoms from row n on; the kind of A is not above that of B.  Give the next row."""
    contacts = work.contacts
    if geom_a.kind == PLANE:
        return _touch_plane(geom_b, a, b, vertices, margin, contacts, n)
    if geom_a.kind == SPHERE:
        return _touch_sphere(geom_b, a, b, margin, contacts, n)
    if geom_a.kind == CAPSULE:
        if geom_b.kind == CAPSULE:
            return capsule.capsule_capsule(a, b, margin, contacts, n)
        if geom_b.kind == BOX:
            return capsule_box.capsule_box(a, b, margin, contacts, n)
    if geom_a.kind == BOX and geom_b.kind == BOX:
        return box_box.box_box(a, b, margin, work.polygon, contacts, n)
    return n


@kernel
def _touch_plane(geom, a, b, vertices, margin, contacts, n):
    if geom.kind == SPHERE:
        return sphere.plane_sphere(a, b, margin, contacts, n)
    if geom.kind == CAPSULE:
        return capsule.plane_capsule(a, b, margin, contacts, n)
    if geom.kind == BOX:
        return box.plane_box(a, b, margin, contacts, n)
    if geom.kind == CYLINDER:
        return cylinder.plane_cylinder(a, b, margin, contacts, n)
    if geom.kind == ELLIPSOID:
        return ellipsoid.plane_ellipsoid(a, b, margin, contacts, n)
    if geom.kind == HULL:
        return hull.plane_hull(a, b, geom.first_vertex, geom.last_vertex, vertices, margin, contacts, n)
    return n


@kernel
def _touch_sphere(geom, a, b, margin, contacts, n):
    if geom.kind == SPHERE:
        return sphere.sphere_sphere(a, b, margin, contacts, n)
    if geom.kind == CAPSULE:
        return capsule.sphere_capsule(a, b, margin, contacts, n)
    if geom.kind == BOX:
        return box.sphere_box(a, b, margin, contacts, n)
    if geom.kind == CYLINDER:
        return cylinder.sphere_cylinder(a, b, margin, contacts, n)
    return n
