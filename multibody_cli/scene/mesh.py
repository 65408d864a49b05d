"""Surfaces of triangles from files: they must be closed and face outward, and be convex where they touch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multibody_cli.errors import Refused
from multibody_cli.scene.shapes import MeshSpec

Floats = NDArray[np.float64]

CONVEX = 1e-6
"""Share of the size of a mesh by which its vertices may stand off its faces: files hold some seven digits."""

_AT_ONCE = 2**22
"""Heights of vertices over faces that are worked out at once."""


def surface_of(shape: MeshSpec, file: Path) -> Any:
    """Read the surface of a mesh, scaled; a `trimesh.Trimesh`.

    Raises
    ------
    Refused
        If it cannot be read, is not closed, or faces inward.
    """
    try:
        import trimesh
    except ImportError:
        raise Refused("a mesh needs the package trimesh: install mbsim with its extra `mesh`") from None
    try:
        mesh = trimesh.load_mesh(file)
    except Exception as error:  # a reader of many formats fails in many ways
        raise Refused(f"the mesh {file} cannot be read: {error}") from None
    if not mesh.is_watertight:
        raise Refused(f"the mesh {file} is not closed, so it has no volume")
    mesh.apply_scale(shape.scale)
    volume = float(mesh.volume)
    if volume <= 0.0:
        raise Refused(f"the mesh {file} has the volume {volume:g}: its triangles must face outward")
    return mesh


def convex_vertices(shape: MeshSpec, file: Path) -> Floats:
    """Read the vertices (n, 3) of a convex mesh, m.

    Raises
    ------
    Refused
        As by `surface_of`, or if a vertex stands off the plane of a face.
    """
    mesh = surface_of(shape, file)
    vertices = np.asarray(mesh.vertices, dtype=float)
    off = _farthest_off(vertices, np.asarray(mesh.triangles, dtype=float))
    if off > CONVEX * float(np.ptp(vertices, axis=0).max()):
        raise Refused(
            f"the mesh {file} is not convex, a vertex stands {off:.3g} m off the plane of a face, and only convex ones "
            "touch others: put it together from several convex shapes, or give it `contact: false`"
        )
    return vertices


def _farthest_off(vertices: Floats, triangles: Floats) -> float:
    """How far a vertex stands over the plane of a triangle, at most; triangles without area have none."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    areas = np.linalg.norm(normals, axis=1)
    flat = areas > 1e-12 * areas.max()
    normals, bases = normals[flat] / areas[flat, None], triangles[flat, 0]
    off, many = 0.0, max(1, _AT_ONCE // len(vertices))
    for first in range(0, len(normals), many):
        some = slice(first, first + many)
        heights = vertices @ normals[some].T - (bases[some] * normals[some]).sum(axis=1)
        off = max(off, float(heights.max()))
    return off
