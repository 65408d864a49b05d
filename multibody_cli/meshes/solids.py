"""Meshes of solids of revolution about z, from their profiles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from multibody_cli.meshes.mesh import Floats, Mesh, grid, merged

SECTORS = 32
"""Number of sectors of a full turn."""


def sphere(radius: float, sectors: int = SECTORS) -> Mesh:
    """Return a sphere of a radius, m, about the origin."""
    return _revolved([_arc(0.0, radius, 0.0, -90.0, 90.0, sectors // 2)], sectors)


def cylinder(radius: float, length: float, sectors: int = SECTORS) -> Mesh:
    """Return a cylinder of a radius and a length, m, about the origin."""
    return lathe([(0.0, -0.5 * length), (radius, -0.5 * length), (radius, 0.5 * length), (0.0, 0.5 * length)], sectors)


def capsule(radius: float, length: float, sectors: int = SECTORS) -> Mesh:
    """Return a cylinder of a length, m, with a half ball on each end."""
    low = _arc(0.0, radius, -0.5 * length, -90.0, 0.0, sectors // 4)
    high = _arc(0.0, radius, 0.5 * length, 0.0, 90.0, sectors // 4)
    return _revolved([(np.concatenate([low[0], high[0]]), np.concatenate([low[1], high[1]]))], sectors)


def torus(major_radius: float, minor_radius: float, sectors: int = SECTORS) -> Mesh:
    """Return a torus about z with the radii of its centre line and of its tube, m."""
    return _revolved([_arc(major_radius, minor_radius, 0.0, -180.0, 180.0, sectors // 2)], 2 * sectors)


def lathe(profile: Sequence[tuple[float, float]], sectors: int = SECTORS) -> Mesh:
    """Return the solid whose profile, (distance from z, height), is a polygon; the outside is on its right."""
    pieces = []
    for (r, z), (s, w) in itertools.pairwise(profile):
        length = math.hypot(s - r, w - z)
        normal = ((w - z) / length, (r - s) / length)
        pieces.append((np.array([(r, z), (s, w)]), np.array([normal, normal])))
    return _revolved(pieces, sectors)


def _arc(centre: float, radius: float, height: float, first: float, last: float, count: int) -> tuple[Floats, Floats]:
    """Return points and normals of a circular arc in the plane of a profile; angles in degrees from the radial axis."""
    angle = np.radians(np.linspace(first, last, count + 1))
    normals = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.array([centre, height]) + radius * normals, normals


def _revolved(profiles: Sequence[tuple[Floats, Floats]], sectors: int) -> Mesh:
    """Revolve smooth profiles, points (n, 2) and normals (n, 2), each from the lower to the upper end, about z."""
    angle = np.linspace(0.0, 2.0 * math.pi, sectors + 1)
    turn = np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def around(flat: Floats) -> Floats:
        radial = turn[:, None, :] * flat[None, :, :1]
        return np.concatenate([radial, np.broadcast_to(flat[None, :, 1:], (len(turn), len(flat), 1))], axis=2)

    return merged(grid(around(points), around(normals)) for points, normals in profiles)
