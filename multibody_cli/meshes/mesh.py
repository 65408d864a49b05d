"""Triangle meshes: vertices with normals, and triangles counterclockwise as seen from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats as Floats
from multibody_cli.kernel import Integers


class Mesh(Immutable, eq=False):
    """A triangle mesh.

    Parameters
    ----------
    vertices
        (n, 3) positions, m.
    normals
        (n, 3) outward unit normals of the surface at the vertices.
    triangles
        (m, 3) vertex numbers, counterclockwise as seen from outside.
    """

    vertices: Floats
    normals: Floats
    triangles: Integers

    def moved(self, position: ArrayLike, rotation: ArrayLike) -> Mesh:
        """Return the mesh in a frame in which its own frame has a position (3,), m, and a rotation matrix (3, 3)."""
        R = np.asarray(rotation, dtype=float)
        return Mesh(self.vertices @ R.T + np.asarray(position), self.normals @ R.T, self.triangles)

    def stretched(self, factors: ArrayLike) -> Mesh:
        """Return the mesh scaled by factors (3,) along x, y and z."""
        scale = np.asarray(factors, dtype=float)
        return Mesh(self.vertices * scale, unit(self.normals / scale), self.triangles)

    @property
    def areas(self) -> Floats:
        """(m, 3) outward area vectors of the triangles, m^2."""
        a, b, c = (self.vertices[self.triangles[:, k]] for k in range(3))
        vectors: Floats = 0.5 * np.cross(b - a, c - a)
        return vectors

    @property
    def corners(self) -> Floats:
        """(8, 3) corners of the bounding box, m."""
        low, high = self.vertices.min(axis=0), self.vertices.max(axis=0)
        side = (np.arange(8)[:, None] >> np.arange(3)) & 1
        corners: Floats = np.where(side == 1, high, low)
        return corners


def unit(vectors: Floats) -> Floats:
    """Return vectors (n, 3) divided by their norms; a zero vector remains."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    divided: Floats = vectors / np.where(norms > 0.0, norms, 1.0)
    return divided


def merged(meshes: Iterable[Mesh]) -> Mesh:
    """Return one mesh with the triangles of several."""
    parts = list(meshes)
    first = np.cumsum([0, *(len(one.vertices) for one in parts)])
    return Mesh(
        np.concatenate([one.vertices for one in parts]),
        np.concatenate([one.normals for one in parts]),
        np.concatenate([one.triangles + start for one, start in zip(parts, first, strict=False)]),
    )


def polyhedron(vertices: Floats, faces: Iterable[Sequence[int]]) -> Mesh:
    """Return the mesh of flat convex faces, each a list of vertex numbers, counterclockwise as seen from outside."""
    parts = []
    for face in faces:
        corners = vertices[list(face)]
        following = np.roll(corners, -1, axis=0)
        normal = unit(np.cross(corners - corners[0], following - corners[0]).sum(axis=0)[None])
        fan = [(0, k, k + 1) for k in range(1, len(corners) - 1)]
        parts.append(Mesh(corners, np.repeat(normal, len(corners), axis=0), np.array(fan)))
    return merged(parts)


def creased(vertices: Floats, triangles: Integers, angle: float) -> Mesh:
    """Return the mesh of triangles that is smooth across edges below an angle, rad, and has a crease at the others.

    The normal of a corner is the mean over the triangles at its vertex that deviate by less than the angle, weighted by
    their areas.
    """
    corners = vertices[triangles]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    flat = unit(areas)
    order = np.argsort(triangles.ravel(), kind="stable")
    owner, numbers = order // 3, triangles.ravel()[order]
    begin = np.searchsorted(numbers, np.arange(len(vertices) + 1))
    normals = np.empty((len(triangles), 3, 3))
    for k, triangle in enumerate(triangles):
        for j, vertex in enumerate(triangle):
            around = owner[begin[vertex] : begin[vertex + 1]]
            normals[k, j] = areas[around[flat[around] @ flat[k] >= np.cos(angle)]].sum(axis=0)
    return Mesh(corners.reshape(-1, 3), unit(normals.reshape(-1, 3)), np.arange(3 * len(triangles)).reshape(-1, 3))


def grid(points: Floats, normals: Floats) -> Mesh:
    """Return the mesh of a surface from points (m, n, 3) and normals (m, n, 3) of a grid.

    The normals point to the side from which the second index runs counterclockwise after the first.  Triangles of zero
    area, as at the poles of a sphere, are left out.
    """
    m, n = points.shape[:2]
    number = np.arange(m * n).reshape(m, n)
    a, b, c, d = (part.ravel() for part in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]))
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    vertices = points.reshape(-1, 3)
    areas = np.linalg.norm(Mesh(vertices, vertices, triangles).areas, axis=1)
    whole = areas > 1e-12 * areas.max()
    return Mesh(vertices, normals.reshape(-1, 3), triangles[whole])
