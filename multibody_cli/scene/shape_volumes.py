"""Volume properties of shapes: volume, centre, and inertia per unit of mass."""

from __future__ import annotations

import math
from functools import singledispatch
from pathlib import Path
from typing import NamedTuple

import numpy as np

from multibody_cli.mass import Floats, MassProperties
from multibody_cli.scene.mesh import surface_of
from multibody_cli.scene.shapes import (
    BoxSpec,
    CapsuleSpec,
    CylinderSpec,
    EllipsoidSpec,
    MeshSpec,
    ShapeSpec,
    SphereSpec,
    TorusSpec,
)


class VolumeProperties(NamedTuple):
    """Volume (m^3), centre (3,) (m), and inertia (3, 3) about the centre per unit of mass (m^2)."""

    volume: float
    centre: Floats
    inertia: Floats

    def of_mass(self, mass: float) -> MassProperties:
        """Return the mass properties of this volume with a uniformly distributed mass."""
        return MassProperties(mass, self.centre, mass * self.inertia)


def _centred(volume: float, x: float, y: float, z: float) -> VolumeProperties:
    return VolumeProperties(volume, np.zeros(3), np.diag([x, y, z]))


@singledispatch
def volume_properties_of(shape: ShapeSpec, file: Path) -> VolumeProperties:
    """Return the volume properties of a shape in its own frame; `file` is that of a mesh, ignored by others."""
    raise TypeError(f"a shape without volume: {shape.type}")


@volume_properties_of.register
def _(shape: SphereSpec, _file: Path) -> VolumeProperties:
    moment = 0.4 * shape.radius**2
    return _centred(4.0 / 3.0 * math.pi * shape.radius**3, moment, moment, moment)


@volume_properties_of.register
def _(shape: BoxSpec, _file: Path) -> VolumeProperties:
    a, b, c = shape.size
    return _centred(a * b * c, (b * b + c * c) / 12.0, (a * a + c * c) / 12.0, (a * a + b * b) / 12.0)


@volume_properties_of.register
def _(shape: CylinderSpec, _file: Path) -> VolumeProperties:
    r, length = shape.radius, shape.length
    across = r * r / 4.0 + length * length / 12.0
    return _centred(math.pi * r * r * length, across, across, r * r / 2.0)


@volume_properties_of.register
def _(shape: CapsuleSpec, _file: Path) -> VolumeProperties:
    r, length = shape.radius, shape.length
    rod, ball = math.pi * r * r * length, 4.0 / 3.0 * math.pi * r**3
    across = rod * (r * r / 4.0 + length * length / 12.0)
    across += ball * (0.4 * r * r + length * length / 4.0 + 3.0 / 8.0 * length * r)
    along = rod * r * r / 2.0 + ball * 0.4 * r * r
    volume = rod + ball
    return _centred(volume, across / volume, across / volume, along / volume)


@volume_properties_of.register
def _(shape: EllipsoidSpec, _file: Path) -> VolumeProperties:
    a, b, c = shape.radii
    return _centred(
        4.0 / 3.0 * math.pi * a * b * c, (b * b + c * c) / 5.0, (a * a + c * c) / 5.0, (a * a + b * b) / 5.0
    )


@volume_properties_of.register
def _(shape: TorusSpec, _file: Path) -> VolumeProperties:
    R, r = shape.major_radius, shape.minor_radius
    across = R * R / 2.0 + 5.0 / 8.0 * r * r
    return _centred(2.0 * math.pi**2 * R * r * r, across, across, R * R + 0.75 * r * r)


@volume_properties_of.register
def _(shape: MeshSpec, file: Path) -> VolumeProperties:
    mesh = surface_of(shape, file)
    volume = float(mesh.volume)
    return VolumeProperties(volume, np.array(mesh.center_mass), np.array(mesh.moment_inertia) / volume)
