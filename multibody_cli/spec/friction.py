"""Coefficients of dry friction in a scene: one number, or a static and a kinetic one; of a surface, also of rolling."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, TypeVar

from pydantic import Field, WithJsonSchema, field_validator
from pydantic.functional_validators import PlainValidator

from multibody_cli.spec import units
from multibody_cli.spec.quantities import NUMBER_SCHEMA, NonNegative, NonNegativeLength, Quantity, Spec, format_value

STRIBECK_SPEED = 0.01
"""Default of the Stribeck speed, m/s."""


class FrictionCoefficients(Spec):
    """Coefficients of dry friction at rest and in slip, with kinetic + (static - kinetic) exp(-(v / v_S)^2) at v."""

    EXAMPLE = "{static: 0.6, kinetic: 0.4, stribeck_speed: 1 cm/s}"

    static: NonNegative = Field(description="Coefficient of friction at rest.")
    kinetic: NonNegative = Field(
        None,
        validate_default=True,
        description="Coefficient of friction in fast slip, at most `static`. Default: `static`.",
    )
    stribeck_speed: Annotated[float, Quantity(units.SPEED, above=0.0)] = Field(
        STRIBECK_SPEED,
        description="Slip speed v_S at which 37 % of the difference are left, m/s.",
    )

    @field_validator("kinetic", mode="before")
    @classmethod
    def _default_to_static(cls, kinetic: Any, info: Any) -> Any:
        return info.data.get("static", 0.0) if kinetic is None else kinetic

    @field_validator("kinetic")
    @classmethod
    def _require_less_than_at_rest(cls, kinetic: float, info: Any) -> float:
        static = info.data.get("static")
        if static is not None and kinetic > static:
            raise ValueError(
                f"expected at most the coefficient at rest, `static`, which is {static:g}, found {kinetic:g}"
            )
        return kinetic

    @property
    def differ(self) -> bool:
        """Whether friction depends on the slip speed."""
        return self.kinetic < self.static


class SurfaceFriction(FrictionCoefficients):
    """Coefficients of dry friction of a surface in contacts, and its resistance to rolling and spinning."""

    rolling: NonNegativeLength = Field(
        0.0,
        description="Coefficient of rolling resistance: the moment about the tangents is at most this length times the "
        "normal force, m; for two shapes, the maximum.",
    )
    torsional: NonNegativeLength = Field(
        0.0,
        description="The same for the moment about the normal, against spinning, m; for two shapes, the maximum.",
    )

    @property
    def coefficients(self) -> tuple[float, float, float, float, float]:
        """At rest and in fast slip, Stribeck speed, m/s, or 0 if both are the same, of rolling and of spinning, m."""
        speed = self.stribeck_speed if self.differ else 0.0
        return self.static, self.kinetic, speed, self.rolling, self.torsional

    @property
    def resists(self) -> bool:
        """Whether the surface resists rolling or spinning."""
        return self.rolling + self.torsional > 0.0


Coefficients = TypeVar("Coefficients", bound=FrictionCoefficients)


def read_friction(mapping: type[Coefficients], value: Any) -> Coefficients:
    """Read one coefficient, which is both the static and the kinetic one, or a mapping of several."""
    if isinstance(value, mapping):
        return value
    if isinstance(value, dict):
        return mapping.model_validate(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(
            f"expected a coefficient or a mapping such as `{mapping.EXAMPLE}`, found {format_value(value)}"
        )
    number = Quantity(units.NUMBER, least=0.0).read(value)
    return mapping(static=number, kinetic=number)


def friction_schema(mapping: type[FrictionCoefficients]) -> dict[str, Any]:
    """JSON Schema of one coefficient or a mapping of several."""
    fields = mapping.model_fields
    several = {
        "type": "object",
        "properties": {
            name: {
                **NUMBER_SCHEMA,
                **({} if field.is_required() or field.default is None else {"default": field.default}),
                "description": field.description,
            }
            for name, field in fields.items()
        },
        "required": [name for name, field in fields.items() if field.is_required()],
        "additionalProperties": False,
    }
    return {"anyOf": [*NUMBER_SCHEMA["anyOf"], several]}


Friction = Annotated[
    FrictionCoefficients,
    PlainValidator(partial(read_friction, FrictionCoefficients)),
    WithJsonSchema(friction_schema(FrictionCoefficients)),
]
"""Coefficients of dry friction, given as one number or as a mapping."""

ContactFriction = Annotated[
    SurfaceFriction,
    PlainValidator(partial(read_friction, SurfaceFriction)),
    WithJsonSchema(friction_schema(SurfaceFriction)),
]
"""Coefficients of dry friction of a surface, given as one number or as a mapping."""
