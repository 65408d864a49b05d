"""Actuator `position`: a position servo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from multibody_cli.actuators.contract import ActuatorSpec, Gain, Law, Target


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
        "limits": "force",
    }

    def law(self) -> Law:
        """Return kp (target - q) - kv v."""
        return Law("kp*(target - q) - kv*v", {"kp": self.kp, "kv": self.kv}, {"target": self.target})
