"""Entries of `springs:` in a scene file: springs along cables, and bushings."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from multibody_cli.forces.between import BetweenSpec, Place, placed
from multibody_cli.spec import BodyPoint, Pose, Quantity, Spec, Vector, Vector3, units
from multibody_cli.spec.quantities import NUMBER_SCHEMA
from multibody_cli.spec.reading import located_error

_NONE: Vector = (0.0, 0.0, 0.0)

_KINDS = {
    ("stiffness", False): units.STIFFNESS,
    ("stiffness", True): units.FORCE,
    ("damping", False): units.DAMPING,
    ("damping", True): units.STRAIN_DAMPING,
}
"""Units of the coefficients of a spring, relative to its rest length or not."""


class SpringSpec(BetweenSpec):
    """A spring with an optional damper along the lines between points of bodies."""

    between: list[BodyPoint] | None = Field(None, min_length=2, max_length=2, description="Its two ends.")
    path: list[BodyPoint] | None = Field(
        None, min_length=2, description="Its ends, and between them points through which it slides."
    )
    relative: bool = Field(
        False, description="Whether `stiffness` and `damping` are per unit of strain, (length - rest) / rest."
    )
    stiffness: float = Field(
        description="Tension per unit of length beyond `rest_length`, N/m; N where `relative`.",
        json_schema_extra=dict(NUMBER_SCHEMA),
    )
    damping: float = Field(
        0.0,
        description="Tension per unit of the rate of the length, N*s/m; N*s where `relative`.",
        json_schema_extra=dict(NUMBER_SCHEMA),
    )
    rest_length: Annotated[float, Quantity(units.LENGTH, least=0.0)] = Field(
        description="Length without tension, m. A shorter spring is compressed; with 0 the tension is proportional to "
        "the length."
    )

    @field_validator("stiffness", "damping", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_coefficient(cls, value: Any, info: ValidationInfo) -> float:
        return Quantity(_KINDS[str(info.field_name), bool(info.data.get("relative"))], least=0.0).read(value)

    @model_validator(mode="after")
    def _require_one_way(self) -> Self:
        if (self.between is None) == (self.path is None):
            raise ValueError("expected one of `between` and `path`")
        if self.relative and self.rest_length == 0.0:
            raise located_error("has no meaning for a spring without length at rest", "relative")
        return self

    @property
    def coefficients(self) -> tuple[float, float]:
        """Stiffness, N/m, and damping, N s/m."""
        length = self.rest_length if self.relative else 1.0
        return self.stiffness / length, self.damping / length

    @property
    def points(self) -> list[tuple[Place, BodyPoint]]:
        """Its points from end to end."""
        return placed("between", self.between) if self.between else placed("path", self.path or ())


class BushingStiffness(Spec):
    """Stiffness in six directions."""

    EXAMPLE = "{linear: [x, y, z], angular: [x, y, z]}"

    linear: Annotated[Vector, Vector3(units.STIFFNESS, least=0.0)] = Field(_NONE, description="Along x, y, z, N/m.")
    angular: Annotated[Vector, Vector3(units.ANGULAR_STIFFNESS, least=0.0)] = Field(
        _NONE, description="For the rotation vector, N*m/rad."
    )


class BushingDamping(Spec):
    """Damping in six directions."""

    EXAMPLE = "{linear: [x, y, z], angular: [x, y, z]}"

    linear: Annotated[Vector, Vector3(units.DAMPING, least=0.0)] = Field(_NONE, description="Along x, y, z, N*s/m.")
    angular: Annotated[Vector, Vector3(units.ANGULAR_DAMPING, least=0.0)] = Field(
        _NONE, description="About x, y, z, N*m*s/rad."
    )


class BushingSpec(BetweenSpec):
    """Springs and dampers in six directions between a frame of one body and a frame of another."""

    type: Literal["bushing"]
    parent: str = Field(description="Body to whose frame the stiffness refers, or `world`.")
    child: str = Field(description="The other body, or `world`.")
    origin: Pose = Field(Pose(), description="Frame on the parent; stiffness and damping refer to its axes.")
    child_origin: Pose = Field(
        Pose(), description="Frame on the child; it coincides with the frame on the parent at rest."
    )
    stiffness: BushingStiffness = Field(description="Stiffness.")
    damping: BushingDamping = Field(BushingDamping(), description="Damping.")

    @property
    def bodies(self) -> list[tuple[Place, str]]:
        """Parent and child."""
        return [(("parent",), self.parent), (("child",), self.child)]

    @property
    def turns(self) -> bool:
        """Whether its bodies need an orientation: they do, for the axes of its frames."""
        return True
