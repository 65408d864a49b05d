"""Actuator `pid`: proportional, integral and derivative control, sampled, with anti-windup.

At the sample k, with e = target - q and the limited force F,

    u_k = kp e_k + I_k + kd (d target/dt - v),    F_k = min(upper, max(lower, u_k)),
    I_(k+1) = I_k + period (ki e_k + (F_k - u_k) / tracking_time).

The last term (back-calculation) brings the integral back while the force is at a limit.

Source: Astrom and Hagglund, Advanced PID control (2006), 3.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from multibody_cli.actuators.contract import ActuatorSpec, ControlLaw, ControllerState, Gain, Target
from multibody_cli.spec import PositiveTime, Quantity, SignalSpec, units


class PidSpec(ActuatorSpec):
    """Proportional, integral and derivative control at a rate, with anti-windup by back-calculation."""

    type: Literal["pid"]
    kp: Gain = Field(description="Proportional gain, N*m/rad or N/m.")
    ki: Annotated[float, Quantity(units.ANY, above=0.0)] = Field(
        description="Integral gain, N*m/(rad*s) or N/(m*s); without one, use `pd`."
    )
    kd: Gain = Field(0.0, description="Derivative gain, N*m*s/rad or N*s/m.")
    target: Target = Field(
        SignalSpec(constant=0.0), description="Wanted coordinate, rad or m: a number, an expression of t, or a table."
    )
    tracking_time: PositiveTime | None = Field(
        None, description="Time constant of the anti-windup, s. Default: kp/ki, or the period if that is longer."
    )

    DIMENSIONS: ClassVar[Mapping[str, str]] = {
        "kp": "stiffness",
        "ki": "integral_gain",
        "kd": "damping",
        "target": "position",
        "input_limits": "position",
        "limits": "force",
    }

    @model_validator(mode="after")
    def _require_sampling(self) -> Self:
        if self.sampling_period is None:
            raise ValueError("expected `rate` or `period`: the integral is a state of a sampled controller")
        if self.tracking_time is not None and self.limits is None:
            raise ValueError("`tracking_time` has no effect without `limits`")
        if self.tracking_time is not None and self.tracking_time < self.sampling_period:
            raise ValueError("`tracking_time` is shorter than the period of sampling, and the integral would oscillate")
        return self

    def law(self) -> ControlLaw:
        """Return the limited sum, and the integral as a state."""
        period = self.sampling_period or 0.0
        tracking_time = self.tracking_time or max(self.kp / self.ki, period)
        u = "(kp*(target - q) + integral + kd*(target_rate - v))"
        following = "integral + period*(ki*(target - q)"
        following += f" + ({self.limited(u)} - {u})/tracking_time)" if self.limits is not None else ")"
        gains = {"kp": self.kp, "ki": self.ki, "kd": self.kd}
        numbers = {**gains, "period": period, "tracking_time": tracking_time}
        states = {"integral": ControllerState(0.0, following)}
        return ControlLaw(u, numbers, {"target": self.target}, states=states, input="target")
