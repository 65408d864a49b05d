"""Cylindrical joint: rotation about an axis and, independently, travel along it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multibody_cli.joints.contract import Coordinate, JointKind, Part, sliding, turning
from multibody_cli.joints.spec import CoordinateJointSpec
from multibody_cli.spec import Direction


class CylindricalSpec(CoordinateJointSpec):
    """An angle about an axis and a displacement along it."""

    type: Literal["cylindrical"]
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis of rotation and travel, in the joint frame.")

    COORDINATES = (Coordinate.ANGLE, Coordinate.LENGTH)


def parts(spec: CylindricalSpec) -> list[Part]:
    """Give the run of parts."""
    return [turning(spec.axis), sliding(spec.axis)]


KIND = JointKind("cylindrical", CylindricalSpec, parts)
