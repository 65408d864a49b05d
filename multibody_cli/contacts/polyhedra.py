"""Convex polyhedra for contacts: corners and flat faces.

Coplanar triangles of a surface are merged into one face: a box has six faces, whatever its triangulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from multibody_cli.contacts.contract import FACE_CORNERS, Floats

FLAT = 1e-6
"""Distance of corners from the plane of their face, relative to the size: file formats store some seven digits."""


@dataclass(frozen=True, eq=False)
class Face:
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
            flat = (np.abs(corners @ normal + offset) <= FLAT * size)[triangles].all(axis=1)
            members = _connected(int(seed), flat & ~taken, hull.neighbors)
            taken[members] = True
            faces.append(Face(normal, _outline(np.unique(triangles[members]), corners, normal)))
    return corners, faces


def _connected(seed: int, allowed: np.ndarray, neighbors: np.ndarray) -> list[int]:
    """Return the allowed triangles connected to the seed."""
    members, reached = [seed], {seed}
    for triangle in members:
        for other in map(int, neighbors[triangle]):
            if other not in reached and allowed[other]:
                reached.add(other)
                members.append(other)
    return members


def _outline(members: np.ndarray, corners: Floats, normal: Floats) -> list[int]:
    """Return the corners of the convex outline of points in a plane; of too many, the most significant."""
    e = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    e /= np.linalg.norm(e)
    plane = corners[members] @ np.column_stack([e, np.cross(normal, e)])
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
