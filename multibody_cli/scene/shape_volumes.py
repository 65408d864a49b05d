"""How much space a shape fills, and how it is spread: volume, centre and inertia per unit of mass."""

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


class Matter(NamedTuple):
    """A volume (m^3), its centre (3,) (m), and its inertia (3, 3) about the centre per unit of mass (m^2)."""

    volume: float
    centre: Floats
    inertia: Floats

    def of_mass(self, mass: float) -> MassProperties:
        """The mass properties of this volume filled evenly with a mass."""
        return MassProperties(mass, self.centre, mass * self.inertia)


def _centred(volume: float, x: float, y: float, z: float) -> Matter:
    return Matter(volume, np.zeros(3), np.diag([x, y, z]))


@singledispatch
def matter_of(shape: ShapeSpec, file: Path) -> Matter:
    """Give the matter of a shape in its own frame; `file` is that of a mesh, and ignored by the others."""
    raise TypeError(f"a shape without volume: {shape.type}")


@matter_of.register
def _(shape: SphereSpec, _file: Path) -> Matter:
    moment = 0.4 * shape.radius**2
    return _centred(4.0 / 3.0 * math.pi * shape.radius**3, moment, moment, moment)


@matter_of.register
def _(shape: BoxSpec, _file: Path) -> Matter:
    a, b, c = shape.size
    return _centred(a * b * c, (b * b + c * c) / 12.0, (a * a + c * c) / 12.0, (a * a + b * b) / 12.0)


@matter_of.register
def _(shape: CylinderSpec, _file: Path) -> Matter:
    r, length = shape.radius, shape.length
    across = r * r / 4.0 + length * length / 12.0
    return _centred(math.pi * r * r * length, across, across, r * r / 2.0)


@matter_of.register
def _(shape: CapsuleSpec, _file: Path) -> Matter:
    r, length = shape.radius, shape.length
    rod, ball = math.pi * r * r * length, 4.0 / 3.0 * math.pi * r**3
    across = rod * (r * r / 4.0 + length * length / 12.0)
    across += ball * (0.4 * r * r + length * length / 4.0 + 3.0 / 8.0 * length * r)
    along = rod * r * r / 2.0 + ball * 0.4 * r * r
    volume = rod + ball
    return _centred(volume, across / volume, across / volume, along / volume)


@matter_of.register
def _(shape: EllipsoidSpec, _file: Path) -> Matter:
    a, b, c = shape.radii
    return _centred(
        4.0 / 3.0 * math.pi * a * b * c, (b * b + c * c) / 5.0, (a * a + c * c) / 5.0, (a * a + b * b) / 5.0
    )


@matter_of.register
def _(shape: TorusSpec, _file: Path) -> Matter:
    R, r = shape.major_radius, shape.minor_radius
    across = R * R / 2.0 + 5.0 / 8.0 * r * r
    return _centred(2.0 * math.pi**2 * R * r * r, across, across, R * R + 0.75 * r * r)


@matter_of.register
def _(shape: MeshSpec, file: Path) -> Matter:
    mesh = surface_of(shape, file)
    volume = float(mesh.volume)
    return Matter(volume, np.array(mesh.center_mass), np.array(mesh.moment_inertia) / volume)
