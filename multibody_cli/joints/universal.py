"""Universal joint: Rx(q1) Ry(q2), two perpendicular axes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multibody_cli.joints.contract import JointKind, Part, turning
from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.joints.friction import CylinderFriction, FrictionPatch, cross_patches
from multibody_cli.joints.spec import CoordinateJointSpec


class UniversalSpec(CoordinateJointSpec):
    """Two angles: about x of the parent's side, then about y of the child's."""

    type: Literal["universal"]
    friction: CylinderFriction | None = Field(
        None, description="Dry friction in both hinges, each on a cylinder about its axis."
    )

    COORDINATES = (Coordinate.ANGLE, Coordinate.ANGLE)


def parts(spec: UniversalSpec) -> list[Part]:
    """Return the parts."""
    return [turning((1.0, 0.0, 0.0)), turning((0.0, 1.0, 0.0))]


def friction_patches(spec: UniversalSpec) -> list[FrictionPatch]:
    """Return the friction patches."""
    return cross_patches(spec.friction.surface) if spec.friction else []


KIND = JointKind("universal", UniversalSpec, parts, friction_patches=friction_patches)
