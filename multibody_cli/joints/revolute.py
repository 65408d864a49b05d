"""Revolute joint: rotation by q about a fixed unit axis; S = [axis; 0], bias 0."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multibody_cli.joints.contract import JointKind, Part, turning
from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.joints.friction import CylinderFriction, FrictionPatch, cylinder_patches
from multibody_cli.joints.spec import CoordinateJointSpec
from multibody_cli.spec import Direction


class RevoluteSpec(CoordinateJointSpec):
    """One angle, about an axis."""

    type: Literal["revolute"]
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis of rotation, in the joint frame.")
    friction: CylinderFriction | None = Field(None, description="Dry friction on a cylinder about the axis.")

    COORDINATES = (Coordinate.ANGLE,)


def parts(spec: RevoluteSpec) -> list[Part]:
    """Return the parts."""
    return [turning(spec.axis)]


def friction_patches(spec: RevoluteSpec) -> list[FrictionPatch]:
    """Return the friction patches."""
    return cylinder_patches(spec.friction.surface, spec.axis, slides=False) if spec.friction else []


KIND = JointKind("revolute", RevoluteSpec, parts, friction_patches=friction_patches)
