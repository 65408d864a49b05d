"""Actuator `motor`: a motor with a gear, the inertia of its rotor, and a torque-speed curve.

With the gear ratio n, the speed of the rotor is w = n v, and the force on the coordinate is n times the torque.  The
command u, from -1 to 1, is the fraction of the voltage:

    linear (DC motor)     torque = stall_torque (u - w / no_load_speed)
    curve                 torque = u curve(w sign(u))

The rotor adds n^2 J to the inertia of the coordinate (Featherstone 2008, 9.6); gyroscopic moments of the rotor are
neglected, as usual for large gear ratios.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from multibody_cli.actuators.contract import ActuatorSpec, ControlLaw
from multibody_cli.spec import Quantity, SignalSpec, Spec, units
from multibody_cli.spec.quantities import NUMBER_SCHEMA, read_each, read_quantity
from multibody_cli.spec.signal import Signal

_LISTED: dict[str, Any] = {"type": "array", "items": NUMBER_SCHEMA, "minItems": 2}


class TorqueCurve(Spec):
    """Torque of a motor over its speed, piecewise linear, constant outside the range of the speeds."""

    speeds: tuple[float, ...] = Field(
        description="Increasing speeds of the rotor, rad/s; negative where it brakes.",
        json_schema_extra=_LISTED,
    )
    torques: tuple[float, ...] = Field(description="Torque at each speed, N*m.", json_schema_extra=_LISTED)

    @field_validator("speeds", "torques", mode="plain", json_schema_input_type=Any)
    @classmethod
    def _read_column(cls, value: Any, info: Any) -> tuple[float, ...]:
        kind = units.ANGULAR_SPEED if info.field_name == "speeds" else units.TORQUE
        if not isinstance(value, list | tuple) or len(value) < 2:
            raise ValueError("expected a list of at least two numbers")
        return read_each(lambda entry: read_quantity(entry, kind), value)

    @model_validator(mode="after")
    def _require_a_function(self) -> Self:
        if len(self.speeds) != len(self.torques):
            raise ValueError(
                f"expected as many `torques` as `speeds`, found {len(self.torques)} and {len(self.speeds)}"
            )
        if any(not low < high for low, high in itertools.pairwise(self.speeds)):
            raise ValueError("expected increasing `speeds`")
        return self


class MotorSpec(ActuatorSpec):
    """A motor with a gear, the inertia of its rotor, and a torque-speed curve."""

    type: Literal["motor"]
    command: Annotated[SignalSpec, Signal(units.NUMBER, state=("q", "v"))] = Field(
        description="Fraction of the voltage, from -1 to 1: a number, an expression of t and the state, or a table."
    )
    gear: Annotated[float, Quantity(units.ANY)] = Field(
        1.0, description="Ratio of the speed of the rotor to the rate of the coordinate; of a linear joint 1/m."
    )
    rotor_inertia: Annotated[float, Quantity(units.INERTIA, least=0.0)] = Field(
        0.0, description="Moment of inertia of the rotor about its axis, kg*m^2."
    )
    stall_torque: Annotated[float, Quantity(units.TORQUE, above=0.0)] | None = Field(
        None, description="Torque of the motor at rest with full command, N*m."
    )
    no_load_speed: Annotated[float, Quantity(units.ANGULAR_SPEED, above=0.0)] | None = Field(
        None, description="Speed of the rotor at which the full command has no torque, rad/s."
    )
    torque_curve: TorqueCurve | None = Field(
        None, description="Torque at full command over the speed, in place of `stall_torque` and `no_load_speed`."
    )

    DIMENSIONS: ClassVar[Mapping[str, str]] = {"gear": "gear", "limits": "force"}

    @model_validator(mode="after")
    def _require_one_curve(self) -> Self:
        linear = (self.stall_torque, self.no_load_speed)
        if (self.torque_curve is None) == (linear == (None, None)):
            raise ValueError("expected one of `torque_curve`, and `stall_torque` with `no_load_speed`")
        if self.torque_curve is None and None in linear:
            raise ValueError("expected both `stall_torque` and `no_load_speed`")
        if self.gear == 0.0:
            raise ValueError("expected a `gear` other than 0")
        return self

    @property
    def reflected_inertia(self) -> float:
        """Inertia of the rotor, as seen from the coordinate, kg*m^2 or kg."""
        return self.gear**2 * self.rotor_inertia

    def law(self) -> ControlLaw:
        """Return the torque of the motor at the coordinate."""
        u, signals = "max(-1, min(1, command))", {"command": self.command}
        if self.torque_curve is not None:
            curve = {"curve": (self.torque_curve.speeds, self.torque_curve.torques)}
            return ControlLaw(f"gear*{u}*curve(gear*v*sign({u}))", {"gear": self.gear}, signals, curve, input="command")
        numbers = {"gear": self.gear, "stall": self.stall_torque or 0.0, "no_load": self.no_load_speed or 0.0}
        return ControlLaw(f"gear*stall*({u} - gear*v/no_load)", numbers, signals, input="command")
