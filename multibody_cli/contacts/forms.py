"""Collision shapes in Python: forms, colliders on bodies, and their arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from multibody_cli.contacts.contract import FACE, GEOM, Floats, Geometry, GeomKind
from multibody_cli.contacts.filtering import EVERY_GROUP, key_of
from multibody_cli.contacts.polyhedra import Face, box_corners, box_faces, polyhedron
from multibody_cli.kernel import records

NO_VERTICES = np.zeros((0, 3))


@dataclass(frozen=True, eq=False)
class Form:
    """A shape in its own frame; see `contract` for the lengths.

    Parameters
    ----------
    kind
        Kind of the shape.
    size
        Up to three lengths, m.
    bounding_radius
        Radius of the bounding sphere about the origin, m.
    vertices
        (n, 3) of a box or a hull, m.
    faces
        Its flat faces.
    """

    kind: GeomKind
    size: tuple[float, ...]
    bounding_radius: float
    vertices: Floats = field(default_factory=lambda: NO_VERTICES)
    faces: Sequence[Face] = ()


def plane() -> Form:
    """Solid below the x-y plane, with the normal +z."""
    return Form(GeomKind.PLANE, (), np.inf)


def sphere(radius: float) -> Form:
    """Ball of a radius, m."""
    return Form(GeomKind.SPHERE, (radius,), radius)


def capsule(radius: float, length: float) -> Form:
    """Cylinder along z with a half ball on each end; `length` is that of the cylinder alone, m."""
    return Form(GeomKind.CAPSULE, (radius, 0.5 * length), radius + 0.5 * length)


def box(edges: Sequence[float]) -> Form:
    """Box with these full edges along x, y and z, m."""
    x, y, z = (0.5 * edge for edge in edges)
    bounding_radius = float(np.linalg.norm([x, y, z]))
    return Form(GeomKind.BOX, (x, y, z), bounding_radius, box_corners((x, y, z)), box_faces())


def cylinder(radius: float, length: float) -> Form:
    """Cylinder along z, m."""
    return Form(GeomKind.CYLINDER, (radius, 0.5 * length), float(np.hypot(radius, 0.5 * length)))


def ellipsoid(radii: Sequence[float]) -> Form:
    """Ellipsoid with these semi-axes, m."""
    a, b, c = radii
    return Form(GeomKind.ELLIPSOID, (a, b, c), max(radii))


def hull(vertices: ArrayLike) -> Form:
    """Convex hull of points (n, 3), m, that do not lie in one plane; points inside are left out."""
    corners, faces = polyhedron(vertices)
    return Form(GeomKind.HULL, (), float(np.linalg.norm(corners, axis=1).max()), corners, faces)


@dataclass(frozen=True, eq=False)
class Collider:
    """A shape on a body.

    Parameters
    ----------
    form
        Geometry of the shape.
    body
        Row of its body; 0 for the ground.
    position, rotation
        Its frame in the joint frame of the body: (3,) m, and a rotation matrix (3, 3).
    friction, restitution
        Coefficients of its surface.
    kinetic_friction, stribeck_speed
        Coefficient of friction in fast slip, and the Stribeck speed, m/s, if friction depends on the slip speed.
    group, mask
        Bit masks of the groups it is in, and of the groups it collides with.
    static
        Whether its body never moves, even if the body is not the ground.
    """

    form: Form
    body: int = 0
    position: ArrayLike = (0.0, 0.0, 0.0)
    rotation: ArrayLike = field(default_factory=lambda: np.eye(3))
    friction: float = 0.0
    restitution: float = 0.0
    kinetic_friction: float | None = None
    stribeck_speed: float = 0.0
    group: int = 1
    mask: int = EVERY_GROUP
    static: bool = False


def geometry_of(colliders: Sequence[Collider], excluded: Iterable[tuple[int, int]] = ()) -> Geometry:
    """Pack all collision shapes of a model.

    Parameters
    ----------
    colliders
        The shapes, in the order of their numbers in contacts.
    excluded
        Pairs of body rows without contacts, in any order.
    """
    geoms = np.zeros(len(colliders), GEOM)
    first = 0
    faces: list[tuple[Floats, int, int]] = []
    corners: list[int] = []
    for geom, collider in zip(geoms, colliders, strict=True):
        form = collider.form
        geom["body"], geom["kind"], geom["static"] = collider.body, form.kind, collider.static or collider.body == 0
        geom["group"], geom["mask"] = collider.group, collider.mask
        geom["first_vertex"], geom["last_vertex"] = first, first + len(form.vertices)
        geom["first_face"], geom["last_face"] = len(faces), len(faces) + len(form.faces)
        for face in form.faces:
            faces.append((face.normal, len(corners), len(corners) + len(face.corners)))
            corners += [first + k for k in face.corners]
        geom["extent"][: len(form.size)] = form.size
        geom["x"] = collider.position
        geom["R"] = np.asarray(collider.rotation, dtype=float).T.ravel()  # by columns
        geom["bounding_radius"], geom["restitution"] = form.bounding_radius, collider.restitution
        geom["friction"], geom["stribeck_speed"] = collider.friction, collider.stribeck_speed
        geom["kinetic_friction"] = collider.friction if collider.kinetic_friction is None else collider.kinetic_friction
        first = geom["last_vertex"]
    vertices = [collider.form.vertices for collider in colliders]
    keys = {key_of(min(pair), max(pair)) for pair in excluded}
    return Geometry(
        geoms=records(geoms),
        vertices=np.concatenate([NO_VERTICES, *vertices]),
        faces=records(np.array(faces, FACE)),
        corners=np.array(corners, np.int64),
        excluded=np.array(sorted(keys), dtype=np.int64),
    )
