"""Sensors: frames of bodies whose specific force and angular velocity are channels."""

from __future__ import annotations

from pydantic import Field

from multibody_cli.spec import Position, Rotation, Spec
from multibody_cli.spec.rotations import IDENTITY


class SensorSpec(Spec):
    """An accelerometer and a gyroscope, fixed in a body."""

    EXAMPLE = "{body: NAME, position: [x, y, z]}"

    body: str = Field(description="Body in which the sensor is fixed, or `world`.")
    position: Position = Field((0.0, 0.0, 0.0), description="Origin of the sensor in the body frame, m.")
    rotation: Rotation = Field(IDENTITY, description="Orientation of the sensor in the body frame.")
