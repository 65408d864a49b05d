"""Translational joint: translation along x, y and z, no rotation."""

from __future__ import annotations

from typing import Literal

from multibody_cli.joints.contract import JointKind, Part, sliding
from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.joints.spec import CoordinateJointSpec


class TranslationalSpec(CoordinateJointSpec):
    """Three displacements, along x, y and z."""

    type: Literal["translational"]

    COORDINATES = (Coordinate.LENGTH, Coordinate.LENGTH, Coordinate.LENGTH)


def parts(spec: TranslationalSpec) -> list[Part]:
    """Return the parts."""
    return [sliding((1.0, 0.0, 0.0)), sliding((0.0, 1.0, 0.0)), sliding((0.0, 0.0, 1.0))]


KIND = JointKind("translational", TranslationalSpec, parts)
