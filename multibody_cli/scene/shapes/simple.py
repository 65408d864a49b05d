"""Shapes with closed forms: planes, spheres, boxes, capsules, cylinders, ellipsoids; and tori, without contacts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from multibody_cli.contacts import forms
from multibody_cli.mass import Floats
from multibody_cli.meshes import solids
from multibody_cli.scene.shapes.contract import ShapeKind, ShapeSpec, SolidSpec, VolumeProperties, centred
from multibody_cli.spec import Direction, PositiveLength, TorusRadii, Vector, Vector3, units
from multibody_cli.spec.rotations import frame_about


class PlaneSpec(ShapeSpec):
    """An infinite plane that bounds a half space."""

    type: Literal["plane"]
    normal: Direction = Field((0.0, 0.0, 1.0), description="Outward normal of the half space.")

    @property
    def axes(self) -> Floats:
        """Rotation (3, 3) of its form, with z along the normal."""
        return np.asarray(super().axes @ frame_about(np.array(self.normal)))


class SphereSpec(SolidSpec):
    """A sphere centered at the origin of the shape."""

    type: Literal["sphere"]
    radius: PositiveLength = Field(description="m")


def _sphere(shape: SphereSpec, _file: Path) -> VolumeProperties:
    moment = 0.4 * shape.radius**2
    return centred(4.0 / 3.0 * math.pi * shape.radius**3, moment, moment, moment)


class BoxSpec(SolidSpec):
    """A box centered at the origin of the shape."""

    type: Literal["box"]
    size: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(description="Full edge lengths [x, y, z], m.")


def _box(shape: BoxSpec, _file: Path) -> VolumeProperties:
    a, b, c = shape.size
    return centred(a * b * c, (b * b + c * c) / 12.0, (a * a + c * c) / 12.0, (a * a + b * b) / 12.0)


ROUNDING = 1e-3
"""Radius of the corners of a box on an affine body, relative to its shortest edge."""


def _corners(shape: BoxSpec) -> list[tuple[Floats, float]]:
    """Return the balls that touch three faces at each corner."""
    radius = ROUNDING * min(shape.size)
    return [(corner, radius) for corner in forms.box_corners(0.5 * np.array(shape.size) - radius)]


class CapsuleSpec(SolidSpec):
    """A cylinder along z with hemispherical ends, centered at the origin of the shape."""

    type: Literal["capsule"]
    radius: PositiveLength = Field(description="m")
    length: PositiveLength = Field(description="Length of the cylindrical part, m.")


def _capsule(shape: CapsuleSpec, _file: Path) -> VolumeProperties:
    r, length = shape.radius, shape.length
    rod, ball = math.pi * r * r * length, 4.0 / 3.0 * math.pi * r**3
    across = rod * (r * r / 4.0 + length * length / 12.0)
    across += ball * (0.4 * r * r + length * length / 4.0 + 3.0 / 8.0 * length * r)
    along = rod * r * r / 2.0 + ball * 0.4 * r * r
    return centred(rod + ball, across / (rod + ball), across / (rod + ball), along / (rod + ball))


class CylinderSpec(SolidSpec):
    """A cylinder along z, centered at the origin of the shape."""

    type: Literal["cylinder"]
    radius: PositiveLength = Field(description="m")
    length: PositiveLength = Field(description="m")


def _cylinder(shape: CylinderSpec, _file: Path) -> VolumeProperties:
    r, length = shape.radius, shape.length
    across = r * r / 4.0 + length * length / 12.0
    return centred(math.pi * r * r * length, across, across, r * r / 2.0)


class EllipsoidSpec(SolidSpec):
    """An ellipsoid centered at the origin of the shape."""

    type: Literal["ellipsoid"]
    radii: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(description="Semi-axes [a, b, c], m.")


def _ellipsoid(shape: EllipsoidSpec, _file: Path) -> VolumeProperties:
    a, b, c = shape.radii
    moments = (b * b + c * c) / 5.0, (a * a + c * c) / 5.0, (a * a + b * b) / 5.0
    return centred(4.0 / 3.0 * math.pi * a * b * c, *moments)


class TorusSpec(TorusRadii, SolidSpec):
    """A torus about z."""

    type: Literal["torus"]


def _torus(shape: TorusSpec, _file: Path) -> VolumeProperties:
    R, r = shape.major_radius, shape.minor_radius
    across = R * R / 2.0 + 5.0 / 8.0 * r * r
    return centred(2.0 * math.pi**2 * R * r * r, across, across, R * R + 0.75 * r * r)


KINDS = (
    ShapeKind("plane", PlaneSpec, form=lambda shape, _: forms.plane()),
    ShapeKind(
        "sphere",
        SphereSpec,
        _sphere,
        lambda shape, _: forms.sphere(shape.radius),
        beads=lambda shape: [(np.zeros(3), shape.radius)],
    ),
    ShapeKind("box", BoxSpec, _box, lambda shape, _: forms.box(shape.size), beads=_corners),
    ShapeKind("capsule", CapsuleSpec, _capsule, lambda shape, _: forms.capsule(shape.radius, shape.length)),
    ShapeKind("cylinder", CylinderSpec, _cylinder, lambda shape, _: forms.cylinder(shape.radius, shape.length)),
    ShapeKind("ellipsoid", EllipsoidSpec, _ellipsoid, lambda shape, _: forms.ellipsoid(shape.radii)),
    ShapeKind("torus", TorusSpec, _torus, mesh=lambda shape, _: solids.torus(shape.major_radius, shape.minor_radius)),
)
