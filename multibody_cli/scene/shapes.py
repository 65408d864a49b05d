"""Shapes of bodies: what they look like and, where no mass is given, what they weigh."""

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
    """What all shapes take: where they lie in the body frame, what they are like to touch, and how they look."""

    type: str
    position: Position = Field((0.0, 0.0, 0.0), description="Origin of the shape in the body frame, m.")
    rotation: Rotation = Field(IDENTITY, description="Orientation of the shape in the body frame.")
    friction: NonNegative | None = Field(
        None, description="Coefficient of dry friction; that of two shapes is the geometric mean of theirs."
    )
    restitution: Fraction | None = Field(
        None, description="Speed after an impact over that before; that of two shapes is the larger of theirs."
    )
    contact: bool = Field(True, description="Whether the shape touches others, in a scene with `contacts`.")
    color: str | list[float] | None = Field(None, description="A name, #rrggbb, or [r, g, b] between 0 and 1.")

    HAS_VOLUME: ClassVar[bool] = True


class SolidSpec(ShapeSpec):
    """A shape with a volume, hence a mass."""

    density: Density | None = Field(None, description="kg/m^3; without it, that of the body.")


class PlaneSpec(ShapeSpec):
    """An infinite plane, solid below."""

    type: Literal["plane"]
    normal: Direction = Field((0.0, 0.0, 1.0), description="Points out of the solid side.")

    HAS_VOLUME = False


class SphereSpec(SolidSpec):
    """A ball about the origin of the shape."""

    type: Literal["sphere"]
    radius: PositiveLength = Field(description="m")


class BoxSpec(SolidSpec):
    """A box about the origin of the shape."""

    type: Literal["box"]
    size: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(description="Full edge lengths [x, y, z], m.")


class CylinderSpec(SolidSpec):
    """A cylinder along z, about the origin of the shape."""

    type: Literal["cylinder"]
    radius: PositiveLength = Field(description="m")
    length: PositiveLength = Field(description="m")


class CapsuleSpec(SolidSpec):
    """A cylinder along z with a half ball on each end."""

    type: Literal["capsule"]
    radius: PositiveLength = Field(description="m")
    length: PositiveLength = Field(description="Of the cylinder, without the half balls, m.")


class EllipsoidSpec(SolidSpec):
    """An ellipsoid about the origin of the shape."""

    type: Literal["ellipsoid"]
    radii: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(description="Semi-axes [a, b, c], m.")


class TorusSpec(TorusRadii, SolidSpec):
    """A ring about z."""

    type: Literal["torus"]


class MeshSpec(SolidSpec):
    """A closed surface of triangles, read from a file; convex, if it is to touch others."""

    type: Literal["mesh"]
    file: str = Field(min_length=1, description="File with the surface, relative to the scene file.")
    scale: Annotated[float, Quantity(units.NUMBER, above=0.0)] = Field(1.0, description="Metres per unit of the file.")


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
"""Every shape by the word of the scene file."""

TOUCHING = frozenset(SHAPES) - {"torus"}
"""Shapes that can touch each other; a mesh must be convex."""

Shape = Annotated[ShapeSpec, Catalogue("a shape", SHAPES)]
