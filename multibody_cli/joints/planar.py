"""Planar joint: translation in the xy plane of the joint frame."""

from __future__ import annotations

from typing import Literal

from multibody_cli.joints.contract import JointKind, Part, sliding
from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.joints.spec import CoordinateJointSpec


class PlanarSpec(CoordinateJointSpec):
    """Two displacements, along x and y."""

    type: Literal["planar"]

    COORDINATES = (Coordinate.LENGTH, Coordinate.LENGTH)


def parts(spec: PlanarSpec) -> list[Part]:
    """Return the parts."""
    return [sliding((1.0, 0.0, 0.0)), sliding((0.0, 1.0, 0.0))]


KIND = JointKind("planar", PlanarSpec, parts)
