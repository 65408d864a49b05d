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
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.functional_validators import PlainValidator
from pydantic.json_schema import WithJsonSchema

from multibody_cli.forces.muscle_models.tabulation import joined, written
from multibody_cli.interpolation import continued
from multibody_cli.spec import Quantity, Spec, units
from multibody_cli.spec.formulas import require_valid
from multibody_cli.spec.quantities import NUMBER_SCHEMA, format_value, located_error
from multibody_cli.spec.table_function import TableFunctionSpec
from multibody_cli.symbolic.tables import Piecewise

Positive = Annotated[float, Quantity(units.NUMBER, above=0.0)]
NonNegative = Annotated[float, Quantity(units.NUMBER, least=0.0)]

ROUND_OFF = 1e-9
"""Fall of a force, relative to the largest active one, that is round-off."""

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


OWN = {"active": (0.0, 2.5), "velocity": (-1.5, 1.5), "passive": (0.0, 2.5), "tendon": (0.9, 1.3)}
"""Curves of your own, and the ranges in which expressions are tabulated."""

RISING = ("velocity", "tendon")
"""Curves that do not fall: forces of fibers and tendon then balance at one velocity."""


class CurvesSpec(Spec):
    """The curves of a model, any of which may be replaced: an expression of x, or a table of x and y."""

    type: str
    active: OwnCurve | None = Field(None, description="Active force for the length x, as tabulated from 0 to 2.5.")
    velocity: OwnCurve | None = Field(None, description="Factor for the velocity x, as tabulated from -1.5 to 1.5.")
    passive: OwnCurve | None = Field(None, description="Passive force for the length x, as tabulated from 0 to 2.5.")
    tendon: OwnCurve | None = Field(
        None, description="Force of the tendon for its length x, as tabulated from 0.9 to 1.3."
    )

    @model_validator(mode="after")
    def _require_forces(self) -> Self:
        for name in OWN:
            if getattr(self, name) is None:
                continue
            curve = self._own(name)
            values = np.array([row[0] for row in curve.coefficients])
            wrong = [
                (~np.isfinite(values), "has no finite value"),
                (values < -ROUND_OFF if name == "active" else np.zeros_like(values), "is negative"),
                (np.diff(values, prepend=values[0]) < -ROUND_OFF if name in RISING else np.zeros_like(values), "falls"),
            ]
            for flags, fault in wrong:
                if flags.any():
                    raise located_error(f"{fault} at x = {curve.knots[int(np.argmax(flags))]:.3g}", name)
        return self

    def _own(self, name: str) -> Piecewise:
        """Return a curve of your own."""
        curve = getattr(self, name)
        with np.errstate(all="ignore"):
            if isinstance(curve, str):
                return joined(written(curve, np.linspace(*OWN[name], PIECES + 1), {}))
            return continued(np.array(curve.x), np.array(curve.y), curve.interpolation, curve.smoothing)

    @abstractmethod
    def published(self) -> MuscleCurves:
        """Return the curves of the model."""

    @property
    def curves(self) -> MuscleCurves:
        """The curves, with those that replace curves of the model."""
        curves, endless = self.published(), (-math.inf, math.inf)
        own: dict[str, Any] = {name: self._own(name) for name in OWN if getattr(self, name) is not None}
        if "active" in own:
            curves = curves._replace(lengths=endless, shortest=0.01)
        if "velocity" in own:
            curves = curves._replace(velocities=endless)
        curves = curves._replace(**own)
        return curves._replace(active=_held(curves.active))  # tangents would lead below 0


def _held(curve: Piecewise) -> Piecewise:
    """Return a curve with the values of its first and its last knot outside."""
    first, *rows, last = curve.coefficients
    return Piecewise(curve.knots, ((first[0], *[0.0] * (len(first) - 1)), *rows, (last[0], *[0.0] * (len(last) - 1))))
