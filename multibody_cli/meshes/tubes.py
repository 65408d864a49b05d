"""Meshes of tubes along curves: wires, cables and coils."""

from __future__ import annotations

import math

import numpy as np

from multibody_cli.meshes.mesh import Floats, Mesh, grid, merged, unit

SIDES = 10


def tube(points: Floats, radius: float, sides: int = SIDES) -> Mesh:
    """Return a tube of a radius, m, along points (n, 3), with flat ends; consecutive points must differ."""
    tangents = unit(np.gradient(points, axis=0))
    across = _carried(tangents)
    third = np.cross(tangents, across)
    angle = np.linspace(0.0, 2.0 * math.pi, sides + 1)[None, :, None]
    normals = np.cos(angle) * across[:, None] + np.sin(angle) * third[:, None]
    around = points[:, None] + radius * normals
    wall = grid(around.swapaxes(0, 1), normals.swapaxes(0, 1))
    return merged([wall, _cap(around[0, ::-1], -tangents[0]), _cap(around[-1], tangents[-1])])


def coil(radius: float, length: float, wire: float, turns: int) -> Mesh:
    """Return a helical spring along z from 0 to `length`, m, with straight ends on the axis."""
    straight = 0.08 * length
    angle = np.linspace(0.0, 2.0 * math.pi * turns, 16 * turns + 1)
    ramp = np.clip(np.minimum(angle, angle[-1] - angle) / math.pi, 0.0, 1.0)[:, None]
    circle = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1) * radius * ramp
    height = straight + (length - 2.0 * straight) * angle / angle[-1]
    helix = circle + height[:, None] * np.array([0.0, 0.0, 1.0])
    ends = np.array([[0.0, 0.0, 0.0]]), np.array([[0.0, 0.0, length]])
    return tube(np.concatenate([ends[0], helix, ends[1]]), wire, sides=6)


def _carried(tangents: Floats) -> Floats:
    """Return a unit vector across each tangent, carried along the curve without rotation about it."""
    across = np.empty_like(tangents)
    axis = np.eye(3)[int(np.argmin(np.abs(tangents[0])))]
    for k, tangent in enumerate(tangents):
        axis = axis - (axis @ tangent) * tangent
        axis = axis / np.linalg.norm(axis)
        across[k] = axis
    return across


def _cap(ring: Floats, normal: Floats) -> Mesh:
    """Return the disc inside a closed ring (n, 3), counterclockwise about its normal."""
    corners = ring[:-1]
    fan = np.array([(0, k, k + 1) for k in range(1, len(corners) - 1)])
    return Mesh(corners, np.tile(normal, (len(corners), 1)), fan)
