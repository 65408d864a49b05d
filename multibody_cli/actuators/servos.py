"""Actuators that are one expression: any force, proportional and derivative control, servos of position and rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from multibody_cli.actuators.contract import ActuatorSpec, ControlLaw, Gain, Target
from multibody_cli.spec import SignalSpec, units
from multibody_cli.spec.quantities import located_error
from multibody_cli.spec.signal import Signal


class GeneralSpec(ActuatorSpec):
    """A force that is any function of time and state, such as `-k*(q - 0.2) - c*v + joints.elbow.q`."""

    type: Literal["general"]
    force: Annotated[SignalSpec, Signal(units.ANY, state=("q", "v", "activation"))] = Field(
        description="Force, N or N*m: a number, an expression of t, the state and the `activation`, or a table."
    )
    input: Annotated[SignalSpec, Signal(units.ANY, state=("q", "v"))] | None = Field(
        None,
        description="Input of the `filter`, whose `activation` the `force` reads, as in `20*activation - 3*q`: a "
        "number, an expression of t and the state, or a table. Default: the force itself.",
    )

    DIMENSIONS: ClassVar[Mapping[str, str]] = {"force": "force", "limits": "force"}

    @model_validator(mode="after")
    def _require_an_activation(self) -> Self:
        reads = self.force.expression is not None and "activation" in self.force.expression.names
        if reads and (self.filter is None or self.input is None):
            raise located_error("`activation` requires a `filter` and its `input`", "force")
        if self.input is not None and not reads:
            raise located_error("has no effect: the `force` reads no `activation`", "input")
        return self

    def law(self) -> ControlLaw:
        """Return the force itself."""
        if self.input is None:
            return ControlLaw("force", signals={"force": self.force}, input="force")
        return ControlLaw("force", signals={"force": self.force, "input": self.input}, input="input")


class PdSpec(ActuatorSpec):
    """Proportional and derivative control: kp (target - q) + kd (d target/dt - v)."""

    type: Literal["pd"]
    kp: Gain = Field(description="Proportional gain, N*m/rad or N/m.")
    kd: Gain = Field(0.0, description="Derivative gain, N*m*s/rad or N*s/m.")
    target: Target = Field(
        SignalSpec(constant=0.0), description="Wanted coordinate, rad or m: a number, an expression of t, or a table."
    )

    DIMENSIONS: ClassVar[Mapping[str, str]] = {
        "kp": "stiffness",
        "kd": "damping",
        "target": "position",
        "input_limits": "position",
        "limits": "force",
    }

    def law(self) -> ControlLaw:
        """Return kp (target - q) + kd (d target/dt - v)."""
        force = "kp*(target - q) + kd*(target_rate - v)"
        return ControlLaw(force, {"kp": self.kp, "kd": self.kd}, {"target": self.target}, input="target")


class PositionServoSpec(ActuatorSpec):
    """Position servo: kp (target - q) - kv v."""

    type: Literal["position"]
    kp: Gain = Field(description="Gain of the position, N*m/rad or N/m.")
    kv: Gain = Field(0.0, description="Gain of the velocity, N*m*s/rad or N*s/m.")
    target: Target = Field(description="Wanted coordinate, rad or m: a number, an expression of t, or a table.")

    DIMENSIONS: ClassVar[Mapping[str, str]] = {
        "kp": "stiffness",
        "kv": "damping",
        "target": "position",
        "input_limits": "position",
        "limits": "force",
    }

    def law(self) -> ControlLaw:
        """Return kp (target - q) - kv v."""
        numbers = {"kp": self.kp, "kv": self.kv}
        return ControlLaw("kp*(target - q) - kv*v", numbers, {"target": self.target}, input="target")


class VelocityServoSpec(ActuatorSpec):
    """Velocity servo: kv (target - v)."""

    type: Literal["velocity"]
    kv: Gain = Field(description="Gain of the velocity, N*m*s/rad or N*s/m.")
    target: Target = Field(description="Wanted rate, rad/s or m/s: a number, an expression of t, or a table.")

    DIMENSIONS: ClassVar[Mapping[str, str]] = {
        "kv": "damping",
        "target": "velocity",
        "input_limits": "velocity",
        "limits": "force",
    }

    def law(self) -> ControlLaw:
        """Return kv (target - v)."""
        return ControlLaw("kv*(target - v)", {"kv": self.kv}, {"target": self.target}, input="target")
