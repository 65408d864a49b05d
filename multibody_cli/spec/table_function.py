"""Functions given by tables in a scene file: points and their interpolation."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from multibody_cli.spec.quantities import (
    NUMBER_SCHEMA,
    AnyQuantity,
    Spec,
    format_value,
    located_error,
    read_any,
    read_each,
)


def _read_numbers(value: Any) -> list[float]:
    if not isinstance(value, list) or len(value) < 2:
        found = f"a list of {len(value)}" if isinstance(value, list) else format_value(value)
        raise ValueError(f"expected a list of two or more numbers, found {found}")
    return list(read_each(read_any, value))


Numbers = Annotated[
    list[float],
    BeforeValidator(_read_numbers, json_schema_input_type=Any),
    Field(json_schema_extra={"items": NUMBER_SCHEMA, "minItems": 2}),
]


class TableFunctionSpec(Spec):
    """A function of one number by points (x, y); its tangents continue it outside them."""

    x: Numbers = Field(description="Values of the argument, in ascending order, in SI units.")
    y: Numbers = Field(description="Value at each of them.")
    interpolation: Literal["natural", "clamped", "not_a_knot", "simm", "pchip", "linear"] = Field(
        "natural",
        description="A cubic spline with end conditions `natural` (second derivative 0), `clamped` (slope 0), "
        "`not_a_knot`, or `simm` (third derivative of the cubic through four points, as `SimmSpline` of OpenSim); "
        "`pchip`, monotone cubics, whose second derivative jumps at the points; or `linear`, with `smoothing`.",
    )
    smoothing: Annotated[float, AnyQuantity(least=0.0)] = Field(
        0.0,
        description="Width about each inner point of `linear` over which the slope changes, in units of x.",
    )

    @model_validator(mode="after")
    def _require_a_function(self) -> Self:
        if len(self.y) != len(self.x):
            raise located_error(f"expected as many values as `x` has, {len(self.x)}, found {len(self.y)}", "y")
        steps = np.diff(self.x)
        if not (steps > 0.0).all():
            k = int(np.argmin(steps > 0.0)) + 1
            raise located_error(f"expected more than {self.x[k - 1]:g}, the value before it", "x", k)
        corners = self.interpolation == "linear" and len(self.x) > 2
        if corners and not 0.0 < self.smoothing <= steps.min():
            raise located_error(
                f"expected a width above 0 and at most {steps.min():g}, the smallest distance of points: a function "
                "with corners has no second derivative",
                "smoothing",
            )
        if self.smoothing and not corners:
            raise located_error("applies to `interpolation: linear` with three points or more", "smoothing")
        return self
