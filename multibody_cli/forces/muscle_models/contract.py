"""The contract of a model of muscles: four curves of normalized lengths and velocities, with their parameters.

    active      factor of the active force for the length of the fibers over `optimal_length`
    velocity    factor of the active force for the velocity of the fibers over `max_velocity`
    passive     force of the fibers without activation, for their length
    tendon      force of the tendon for its length over `tendon_slack_length`

All forces are divided by `max_isometric_force`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field
from pydantic.functional_validators import PlainValidator
from pydantic.json_schema import WithJsonSchema

from multibody_cli.forces.muscle_models.tabulation import joined, written
from multibody_cli.interpolation import continued
from multibody_cli.spec import Quantity, Spec, units
from multibody_cli.spec.formulas import require_valid
from multibody_cli.spec.quantities import NUMBER_SCHEMA, format_value
from multibody_cli.spec.table_function import TableFunctionSpec
from multibody_cli.symbolic.tables import Piecewise

Positive = Annotated[float, Quantity(units.NUMBER, above=0.0)]
NonNegative = Annotated[float, Quantity(units.NUMBER, least=0.0)]

PIECES = 256
"""Pieces of a curve that is given by an expression."""


class MuscleCurves(NamedTuple):
    """The curves of a muscle.

    Parameters
    ----------
    active, velocity, passive
        The curves of the fibers.
    tendon
        The curve of the tendon; None for a model that has none.
    slowing
        Share of `max_velocity` that is in proportion to the activation.
    lengths
        Normalized lengths of the fibers between which they have an active force.
    velocities
        Normalized velocities between which the factor of the velocity changes.
    shortest
        Smallest normalized length of the fibers with an elastic tendon.
    damping
        Published damping of the fibers, the force at the largest velocity.
    """

    active: Piecewise
    velocity: Piecewise
    passive: Piecewise
    tendon: Piecewise | None
    slowing: float = 0.0
    lengths: tuple[float, float] = (-math.inf, math.inf)
    velocities: tuple[float, float] = (-math.inf, math.inf)
    shortest: float = 0.01
    damping: float = 0.0


def _read_curve(value: Any) -> Any:
    if isinstance(value, dict):
        return TableFunctionSpec.model_validate(value)
    if not isinstance(value, str):
        raise ValueError(f"expected an expression of x or a table {{x, y}}, found {format_value(value)}")
    require_valid([value], ["x"], {})
    return value


_TABLE_SCHEMA = {
    "type": "object",
    "properties": {
        **{axis: {"type": "array", "items": NUMBER_SCHEMA, "minItems": 2} for axis in "xy"},
        "interpolation": {"type": "string"},
        "smoothing": {"type": "number"},
    },
    "required": ["x", "y"],
    "additionalProperties": False,
}

OwnCurve = Annotated[
    str | TableFunctionSpec,
    PlainValidator(_read_curve),
    WithJsonSchema({"anyOf": [{"type": "string"}, _TABLE_SCHEMA]}),
]
"""An expression of x or a table in place of a curve of a model."""


class CurvesSpec(Spec):
    """The curves of a model, any of which may be replaced: an expression of x, or a table of x and y."""

    type: str
    active: OwnCurve | None = Field(None, description="Active force for the length x, as tabulated from 0 to 2.5.")
    velocity: OwnCurve | None = Field(None, description="Factor for the velocity x, as tabulated from -1.5 to 1.5.")
    passive: OwnCurve | None = Field(None, description="Passive force for the length x, as tabulated from 0 to 2.5.")
    tendon: OwnCurve | None = Field(
        None, description="Force of the tendon for its length x, as tabulated from 0.9 to 1.3."
    )

    @abstractmethod
    def published(self) -> MuscleCurves:
        """Return the curves of the model."""

    @property
    def curves(self) -> MuscleCurves:
        """The curves, with those that replace curves of the model."""
        curves, endless = self.published(), (-math.inf, math.inf)
        if self.active is not None:
            curves = curves._replace(active=_own(self.active, 0.0, 2.5), lengths=endless, shortest=0.01)
        if self.velocity is not None:
            curves = curves._replace(velocity=_own(self.velocity, -1.5, 1.5), velocities=endless)
        if self.passive is not None:
            curves = curves._replace(passive=_own(self.passive, 0.0, 2.5))
        if self.tendon is not None:
            curves = curves._replace(tendon=_own(self.tendon, 0.9, 1.3))
        return curves._replace(active=_held(curves.active))  # tangents would lead below 0


def _held(curve: Piecewise) -> Piecewise:
    """Return a curve with the values of its first and its last knot outside."""
    first, *rows, last = curve.coefficients
    return Piecewise(curve.knots, ((first[0], *[0.0] * (len(first) - 1)), *rows, (last[0], *[0.0] * (len(last) - 1))))


def _own(curve: str | TableFunctionSpec, start: float, end: float) -> Piecewise:
    if isinstance(curve, str):
        return joined(written(curve, np.linspace(start, end, PIECES + 1), {}))
    return continued(np.array(curve.x), np.array(curve.y), curve.interpolation, curve.smoothing)
