"""Actuator `hardening`: a servo whose force grows with the cube of the error."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multibody_cli.actuators.contract import ActuatorSpec, ControlLaw, Gain, Target


class HardeningSpec(ActuatorSpec):
    """Servo with a cubic force: k (target - q)^3."""

    type: Literal["hardening"]
    k: Gain = Field(description="Coefficient, N/m^3.")
    target: Target = Field(description="Wanted coordinate.")

    def law(self) -> ControlLaw:
        """Return k (target - q)^3."""
        return ControlLaw("k*(target - q)**3", {"k": self.k}, {"target": self.target})
