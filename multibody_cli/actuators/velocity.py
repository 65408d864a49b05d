"""Actuator `velocity`: a velocity servo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from multibody_cli.actuators.contract import ActuatorSpec, Gain, Law, Target


class VelocityServoSpec(ActuatorSpec):
    """Velocity servo: kv (target - v)."""

    type: Literal["velocity"]
    kv: Gain = Field(description="Gain of the velocity, N*m*s/rad or N*s/m.")
    target: Target = Field(description="Wanted rate, rad/s or m/s: a number, an expression of t, or a table.")

    DIMENSIONS: ClassVar[Mapping[str, str]] = {"kv": "damping", "target": "velocity", "limits": "force"}

    def law(self) -> Law:
        """Return kv (target - v)."""
        return Law("kv*(target - v)", {"kv": self.kv}, {"target": self.target})
