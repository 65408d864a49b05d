"""Actuator `pd`: proportional and derivative control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from multibody_cli.actuators.contract import ActuatorSpec, Gain, Law, Target
from multibody_cli.spec import SignalSpec


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
        "limits": "force",
    }

    def law(self) -> Law:
        """Return kp (target - q) + kd (d target/dt - v)."""
        force = "kp*(target - q) + kd*(target_rate - v)"
        return Law(force, {"kp": self.kp, "kd": self.kd}, {"target": self.target})
