"""Schema of `expect`: assertions of a scene about its results."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from multibody_cli.errors import ExpressionError
from multibody_cli.escaping import path_component
from multibody_cli.expressions import STATE, Expression, parse, require_names
from multibody_cli.joints.coordinate_fields import one_or_each
from multibody_cli.spec import Catalogue, Energy, NonNegative, Quantity, Spec, Time, units
from multibody_cli.spec.quantities import NUMBER_SCHEMA, AnyQuantity, format_value, read_any, read_each

Axis = Literal["x", "y", "z"]
Component = int | Literal["x", "y", "z", "w"]
Values = float | tuple[float, ...]


class LargestEnergy(Spec):
    """Upper bound of an energy."""

    max: Energy = Field(description="J")


class LargestNumber(Spec):
    """Upper bound of a number."""

    max: NonNegative = Field(description="In the unit of the measured quantity.")


class LargestMomentum(Spec):
    """Upper bound of a change of momentum."""

    max: NonNegative = Field(description="kg*m/s and kg*m^2/s")
    axis: Axis | None = Field(None, description="Check only this component of angular momentum.")


class AssertionSpec(Spec):
    """An entry of `expect`."""

    def refers_beyond(self, duration: float) -> bool:
        """Whether it refers to times after the given duration, s, or to the duration that the scene writes."""
        return False


class EnergyDrift(AssertionSpec):
    """Bound of the residual of the energy balance."""

    energy_drift: LargestEnergy = Field(description="Of |total - initial - work + dissipation|.")


class MomentumDrift(AssertionSpec):
    """Bound of the change of linear and angular momentum since the start."""

    momentum_drift: LargestMomentum = Field(description="Of |momentum - initial momentum|.")


class ConstraintError(AssertionSpec):
    """Bound of the position errors of the joints."""

    constraint_error: LargestNumber = Field(description="Largest error of all joints, m or rad.")


def read_values(value: Any) -> Values:
    """Read a number or a list of numbers in any unit; `checks` compares the unit with that of the channel."""
    if isinstance(value, list | tuple):
        return read_each(read_any, value)
    if isinstance(value, dict) or value is None:
        raise ValueError(f"expected a number or a list of numbers, found {format_value(value)}")
    return read_any(value)


class ChannelReference(NamedTuple):
    """A channel, or one component of it."""

    channel: str
    component: int | str | None


def read_expression(text: str, is_of_channels: bool = True) -> Expression:
    """Read an expression of t and of channels, whose paths have dots.

    Raises
    ------
    ExpressionError
        It is no expression, or must be one of channels and reads none.
    """
    expression = parse(text, STATE)
    require_names(expression, ("t",))
    for reference in expression.references.values():
        if reference.path[0] == "functions":
            raise ExpressionError(f"`{reference}`: only forces call functions")
        if reference.point is not None:
            raise ExpressionError(f"`{reference}`: only forces refer to points; channels are of bodies")
    if is_of_channels and not expression.references:
        raise ExpressionError(f"`{text}` reads no channel, such as `joints.hinge.q`")
    return expression


def channels_of(expression: Expression) -> list[ChannelReference]:
    """Return the channels that an expression reads, in the order of its references."""
    return [
        ChannelReference("/".join(map(path_component, reference.path)), reference.component)
        for reference in expression.references.values()
    ]


class ChannelExpectation(AssertionSpec):
    """A channel of the result, one component of it, or an expression of channels."""

    channel: str | None = Field(
        None, description="Path in the result file: joints/hinge/q, bodies/crate/position, energy/total."
    )
    expression: Expression | None = Field(
        None,
        description="Expression of t and of channels, whose paths have dots, in place of `channel`: "
        "`joints.a.q + 2*bodies.crate.position.z`.",
        json_schema_extra={"type": "string"},
    )
    component: Component | None = Field(
        None, description="Component of a channel with several: 0, 1, ... or x, y, z, w."
    )

    @field_validator("component", mode="before")
    @classmethod
    def _refuse_other_components(cls, value: Any) -> Any:
        is_index = type(value) is int and value >= 0
        if not is_index and value not in ("x", "y", "z", "w"):
            raise ValueError(f"expected an index from 0, or one of x, y, z, w, found {format_value(value)}")
        return value

    @field_validator("expression", mode="plain", json_schema_input_type=str)
    @classmethod
    def _read_expression(cls, value: Any) -> Expression:
        if not isinstance(value, str):
            raise ValueError(f"expected an expression of channels, found {format_value(value)}")
        return read_expression(value)

    @model_validator(mode="after")
    def _require_one_source(self) -> Self:
        if (self.channel is None) == (self.expression is None):
            raise ValueError("expected one of `channel` and `expression`")
        if self.expression is not None and self.component is not None:
            raise ValueError("`component` has no effect with an `expression`, whose references have their own")
        return self

    @property
    def source(self) -> str:
        """The channel or the expression, as it is written."""
        return self.expression.text if self.expression is not None else str(self.channel)

    @property
    def channels(self) -> list[ChannelReference]:
        """The channels that it reads."""
        if self.expression is None:
            return [ChannelReference(str(self.channel), self.component)]
        return channels_of(self.expression)


class ValueExpectation(ChannelExpectation):
    """Value of a channel at an output instant, within atol + rtol |value|."""

    at: Time | Literal["final"] = Field(
        description="An output instant, s, or `final`.", json_schema_extra=NUMBER_SCHEMA
    )
    value: Values = Field(
        description="A number, or a list with all components of the channel.",
        json_schema_extra=one_or_each(NUMBER_SCHEMA),
    )
    rtol: NonNegative = Field(0.0, description="Relative tolerance.")
    atol: Annotated[float, AnyQuantity(least=0.0)] = Field(
        0.0, description="Absolute tolerance, in the unit of the channel."
    )

    def refers_beyond(self, duration: float) -> bool:
        """Whether the instant is `final` or later than the duration."""
        return self.at == "final" or self.at > duration

    @field_validator("at", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_instant(cls, value: Any) -> Any:
        return value if value == "final" else Quantity(units.TIME, least=0.0).read(value)

    @field_validator("value", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_value(cls, value: Any) -> Values:
        return read_values(value)

    @model_validator(mode="after")
    def _require_tolerance(self) -> Self:
        if self.rtol == 0 and self.atol == 0:
            raise ValueError("expected `rtol` or `atol` above 0: computed numbers are not exact")
        return self


class ExtremeExpectation(ChannelExpectation):
    """Bounds of a channel over the whole run."""

    max: Annotated[float | None, AnyQuantity()] = Field(None, description="Upper bound.")
    min: Annotated[float | None, AnyQuantity()] = Field(None, description="Lower bound.")


class PeriodExpectation(ChannelExpectation):
    """Mean period of a channel, from the upward crossings of the level midway between its extremes.

    A decay shifts them: by 5 % of the period at a damping ratio of 0.1.
    """

    period: Annotated[float, Quantity(units.TIME, above=0.0)] = Field(description="s")
    rtol: Annotated[float, Quantity(units.NUMBER, above=0.0)] = Field(1e-3, description="Relative tolerance.")

    def refers_beyond(self, duration: float) -> bool:
        """Whether fewer than two periods fit into the duration."""
        return 2.0 * self.period > duration


class CertifiedExpectation(ChannelExpectation):
    """Bound of the error bars of a channel, which `mbsim certify` computes."""

    certified: Annotated[float, AnyQuantity(least=0.0)] = Field(
        description="Largest error bar over the whole run, in the unit of the channel."
    )

    @model_validator(mode="after")
    def _require_channel(self) -> Self:
        if self.channel is None:
            raise ValueError("expected a `channel`: an `expression` has no error bars")
        return self


class EventExpectation(AssertionSpec):
    """All instants of an event, each within a tolerance."""

    event: str = Field(description="Name of the event.")
    times: list[Time] = Field(description="Its instants, s, in the order of time.")
    atol: Annotated[float, Quantity(units.TIME, above=0.0)] = Field(description="Absolute tolerance, s.")

    def refers_beyond(self, duration: float) -> bool:
        """Whether an instant is later than the duration."""
        return max(self.times, default=0.0) > duration


EXPECTATIONS: dict[str, type[AssertionSpec]] = {
    "energy_drift": EnergyDrift,
    "momentum_drift": MomentumDrift,
    "constraint_error": ConstraintError,
    "value": ValueExpectation,
    "period": PeriodExpectation,
    "extreme": ExtremeExpectation,
    "certified": CertifiedExpectation,
    "event": EventExpectation,
}
"""All kinds of assertions."""

_KEYS = {
    "energy_drift": "energy_drift",
    "momentum_drift": "momentum_drift",
    "constraint_error": "constraint_error",
    "value": "value",
    "period": "period",
    "max": "extreme",
    "min": "extreme",
    "at": "value",
    "certified": "certified",
    "event": "event",
}

Expectation = Annotated[AssertionSpec, Catalogue("an assertion", EXPECTATIONS, keys=_KEYS)]
