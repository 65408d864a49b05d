"""Revolute joint: rotation by q about a fixed unit axis; S = [axis; 0], bias 0."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multibody_cli.joints.contract import Coordinate, JointKind, Part, turning
from multibody_cli.joints.friction import CylinderFriction, Pad, pads_of_cylinder
from multibody_cli.joints.spec import CoordinateJointSpec
from multibody_cli.spec import Direction


class RevoluteSpec(CoordinateJointSpec):
    """One angle, about an axis."""

    type: Literal["revolute"]
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis of rotation, in the joint frame.")
    friction: CylinderFriction | None = Field(None, description="Dry friction on a cylinder about the axis.")

    COORDINATES = (Coordinate.ANGLE,)


def parts(spec: RevoluteSpec) -> list[Part]:
    """Give the run of parts."""
    return [turning(spec.axis)]


def pads(spec: RevoluteSpec) -> list[Pad]:
    """Give what rubs."""
    return pads_of_cylinder(spec.friction.surface, spec.axis, slides=False) if spec.friction else []


KIND = JointKind("revolute", RevoluteSpec, parts, pads=pads)
