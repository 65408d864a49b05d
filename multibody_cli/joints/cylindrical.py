"""Cylindrical joint: rotation about an axis and, independently, travel along it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multibody_cli.joints.contract import Coordinate, JointKind, Part, sliding, turning
from multibody_cli.joints.friction import CylinderFriction, Pad, pads_of_cylinder
from multibody_cli.joints.spec import CoordinateJointSpec
from multibody_cli.spec import Direction


class CylindricalSpec(CoordinateJointSpec):
    """An angle about an axis and a displacement along it."""

    type: Literal["cylindrical"]
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis of rotation and travel, in the joint frame.")
    friction: CylinderFriction | None = Field(None, description="Dry friction on a cylinder about the axis.")

    COORDINATES = (Coordinate.ANGLE, Coordinate.LENGTH)


def parts(spec: CylindricalSpec) -> list[Part]:
    """Give the run of parts."""
    return [turning(spec.axis), sliding(spec.axis)]


def pads(spec: CylindricalSpec) -> list[Pad]:
    """Give what rubs."""
    return pads_of_cylinder(spec.friction.surface, spec.axis, slides=True) if spec.friction else []


KIND = JointKind("cylindrical", CylindricalSpec, parts, pads=pads)
