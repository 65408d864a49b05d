"""Narrow-phase dispatch by the kinds of geoms.

Pairs with closed-form solutions have their own kernels; all other pairs use the convex algorithm.
"""

from __future__ import annotations

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.contacts.placing import shape_of
from multibody_cli.contacts.shapes import box, box_box, capsule, capsule_box, convex, cylinder, ellipsoid, hull, sphere
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, store

PLANE, SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID, HULL = map(int, GeomKind)


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
        return _contact_points_with_plane(geom_b, a, b, geometry.vertices, margin, contacts, n)
    if geom_b.kind == SPHERE:
        return sphere.sphere_sphere(a, b, margin, contacts, n)
    if geom_b.kind == CAPSULE:
        if geom_a.kind == SPHERE:
            return capsule.sphere_capsule(a, b, margin, contacts, n)
        return capsule.capsule_capsule(a, b, margin, contacts, n)
    if geom_b.kind == BOX:
        if geom_a.kind == SPHERE:
            return box.sphere_box(a, b, margin, contacts, n)
        if geom_a.kind == CAPSULE:
            return capsule_box.capsule_box(a, b, margin, contacts, n)
        return box_box.box_box(a, b, margin, work.polygon, contacts, n)
    if geom_a.kind == SPHERE and geom_b.kind == CYLINDER:
        return cylinder.sphere_cylinder(a, b, margin, contacts, n)
    return convex.convex_convex(geom_a, geom_b, a, b, geometry, margin, work, contacts, n)


@kernel
def _contact_points_with_plane(geom, a, b, vertices, margin, contacts, n) -> int:
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
