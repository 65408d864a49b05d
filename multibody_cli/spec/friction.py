"""Coefficients of dry friction in a scene: one number, or a static and a kinetic one."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema, field_validator
from pydantic.functional_validators import PlainValidator

from multibody_cli.spec import units
from multibody_cli.spec.quantities import NUMBER_SCHEMA, NonNegative, Quantity, Spec, format_value

STRIBECK_SPEED = 0.01
"""Default of the Stribeck speed, m/s."""


class FrictionCoefficients(Spec):
    """Coefficients of dry friction at rest and in slip, with kinetic + (static - kinetic) exp(-(v / v_S)^2) at v."""

    EXAMPLE = "{static: 0.6, kinetic: 0.4, stribeck_speed: 1 cm/s}"

    static: NonNegative = Field(description="Coefficient of friction at rest.")
    kinetic: NonNegative = Field(description="Coefficient of friction in fast slip, at most `static`.")
    stribeck_speed: Annotated[float, Quantity(units.SPEED, above=0.0)] = Field(
        STRIBECK_SPEED,
        description="Slip speed v_S at which 37 % of the difference are left, m/s.",
    )

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


def read_friction(value: Any) -> FrictionCoefficients:
    """Read one coefficient, which is both the static and the kinetic one, or a mapping of both."""
    if isinstance(value, FrictionCoefficients):
        return value
    if isinstance(value, dict):
        return FrictionCoefficients.model_validate(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(
            f"expected a coefficient or a mapping such as `{FrictionCoefficients.EXAMPLE}`, found {format_value(value)}"
        )
    number = Quantity(units.NUMBER, least=0.0).read(value)
    return FrictionCoefficients(static=number, kinetic=number)


def friction_schema() -> dict[str, Any]:
    """JSON Schema of one coefficient or a mapping of both."""
    fields = FrictionCoefficients.model_fields
    mapping = {
        "type": "object",
        "properties": {
            name: {
                **NUMBER_SCHEMA,
                **({} if field.is_required() else {"default": field.default}),
                "description": field.description,
            }
            for name, field in fields.items()
        },
        "required": [name for name, field in fields.items() if field.is_required()],
        "additionalProperties": False,
    }
    return {"anyOf": [*NUMBER_SCHEMA["anyOf"], mapping]}


Friction = Annotated[FrictionCoefficients, PlainValidator(read_friction), WithJsonSchema(friction_schema())]
"""Coefficients of dry friction, given as one number or as a mapping."""
