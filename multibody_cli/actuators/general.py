"""Actuator `general`: any force, as a function of time and state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from multibody_cli.actuators.contract import ActuatorSpec, Law
from multibody_cli.spec import SignalSpec, units
from multibody_cli.spec.signal import Signal


class GeneralSpec(ActuatorSpec):
    """A force that is any function of time and state, such as `-k*(q - 0.2) - c*v + joints.elbow.q`."""

    type: Literal["general"]
    force: Annotated[SignalSpec, Signal(units.ANY, state=("q", "v"))] = Field(
        description="Force, N or N*m: a number, an expression of t and the state, or a table."
    )

    DIMENSIONS: ClassVar[Mapping[str, str]] = {"force": "force", "limits": "force"}

    def law(self) -> Law:
        """Return the force itself."""
        return Law("force", signals={"force": self.force})
