"""Cylindrical joint: rotation about an axis and, independently, translation along it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multibody_cli.joints.contract import JointKind, Part, sliding, turning
from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.joints.friction import CylinderFriction, FrictionPatch, cylinder_patches
from multibody_cli.joints.spec import CoordinateJointSpec
from multibody_cli.spec import Direction


class CylindricalSpec(CoordinateJointSpec):
    """An angle about an axis and a displacement along it."""

    type: Literal["cylindrical"]
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis of rotation and translation, in the joint frame.")
    friction: CylinderFriction | None = Field(None, description="Dry friction on a cylinder about the axis.")

    COORDINATES = (Coordinate.ANGLE, Coordinate.LENGTH)


def parts(spec: CylindricalSpec) -> list[Part]:
    """Return the parts."""
    return [turning(spec.axis), sliding(spec.axis)]


def friction_patches(spec: CylindricalSpec) -> list[FrictionPatch]:
    """Return the friction patches."""
    return cylinder_patches(spec.friction.surface, spec.axis, slides=True) if spec.friction else []


KIND = JointKind("cylindrical", CylindricalSpec, parts, friction_patches=friction_patches)
