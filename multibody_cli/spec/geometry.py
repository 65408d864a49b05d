"""Vectors, directions, rotations, poses and body points of a scene file."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema, field_validator
from pydantic.functional_validators import PlainValidator

from multibody_cli.spec import units
from multibody_cli.spec.quantities import (
    NUMBER_SCHEMA,
    TEXT_SCHEMA,
    PositiveLength,
    Quantity,
    Reader,
    Spec,
    describe_kind,
    list_schema,
)
from multibody_cli.spec.rotations import FORMS, IDENTITY, Quaternion, read_rotation

Vector = tuple[float, float, float]


class Vector3(Reader):
    """Annotation of a list [x, y, z] of quantities of one kind; see `Quantity` for the bounds."""

    kind: units.QuantityKind
    least: float | None = None
    above: float | None = None

    def read(self, value: Any) -> Vector:
        """Read [x, y, z]."""
        expected = f"expected a list [x, y, z], each {describe_kind(self.kind)}"
        x, y, z = Quantity(self.kind, self.least, self.above).read_list(value, 3, expected)
        return x, y, z

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of three numbers or texts."""
        return list_schema(NUMBER_SCHEMA, 3)


Position = Annotated[Vector, Vector3(units.LENGTH)]


def _read_direction(value: Any) -> Vector:
    x, y, z = Vector3(units.NUMBER).read(value)
    norm = math.hypot(x, y, z)
    if norm < 1e-12:
        raise ValueError("expected a nonzero direction [x, y, z]")
    return x / norm, y / norm, z / norm


Direction = Annotated[Vector, PlainValidator(_read_direction), WithJsonSchema(list_schema(NUMBER_SCHEMA, 3))]
"""A unit vector; the scene may give any nonzero length."""

ROTATION_SCHEMA = {
    "anyOf": [
        {"type": "object", "properties": form.schema, "required": [name], "additionalProperties": False}
        for name, form in FORMS.items()
    ]
    + [TEXT_SCHEMA]
}

Rotation = Annotated[Quaternion, PlainValidator(read_rotation), WithJsonSchema(ROTATION_SCHEMA)]
"""A unit quaternion (w, x, y, z), given in any of the forms of `rotations.FORMS`."""


class Pose(Spec):
    """Pose of a frame relative to another frame."""

    EXAMPLE = "{position: [x, y, z]}"

    position: Position = Field((0.0, 0.0, 0.0), description="Origin of the frame, m.")
    rotation: Rotation = Field(IDENTITY, description="Orientation of the frame.")


class Twist(Spec):
    """Linear and angular velocity of a frame."""

    EXAMPLE = "{linear: [x, y, z], angular: [x, y, z]}"

    linear: Annotated[Vector, Vector3(units.SPEED)] = Field((0.0, 0.0, 0.0), description="Velocity of the origin, m/s.")
    angular: Annotated[Vector, Vector3(units.ANGULAR_SPEED)] = Field(
        (0.0, 0.0, 0.0),
        description="Angular velocity, rad/s; both in the axes of the parent frame, of a body the world.",
    )


class TorusRadii(Spec):
    """A torus without self-intersection."""

    major_radius: PositiveLength = Field(description="Distance from the center to the center line of the tube, m.")
    minor_radius: PositiveLength = Field(description="Radius of the tube, m; smaller than the major radius.")

    @field_validator("minor_radius")
    @classmethod
    def _require_a_hole(cls, minor: float, info: Any) -> float:
        major = info.data.get("major_radius")
        if major is not None and minor >= major:
            raise ValueError(
                f"a torus with minor radius {minor:g} m and major radius {major:g} m intersects itself: expected a "
                "`minor_radius` below the `major_radius`"
            )
        return minor
