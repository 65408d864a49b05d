"""Collision shapes (*geoms*) on bodies, and the contacts between them.

A geom is fixed in the joint frame of its body; row 0 of the bodies is the ground.  A contact has

    a normal   unit vector from geom A to geom B: a positive normal impulse acts on B along it, and on A against it,
    a gap      distance of the two surfaces along the normal, negative for penetration,
    a point    midway between the two surface points.

A is the geom with the lower number.  A pair may have several contacts, its *contact patch*; `feature` identifies each
of them, and persists from one instant to the next.

The lengths in `extent` are

    plane      none; the solid half space below the x-y plane of the geom
    sphere     radius
    capsule    radius, and half the length of its axis segment along z
    box        half the edges; its corners are in the table of vertices too
    cylinder   radius, and half its length along z
    ellipsoid  semi-axes
    hull       none; the convex hull of the rows [first_vertex, last_vertex) of the table of vertices

The flat faces of boxes and hulls are the rows [first_face, last_face) of the table of faces.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import Floats as Floats
from multibody_cli.kernel import Integers as Integers
from multibody_cli.kernel import Records as Records


class GeomKind(IntEnum):
    """Number of each kind of geom in kernels."""

    PLANE = 0
    SPHERE = 1
    CAPSULE = 2
    BOX = 3
    CYLINDER = 4
    ELLIPSOID = 5
    HULL = 6


COEFFICIENTS = [
    ("friction", "f8"),  # coefficient at rest
    ("kinetic_friction", "f8"),
    ("stribeck_speed", "f8"),  # m/s; 0 where both coefficients are the same
    ("rolling", "f8"),  # coefficients of resistance to rolling and spinning, m
    ("torsional", "f8"),
    ("restitution", "f8"),
]
"""Coefficients of a surface, and of the contacts of two."""

OWN_SURFACE = np.dtype([("has_friction", "i8"), ("has_restitution", "i8"), *COEFFICIENTS])
"""Coefficients that a pair of bodies has of its own, in place of those of its shapes."""

GEOM = np.dtype(
    [
        ("body", "i8"),
        ("kind", "i8"),
        ("weld", "i8"),  # the body with which its body moves, or its body; two geoms of one weld are not a pair
        ("group", "i8"),  # bit mask of the groups it is in; `mask`: groups it collides with
        ("mask", "i8"),
        ("first_vertex", "i8"),
        ("last_vertex", "i8"),
        ("first_face", "i8"),
        ("last_face", "i8"),
        ("resolution", "i8"),  # of the cells of directions of its vertices and faces (`direction_cells`)
        ("first_vertex_cell", "i8"),
        ("first_face_cell", "i8"),
        ("extent", "f8", 3),
        ("x", "f8", 3),  # its frame in the joint frame of the body
        ("R", "f8", 9),
        ("priority", "i8"),  # of two geoms with different ones, the coefficients are those of the higher
        ("bounding_radius", "f8"),  # radius of the bounding sphere about its origin
        ("box_center", "f8", 3),  # of the bounding box along its axes, in its frame, and half of the edges of the box
        ("box_half", "f8", 3),
        *COEFFICIENTS,
    ]
)

FACE = np.dtype([("normal", "f8", 3), ("first", "i8"), ("last", "i8")])
"""A flat face: its outward normal in the frame of its geom, and its rows in the table of corners."""

FACE_CORNERS = 16
"""Largest number of corners of a face in contact patches."""

CONTACT = np.dtype(
    [
        ("body_a", "i8"),
        ("body_b", "i8"),
        ("geom_a", "i8"),
        ("geom_b", "i8"),
        ("feature", "i8"),
        ("mode", "i8"),  # set by the contact solver, as is `impulse`; 0 on detection
        ("impulse", "f8", 3),
        ("moment", "f8", 3),  # of resistances, about the normal and the tangents; as `impulse`
        ("point", "f8", 3),  # in the world
        ("normal", "f8", 3),
        ("gap", "f8"),
        ("time", "f8"),  # in the step, to which point and normal belong, s
        ("delay", "f8"),  # time in the step at which its impulse acts, and to which the gap belongs, s
        *COEFFICIENTS,  # `friction` is that at rest on detection, then that of the step
    ]
)


class Geometry(NamedTuple):
    """The constant collision geometry of a model."""

    geoms: Records
    vertices: Floats  # (nv, 3) of all boxes and hulls, each in the frame of its geom, m
    faces: Records  # (nf,) of all boxes and hulls
    corners: Integers  # rows of the vertices round each face, counterclockwise as seen from outside
    cells: Integers  # first row, in the table of candidates, of each cell of directions of each polyhedron, and the end
    candidates: Integers  # rows of the vertices, or of the faces, that may be the farthest ones in a cell
    excluded: Integers  # pairs of bodies without contacts, each as one number (`grid.key_of`), ascending
    combine: Integers  # numbers of the rules of combination (`surfaces.RULES`) of friction and of restitution
    own_pairs: Integers  # pairs of bodies with coefficients of their own, each as one number, ascending
    own_surfaces: Records  # these coefficients
