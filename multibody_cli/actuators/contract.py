"""The contract of an actuator: fields of a scene file, and the law of its force as an expression.

An actuator is one file with a Spec, derived from `ActuatorSpec`, and its entry in the catalogue.  Its `law` is packed
into the program of a signal, so that a new kind of actuator compiles nothing, and its derivatives are exact.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from multibody_cli.immutable import Immutable
from multibody_cli.spec import PositiveTime, Quantity, SignalSpec, Spec, Time, units
from multibody_cli.spec.quantities import NUMBER_SCHEMA, format_value, list_schema, read_any, read_each
from multibody_cli.spec.signal import Signal

_BOUND = {"anyOf": [*NUMBER_SCHEMA["anyOf"], {"type": "null"}]}
Gain = Annotated[float, Quantity(units.ANY, least=0.0)]
Target = Annotated[SignalSpec, Signal(units.ANY)]


class ControllerState(Immutable):
    """A number that a sampled controller keeps: its value at the start, and its next value as an expression."""

    initial: float
    following: str


class Law(Immutable):
    """The force of an actuator.

    Parameters
    ----------
    force
        An expression of `t`, of the coordinate `q` and its rate `v`, and of the names below.
    parameters
        Values of names.
    signals
        Functions of time or state by name; `x_rate` is the time derivative of the function of time `x`.
    tables
        Functions of one argument: arguments and values.
    states
        Numbers that a sampled controller keeps.
    """

    force: str
    parameters: Mapping[str, float] = {}
    signals: Mapping[str, SignalSpec] = {}
    tables: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = {}
    states: Mapping[str, ControllerState] = {}


class ActuatorSpec(Spec):
    """A force on one coordinate of a joint, by a law of control.

    Attributes
    ----------
    DIMENSIONS
        The dimension of each field whose unit depends on the coordinate: see `scene.checks.actuators`.
    """

    type: str
    joint: str | None = Field(None, description="Coordinate on which it acts: `elbow`, or `wrist/1`.")
    combination: str | None = Field(
        None, description="Combination of coordinates along which it acts, in place of `joint`."
    )
    limits: tuple[float, float] | None = Field(
        None,
        description="Least and greatest force, N or N*m; null or `.inf` for none.",
        json_schema_extra=lambda schema: schema.update(list_schema(_BOUND, 2)),
    )
    rate: Annotated[float, Quantity(units.RATE, above=0.0)] | None = Field(
        None, description="Rate of sampling, Hz: the force is held between samples. Default: continuous."
    )
    period: PositiveTime | None = Field(None, description="Time between samples, s, in place of `rate`.")
    delay: Time = Field(0.0, description="Time from a sample to the force that it determines, s.")

    DIMENSIONS: ClassVar[Mapping[str, str]] = {}

    @field_validator("limits", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_limits(cls, value: Any) -> tuple[float, float] | None:
        if value is None:
            return None
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise ValueError(f"expected a pair [lower, upper], found {format_value(value)}")
        ends = zip(value, (-math.inf, math.inf), strict=True)
        lower, upper = read_each(lambda end: end[1] if end[0] in (None, end[1]) else read_any(end[0]), ends)
        if not lower < upper:
            raise ValueError(f"expected a lower limit below the upper one, found {lower:g} and {upper:g}")
        return lower, upper

    @model_validator(mode="after")
    def _require_one_period(self) -> Self:
        if self.rate is not None and self.period is not None:
            raise ValueError("expected at most one of `rate` and `period`")
        if self.delay > 0.0 and self.sampling_period is None:
            raise ValueError("`delay` requires `rate` or `period`: only sampled values can be delayed")
        return self

    @model_validator(mode="after")
    def _require_one_axis(self) -> Self:
        if (self.joint is None) == (self.combination is None):
            raise ValueError("expected one of `joint` and `combination`")
        return self

    @property
    def axis(self) -> str:
        """The coordinate or the combination on which it acts."""
        return self.joint or self.combination or ""

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The coordinates, or combinations of them, on which it acts."""
        return (self.axis,)

    @property
    def sampling_period(self) -> float | None:
        """Time between samples, s; None for a continuous actuator."""
        return 1.0 / self.rate if self.rate is not None else self.period

    @property
    def signals(self) -> Mapping[str, SignalSpec]:
        """Its functions of time and state, by field."""
        return {name: value for name in type(self).model_fields if isinstance(value := getattr(self, name), SignalSpec)}

    @property
    def reflected_inertia(self) -> float:
        """Inertia of the rotor, as seen from the coordinate, kg*m^2 or kg."""
        return 0.0

    @abstractmethod
    def law(self) -> Law:
        """Return the law of its force, without limits."""

    def limited(self, force: str) -> str:
        """Return the expression of a force within the limits."""
        lower, upper = self.limits or (-math.inf, math.inf)
        if math.isfinite(lower):
            force = f"max({lower!r}, {force})"
        return f"min({upper!r}, {force})" if math.isfinite(upper) else force
