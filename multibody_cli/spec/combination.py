"""Combinations of coordinates: sum c_k q_k + offset, with a spring, a damper, friction and limits of their own.

A force f along a combination is the generalized force c_k f on each of its coordinates: its power is f times the rate
sum c_k v_k.  Source: the fixed tendons of MuJoCo.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import Field, PlainValidator, WithJsonSchema, field_validator, model_validator

from multibody_cli.nodes import NodePath
from multibody_cli.spec.entries import EntrySpec
from multibody_cli.spec.quantities import (
    NUMBER_SCHEMA,
    AnyQuantity,
    Fraction,
    Number,
    format_value,
    list_schema,
    read_any,
    read_each,
)

_BOUND = {"anyOf": [*NUMBER_SCHEMA["anyOf"], {"type": "null"}]}


def _read_pair(value: Any, read: Any) -> tuple[Any, Any]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"expected a pair [lower, upper], found {format_value(value)}")
    lower, upper = read_each(read, value)
    return lower, upper


class CombinationSpec(EntrySpec):
    """Coordinates of joints, each times its coefficient, add up to a quantity."""

    terms: dict[str, Number] = Field(
        min_length=1,
        description="Coefficients by the names of joints; `wrist/0` is the first coordinate of a joint with several.",
    )
    offset: Annotated[float, PlainValidator(read_any), WithJsonSchema(NUMBER_SCHEMA)] = Field(
        0.0, description="Value where all coordinates are 0, rad or m as the coordinates are."
    )
    stiffness: Annotated[float, AnyQuantity(0.0)] = Field(0.0, description="Of a spring, N*m/rad or N/m.")
    damping: Annotated[float, AnyQuantity(0.0)] = Field(0.0, description="Of a damper, N*m*s/rad or N*s/m.")
    rest: tuple[float, float] = Field(
        (0.0, 0.0),
        description="Value at which the spring is relaxed, or a range [lower, upper] within which it is.",
        json_schema_extra={"anyOf": [*NUMBER_SCHEMA["anyOf"], {"type": "array", "items": NUMBER_SCHEMA}]},
    )
    friction: Annotated[float, AnyQuantity(0.0)] = Field(
        0.0, description="Dry friction of a brake on the rate of the combination, N*m or N."
    )
    limits: tuple[float, float] | None = Field(
        None, description="Least and greatest value; null for none.", json_schema_extra=list_schema(_BOUND, 2)
    )
    restitution: Fraction = Field(0.0, description="Of impacts on the limits: ratio of the rates after and before.")

    @field_validator("rest", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_rest(cls, value: Any) -> tuple[float, float]:
        lower, upper = _read_pair(value, read_any) if isinstance(value, list | tuple) else (read_any(value),) * 2
        if lower > upper:
            raise ValueError(f"expected a lower end below the upper one, found {lower:g} and {upper:g}")
        return lower, upper

    @field_validator("limits", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_limits(cls, value: Any) -> tuple[float, float] | None:
        if value is None:
            return None
        bounds = _read_pair(value, lambda end: end if end is None else read_any(end))
        lower, upper = (
            end if bound is None else bound for bound, end in zip(bounds, (-math.inf, math.inf), strict=True)
        )
        if not lower < upper:
            raise ValueError(f"expected a lower limit below the upper one, found {lower:g} and {upper:g}")
        return lower, upper

    @model_validator(mode="after")
    def _refuse_entries_without_effect(self) -> Self:
        if not any(self.terms.values()):
            raise ValueError("expected at least one nonzero coefficient")
        if "rest" in self.model_fields_set and not self.stiffness:
            raise ValueError("`rest` has no effect without `stiffness`")
        if self.restitution > 0.0 and not self.bounds:
            raise ValueError("`restitution` has no effect without `limits`")
        return self

    @property
    def coordinates(self) -> Sequence[tuple[NodePath, str]]:
        """Coordinates of the terms."""
        return [(("terms", word), word) for word in self.terms]

    @property
    def is_sprung(self) -> bool:
        """Whether it has a spring or a damper."""
        return self.stiffness > 0.0 or self.damping > 0.0

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The finite limits: the sign, 1 for the lower and -1 for the upper one, and the value."""
        return [(s, bound) for s, bound in zip((1.0, -1.0), self.limits or (), strict=False) if math.isfinite(bound)]
