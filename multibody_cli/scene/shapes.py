"""Shapes of bodies, for contacts, for display and, if no mass is given, for mass properties."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from multibody_cli.spec import (
    Catalogue,
    Density,
    Direction,
    Fraction,
    NonNegative,
    Position,
    PositiveLength,
    Quantity,
    Rotation,
    Spec,
    TorusRadii,
    Vector,
    Vector3,
    units,
)
from multibody_cli.spec.rotations import IDENTITY


class ShapeSpec(Spec):
    """Common fields of all shapes: pose in the body frame, surface properties, and appearance."""

    type: str
    position: Position = Field((0.0, 0.0, 0.0), description="Origin of the shape in the body frame, m.")
    rotation: Rotation = Field(IDENTITY, description="Orientation of the shape in the body frame.")
    friction: NonNegative | None = Field(
        None, description="Coulomb friction coefficient; for a pair of shapes, the geometric mean."
    )
    restitution: Fraction | None = Field(
        None, description="Coefficient of restitution; for a pair of shapes, the maximum."
    )
    contact: bool = Field(True, description="Whether the shape takes part in contacts, in a scene with `contacts`.")
    color: str | list[float] | None = Field(None, description="A name, #rrggbb, or [r, g, b] between 0 and 1.")

    HAS_VOLUME: ClassVar[bool] = True


class SolidSpec(ShapeSpec):
    """A shape with volume and mass."""

    density: Density | None = Field(None, description="Density, kg/m^3. Default: that of the body.")


class PlaneSpec(ShapeSpec):
    """An infinite plane that bounds a half space."""

    type: Literal["plane"]
    normal: Direction = Field((0.0, 0.0, 1.0), description="Outward normal of the half space.")

    HAS_VOLUME = False


class SphereSpec(SolidSpec):
    """A sphere centered at the origin of the shape."""

    type: Literal["sphere"]
    radius: PositiveLength = Field(description="m")


class BoxSpec(SolidSpec):
    """A box centered at the origin of the shape."""

    type: Literal["box"]
    size: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(description="Full edge lengths [x, y, z], m.")


class CylinderSpec(SolidSpec):
    """A cylinder along z, centered at the origin of the shape."""

    type: Literal["cylinder"]
    radius: PositiveLength = Field(description="m")
    length: PositiveLength = Field(description="m")


class CapsuleSpec(SolidSpec):
    """A cylinder along z with hemispherical ends, centered at the origin of the shape."""

    type: Literal["capsule"]
    radius: PositiveLength = Field(description="m")
    length: PositiveLength = Field(description="Length of the cylindrical part, m.")


class EllipsoidSpec(SolidSpec):
    """An ellipsoid centered at the origin of the shape."""

    type: Literal["ellipsoid"]
    radii: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(description="Semi-axes [a, b, c], m.")


class TorusSpec(TorusRadii, SolidSpec):
    """A torus about z."""

    type: Literal["torus"]


class MeshSpec(SolidSpec):
    """A closed triangle mesh from a file; it must be convex to have contacts."""

    type: Literal["mesh"]
    file: str = Field(min_length=1, description="Mesh file, relative to the scene file.")
    scale: Annotated[float, Quantity(units.NUMBER, above=0.0)] = Field(1.0, description="Length unit of the file, m.")


SHAPES: dict[str, type[ShapeSpec]] = {
    "plane": PlaneSpec,
    "sphere": SphereSpec,
    "box": BoxSpec,
    "capsule": CapsuleSpec,
    "cylinder": CylinderSpec,
    "ellipsoid": EllipsoidSpec,
    "torus": TorusSpec,
    "mesh": MeshSpec,
}
"""All shapes, by type."""

CONTACT_SHAPES = frozenset(SHAPES) - {"torus"}
"""Shapes that support contacts; a mesh must be convex."""

Shape = Annotated[ShapeSpec, Catalogue("a shape", SHAPES)]
