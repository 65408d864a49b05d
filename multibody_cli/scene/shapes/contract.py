"""Contract of shapes: their fields in a scene, their volume, and their form in contacts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field, StringConstraints

from multibody_cli.contacts.forms import Form
from multibody_cli.immutable import Immutable
from multibody_cli.mass import Floats, MassProperties
from multibody_cli.meshes.mesh import Mesh
from multibody_cli.spec import Color, ContactFriction, Fraction, Position, Quantity, Rotation, Spec, units
from multibody_cli.spec.quantities import WholeNumber
from multibody_cli.spec.rotations import IDENTITY, rotation_matrix

Group = Annotated[str, StringConstraints(min_length=1, max_length=100)]

DEFAULT_GROUP = "default"
"""Group of shapes without `groups`, with which shapes without `collides_with` collide."""


class ShapeSpec(Spec):
    """Common fields of all shapes: pose in the body frame, surface properties, and appearance."""

    type: str
    position: Position = Field((0.0, 0.0, 0.0), description="Origin of the shape in the body frame, m.")
    rotation: Rotation = Field(IDENTITY, description="Orientation of the shape in the body frame.")
    friction: ContactFriction | None = Field(
        None,
        description="Coefficient of dry friction, one number or {static, kinetic, stribeck_speed, rolling, torsional}; "
        "for two shapes, the geometric mean, or that of `contacts.combine`, and the maximum of the latter two.",
    )
    restitution: Fraction | None = Field(
        None, description="Coefficient of restitution; for two shapes, the maximum, or that of `contacts.combine`."
    )
    priority: Annotated[int, WholeNumber(0)] = Field(
        0,
        description="Of two shapes with different priorities, friction and restitution are those of the shape with the "
        "higher one.",
    )
    contact: bool = Field(True, description="Whether the shape takes part in contacts, in a scene with `contacts`.")
    groups: tuple[Group, ...] = Field(
        (DEFAULT_GROUP,),
        description="Groups of the shape. Two shapes can touch if one of them collides with a group of the other.",
    )
    collides_with: tuple[Group, ...] = Field(
        (DEFAULT_GROUP,), description="Groups of other shapes with which the shape collides."
    )
    color: Color | None = Field(
        None,
        description="Color in pictures: a name of CSS, #rrggbb, or [r, g, b] between 0 and 1. "
        "Default: one for each body.",
    )
    visible: bool = Field(True, description="Whether pictures show the shape.")

    @property
    def axes(self) -> Floats:
        """Rotation (3, 3) of its form in the body frame."""
        return np.asarray(rotation_matrix(self.rotation))


class SolidSpec(ShapeSpec):
    """A shape with volume and mass."""

    density: Annotated[float, Quantity(units.DENSITY, least=0.0)] | None = Field(
        None, description="Density, kg/m^3; 0 for a shape without mass, as in pictures. Default: that of the body."
    )


class VolumeProperties(NamedTuple):
    """Volume (m^3), centre (3,) (m), and inertia (3, 3) about the centre per unit of mass (m^2)."""

    volume: float
    centre: Floats
    inertia: Floats

    def of_mass(self, mass: float) -> MassProperties:
        """Return the mass properties of this volume with a uniformly distributed mass."""
        return MassProperties(mass, self.centre, mass * self.inertia)


def centred(volume: float, x: float, y: float, z: float) -> VolumeProperties:
    """Return the properties of a volume about its origin, with the principal moments per unit of mass, m^2."""
    return VolumeProperties(volume, np.zeros(3), np.diag([x, y, z]))


class ShapeKind(Immutable):
    """An entry of the catalogue of shapes.

    Parameters
    ----------
    name
        The word of the scene file, `type: name`.
    spec
        The fields of the shape in a scene file.
    volume
        Function from the fields, and the file of a mesh, to the properties of the volume; None if it has none.
    form
        Function from the same to the form in contacts (`contacts.forms`); None if it has none.
    parts
        Instead, a function from the same to the convex forms of which it consists in contacts.
    beads
        Function from the fields to the points of the shape, in its frame, at which an affine body has contacts, each
        with a radius; None if it has none.
    mesh
        Function from the same to the surface in pictures, in the frame of the form; None draws the form.
    """

    name: str
    spec: type[ShapeSpec]
    volume: Callable[[Any, Path], VolumeProperties] | None = None
    form: Callable[[Any, Path], Form] | None = None
    parts: Callable[[Any, Path], Sequence[Form]] | None = None
    beads: Callable[[Any], Sequence[tuple[Floats, float]]] | None = None
    mesh: Callable[[Any, Path], Mesh] | None = None

    @property
    def touches(self) -> bool:
        """Whether the shape can have contacts."""
        return self.form is not None or self.parts is not None

    def forms(self, shape: Any, file: Path) -> Sequence[Form]:
        """Return the forms in contacts; none of a shape without contacts."""
        if self.parts is not None:
            return self.parts(shape, file)
        return () if self.form is None else [self.form(shape, file)]
