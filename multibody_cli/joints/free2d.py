"""Free motion in a plane: translation along x and y, rotation about z."""

from __future__ import annotations

from typing import Literal

from multibody_cli.joints.contract import JointKind, Part, sliding, turning
from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.joints.spec import CoordinateJointSpec


class Free2dSpec(CoordinateJointSpec):
    """Two displacements, along x and y, and an angle about z."""

    type: Literal["free2d"]

    COORDINATES = (Coordinate.LENGTH, Coordinate.LENGTH, Coordinate.ANGLE)


def parts(spec: Free2dSpec) -> list[Part]:
    """Return the parts."""
    return [sliding((1.0, 0.0, 0.0)), sliding((0.0, 1.0, 0.0)), turning((0.0, 0.0, 1.0))]


KIND = JointKind("free2d", Free2dSpec, parts)
