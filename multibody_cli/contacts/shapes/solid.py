"""Convex solids for the general convex pair: support functions and their derivatives.

Boxes and hulls are the convex hull of their vertices.  All others are a Minkowski sum of up to three simple sets,

    an ellipsoid with the semi-axes `radii`, which for a cylinder is a disc,
    the segment |z| <= half,
    a ball of `radius`, which is left out here: it changes distances by its radius, and does not change normals,

so that they share one implementation.  The support point along a direction m is a smooth function of m on each
*branch*: a vertex, or an end of the segment.  Points and directions are in world axes, relative to the origin of A.
"""

from __future__ import annotations

import math

import numpy as np

from multibody_cli.contacts.contract import GeomKind
from multibody_cli.contacts.direction_cells import cell_of
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import ZERO, dot, scaled, transposed_times
from multibody_cli.spatial.values import Vec3

SPHERE, CAPSULE, CYLINDER, ELLIPSOID = map(
    int, (GeomKind.SPHERE, GeomKind.CAPSULE, GeomKind.CYLINDER, GeomKind.ELLIPSOID)
)

SOLID = np.dtype(
    [
        ("x", "f8", 3),
        ("R", "f8", 9),
        ("radii", "f8", 3),
        ("half", "f8"),
        ("radius", "f8"),
        ("pair_size", "f8"),  # of both solids of a pair together
        ("first_vertex", "i8"),
        ("last_vertex", "i8"),
        ("first_face", "i8"),
        ("last_face", "i8"),
        ("resolution", "i8"),
        ("first_vertex_cell", "i8"),
        ("first_face_cell", "i8"),
    ]
)

ANY = -1
"""The branch of the support point."""


@kernel
def write_solid(geom, shape, origin, pair_size, solid):
    """Write a geom with its world frame as a solid relative to an origin; `pair_size` is that of both solids."""
    store(solid.x, shape.x - origin)
    store(solid.R, shape.R)
    store(solid.radii, ZERO)
    solid.half = solid.radius = 0.0
    solid.pair_size = pair_size
    if geom.kind == ELLIPSOID:
        store(solid.radii, shape.size)
    elif geom.kind == CYLINDER:
        store(solid.radii, Vec3(shape.size.x, shape.size.x, 0.0))
        solid.half = shape.size.y
    elif geom.kind == CAPSULE or geom.kind == SPHERE:
        solid.radius, solid.half = shape.size.x, shape.size.y
    solid.first_vertex, solid.last_vertex = geom.first_vertex, geom.last_vertex
    solid.first_face, solid.last_face = geom.first_face, geom.last_face
    solid.resolution = geom.resolution
    solid.first_vertex_cell, solid.first_face_cell = geom.first_vertex_cell, geom.first_face_cell


@formula
def vertex(vertices, k):
    """Return row k of the table of vertices."""
    return Vec3(vertices[k, 0], vertices[k, 1], vertices[k, 2])


@formula
def farthest_vertex(solid, geometry, u):
    """Return the row of the vertex of a box or hull, a solid or a geom, farthest along u, in its frame."""
    vertices, candidates, cell = geometry.vertices, geometry.candidates, cell_of(u, solid.resolution)
    row, far = ANY, -math.inf
    for k in range(geometry.cells[solid.first_vertex_cell + cell], geometry.cells[solid.first_vertex_cell + cell + 1]):
        height = dot(vertex(vertices, candidates[k]), u)
        if height > far:
            row, far = candidates[k], height
    return row


@kernel
def support(solid, geometry, m, branch) -> tuple[Vec3, int]:
    """Return the support point along m, of all branches or of one, and its branch."""
    R = load(solid.R)
    u = transposed_times(R, m)
    if solid.last_vertex > solid.first_vertex:
        if branch == ANY:
            branch = farthest_vertex(solid, geometry, u)
        return load(solid.x) + R @ vertex(geometry.vertices, branch), branch
    if branch == ANY:
        branch = 1 if u.z >= 0.0 and solid.half > 0.0 else 0
    d = scaled(load(solid.radii), u)
    length = math.sqrt(dot(d, d))
    p = scaled(load(solid.radii), d)
    if length > 0.0:
        p = (1.0 / length) * p
    return load(solid.x) + R @ Vec3(p.x, p.y, p.z + (solid.half if branch else -solid.half)), branch


@kernel
def support_hessian(solid, m, e, f) -> tuple[float, float, float]:
    """Second derivatives e e, e f and f f of the support function at m, for directions e and f perpendicular to m.

    From the gradient p = diag(r)^2 u / |diag(r) u| of |diag(r) u|: (diag(r)^2 - p p^T) / |diag(r) u|.
    """
    R, radii = load(solid.R), load(solid.radii)
    d = scaled(radii, transposed_times(R, m))
    length = math.sqrt(dot(d, d))
    if not length > 0.0:
        return 0.0, 0.0, 0.0
    d = (1.0 / length) * d
    e, f = scaled(radii, transposed_times(R, e)), scaled(radii, transposed_times(R, f))
    de, df = dot(d, e), dot(d, f)
    return (dot(e, e) - de * de) / length, (dot(e, f) - de * df) / length, (dot(f, f) - df * df) / length


@formula
def is_smooth(solid):
    """Return whether a solid has neither faces nor edges."""
    return solid.last_vertex == solid.first_vertex and (solid.radii[2] > 0.0 or solid.half == 0.0)


@formula
def is_cylinder(solid):
    """Return whether a solid has caps."""
    return solid.radii[0] > 0.0 and solid.radii[2] == 0.0
