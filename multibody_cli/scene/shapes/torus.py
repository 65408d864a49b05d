"""Tori; they have no contacts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

from multibody_cli.meshes import solids
from multibody_cli.meshes.mesh import Mesh
from multibody_cli.scene.shapes.contract import ShapeKind, SolidSpec, VolumeProperties, centred
from multibody_cli.spec import TorusRadii


class TorusSpec(TorusRadii, SolidSpec):
    """A torus about z."""

    type: Literal["torus"]


def volume(shape: TorusSpec, _file: Path) -> VolumeProperties:
    """Return volume, centre and inertia."""
    R, r = shape.major_radius, shape.minor_radius
    across = R * R / 2.0 + 5.0 / 8.0 * r * r
    return centred(2.0 * math.pi**2 * R * r * r, across, across, R * R + 0.75 * r * r)


def mesh(shape: TorusSpec, _file: Path) -> Mesh:
    """Return the surface in pictures."""
    return solids.torus(shape.major_radius, shape.minor_radius)


KIND = ShapeKind("torus", TorusSpec, volume, mesh=mesh)
