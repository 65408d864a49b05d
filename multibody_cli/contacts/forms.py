"""Collision shapes in Python: forms, colliders on bodies, and their arrays.

Coplanar triangles of a surface are merged into one face: a box has six faces, for any triangulation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from multibody_cli.contacts.contract import FACE, FACE_CORNERS, GEOM, OWN_SURFACE, Floats, Geometry, GeomKind
from multibody_cli.contacts.direction_cells import FEW, RESOLUTION, points_by_cell
from multibody_cli.contacts.grid import key_of
from multibody_cli.contacts.surfaces import RULES
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import records

# --- convex polyhedra for contacts: corners and flat faces ------------------------------------------------------------
FLAT = 1e-6
"""Distance of corners from the plane of their face, relative to the size: file formats store some seven digits."""


class Face(Immutable, eq=False):
    """A flat face: outward normal (3,), and the numbers of its corners, counterclockwise as seen from outside."""

    normal: Floats
    corners: Sequence[int]


def box_corners(half: ArrayLike) -> Floats:
    """Return the corners (8, 3) of a box with these half edges; bit k of the number is the side along axis k."""
    sides = (np.arange(8)[:, None] >> np.arange(3)) & 1
    corners: Floats = np.where(sides == 1, 1.0, -1.0) * np.asarray(half, dtype=float)
    return corners


def box_faces() -> list[Face]:
    """Return the faces of a box with those corners; number 2 k + 1 has the outward normal +k, 2 k the opposite."""
    faces = []
    for axis in range(3):
        i, j = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3
        faces.append(Face(-np.eye(3)[axis], [0, j, i + j, i]))
        faces.append(Face(np.eye(3)[axis], [corner + (1 << axis) for corner in (0, i, i + j, j)]))
    return faces


def polyhedron(points: ArrayLike) -> tuple[Floats, list[Face]]:
    """Return the corners of the convex hull of points (n, 3), in their order, and its faces, the largest first."""
    from scipy.spatial import ConvexHull

    points = np.asarray(points, dtype=float)
    hull = ConvexHull(points)
    numbers = np.sort(hull.vertices)
    corners, triangles = points[numbers], np.searchsorted(numbers, hull.simplices)
    size = float(np.ptp(corners, axis=0).max())
    a, b, c = (corners[triangles[:, k]] for k in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    taken, faces = np.zeros(len(triangles), bool), []
    for seed in np.argsort(-areas, kind="stable"):
        if not taken[seed]:
            normal, offset = hull.equations[seed, :3], hull.equations[seed, 3]
            members = [int(seed)]
            taken[seed] = True
            for member in members:
                for other in hull.neighbors[member].tolist():
                    if not taken[other] and abs(corners[triangles[other]] @ normal + offset).max() <= FLAT * size:
                        taken[other] = True
                        members.append(other)
            faces.append(Face(normal, _outline(np.unique(triangles[members]), corners, normal)))
    return corners, faces


def hull_vertices(points: ArrayLike) -> Floats:
    """Return those of points (n, 3) that are corners of their convex hull, in their order, m."""
    from scipy.spatial import ConvexHull

    points = np.asarray(points, dtype=float)
    return points[np.sort(ConvexHull(points).vertices)]


def hull_volume(points: ArrayLike) -> float:
    """Return the volume of the convex hull of points (n, 3), m^3."""
    from scipy.spatial import ConvexHull

    return float(ConvexHull(np.asarray(points, dtype=float)).volume)


def count_corners(points: ArrayLike) -> int:
    """Return the number of corners of the convex hull of points (n, 3)."""
    from scipy.spatial import ConvexHull

    return len(ConvexHull(np.asarray(points, dtype=float)).vertices)


def _outline(members: np.ndarray, corners: Floats, normal: Floats) -> list[int]:
    """Return the corners of the convex outline of points in a plane; of too many, the most significant."""
    axis = np.argmin(np.abs(normal))
    e = np.zeros(3)
    e[axis - 2], e[axis - 1] = normal[axis - 1], -normal[axis - 2]  # normal x unit vector
    e /= np.linalg.norm(e)
    f = np.array([normal[k - 2] * e[k - 1] - normal[k - 1] * e[k - 2] for k in range(3)])
    plane = corners[members] @ np.column_stack([e, f])
    center = plane.mean(axis=0)
    order = np.argsort(np.arctan2(*(plane - center).T[::-1]), kind="stable")
    loop = [int(k) for k in order]
    size = float(np.abs(plane - center).max())
    while len(loop) > 3:
        before, here, after = plane[np.roll(loop, 1)], plane[loop], plane[np.roll(loop, -1)]
        u, v = here - before, after - here
        lost = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
        least = int(np.argmin(lost))
        if lost[least] > FLAT * size * size and len(loop) <= FACE_CORNERS:
            break
        del loop[least]
    return [int(members[k]) for k in loop]


NO_VERTICES = np.zeros((0, 3))


class Form(Immutable, eq=False):
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
    vertices: Floats = NO_VERTICES
    faces: Sequence[Face] = ()

    @property
    def bounding_box(self) -> tuple[Floats, Floats]:
        """Center and half edges of the bounding box along its axes, m; that of a plane is a point."""
        if len(self.vertices):
            low, high = self.vertices.min(axis=0), self.vertices.max(axis=0)
            return (low + high) / 2, (high - low) / 2
        size = (*self.size, 0.0, 0.0)
        half = {
            GeomKind.PLANE: (0.0, 0.0, 0.0),
            GeomKind.SPHERE: (size[0], size[0], size[0]),
            GeomKind.CAPSULE: (size[0], size[0], size[0] + size[1]),
            GeomKind.CYLINDER: (size[0], size[0], size[1]),
        }
        return np.zeros(3), np.array(half.get(self.kind, self.size))


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


class Collider(Immutable, eq=False):
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
    rolling, torsional
        Coefficients of resistance to rolling and spinning, m.
    group, mask
        Bit masks of the groups it is in, and of the groups it collides with.
    weld
        Row of the first body that moves with its body, to which fixed joints hold it; None for its body.
    """

    form: Form
    body: int = 0
    position: ArrayLike = (0.0, 0.0, 0.0)
    rotation: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    friction: float = 0.0
    restitution: float = 0.0
    kinetic_friction: float | None = None
    stribeck_speed: float = 0.0
    rolling: float = 0.0
    torsional: float = 0.0
    group: int = 1
    mask: int = 1
    weld: int | None = None
    priority: int = 0


class OwnSurface(NamedTuple):
    """Coefficients of the contacts of a pair of bodies; None for those that follow from its shapes.

    `friction` has those at rest and in fast slip, the Stribeck speed, m/s, and those of resistance to rolling and
    spinning, m.
    """

    friction: tuple[float, float, float, float, float] | None = None
    restitution: float | None = None


def geometry_of(
    colliders: Sequence[Collider],
    excluded: Iterable[tuple[int, int]] = (),
    surfaces: Mapping[tuple[int, int], OwnSurface] = MappingProxyType({}),
    combine: tuple[str, str] = ("geometric_mean", "maximum"),
) -> Geometry:
    """Pack all collision shapes of a model.

    Parameters
    ----------
    colliders
        The shapes, in the order of their numbers in contacts.
    excluded
        Pairs of body rows without contacts, in any order.
    surfaces
        Coefficients of pairs of body rows, in any order.
    combine
        Rules of `surfaces.RULES` that combine the coefficients of friction of two shapes, and those of restitution.
    """
    geoms = np.zeros(len(colliders), GEOM)
    first = 0
    faces: list[tuple[Floats, int, int]] = []
    corners: list[int] = []
    lists: list[np.ndarray] = []
    for geom, collider in zip(geoms, colliders, strict=True):
        form = collider.form
        geom["body"], geom["kind"] = collider.body, form.kind
        geom["weld"] = collider.body if collider.weld is None else collider.weld
        geom["group"], geom["mask"], geom["priority"] = collider.group, collider.mask, collider.priority
        geom["first_vertex"], geom["last_vertex"] = first, first + len(form.vertices)
        geom["first_face"], geom["last_face"] = len(faces), len(faces) + len(form.faces)
        geom["resolution"] = resolution = RESOLUTION if len(form.vertices) > FEW else 0
        if len(form.vertices):
            geom["first_vertex_cell"] = len(lists)
            lists += [first + rows for rows in points_by_cell(form.vertices, resolution)]
            geom["first_face_cell"] = len(lists)
            normals = np.array([face.normal for face in form.faces])
            lists += [len(faces) + rows for rows in points_by_cell(normals, resolution)]
        for face in form.faces:
            faces.append((face.normal, len(corners), len(corners) + len(face.corners)))
            corners += [first + k for k in face.corners]
        geom["extent"][: len(form.size)] = form.size
        geom["x"] = collider.position
        geom["R"] = np.asarray(collider.rotation, dtype=float).T.ravel()  # by columns
        geom["bounding_radius"], geom["restitution"] = form.bounding_radius, collider.restitution
        geom["friction"], geom["stribeck_speed"] = collider.friction, collider.stribeck_speed
        geom["box_center"], geom["box_half"] = form.bounding_box
        geom["rolling"], geom["torsional"] = collider.rolling, collider.torsional
        geom["kinetic_friction"] = collider.friction if collider.kinetic_friction is None else collider.kinetic_friction
        first = geom["last_vertex"]
    vertices = [collider.form.vertices for collider in colliders]
    keys = {key_of(min(pair), max(pair)) for pair in excluded}
    own = {key_of(min(pair), max(pair)): surface for pair, surface in surfaces.items()}
    rows = [
        (one.friction is not None, one.restitution is not None, *(one.friction or np.zeros(5)), one.restitution or 0.0)
        for _, one in sorted(own.items())
    ]
    return Geometry(
        geoms=records(geoms),
        vertices=np.concatenate([NO_VERTICES, *vertices]),
        faces=records(np.array(faces, FACE)),
        corners=np.array(corners, np.int64),
        cells=np.cumsum([0, *map(len, lists)]),
        candidates=np.concatenate([np.zeros(0, np.int64), *lists]),
        excluded=np.array(sorted(keys), dtype=np.int64),
        combine=np.array([RULES.index(rule) for rule in combine]),
        own_pairs=np.array(sorted(own), dtype=np.int64),
        own_surfaces=records(np.array(rows, OWN_SURFACE)),
    )
