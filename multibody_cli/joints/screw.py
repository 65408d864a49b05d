"""Screw joint: rotation by q about a unit axis with a translation of pitch q / (2 pi) along it."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from multibody_cli.joints.contract import JointKind, Part, screwing
from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.joints.friction import CylinderFriction, FrictionPatch, thread_patches
from multibody_cli.joints.spec import CoordinateJointSpec
from multibody_cli.spec import Direction, Length


class ScrewSpec(CoordinateJointSpec):
    """One angle about an axis, with a proportional translation along it."""

    type: Literal["screw"]
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis of the screw, in the joint frame.")
    pitch: Length = Field(description="Translation per turn, m; negative for a left-handed screw.")
    friction: CylinderFriction | None = Field(
        None, description="Dry friction of a square thread on a cylinder about the axis."
    )

    COORDINATES = (Coordinate.ANGLE,)


def parts(spec: ScrewSpec) -> list[Part]:
    """Return the parts."""
    return [screwing(spec.axis, spec.pitch / math.tau)]


def friction_patches(spec: ScrewSpec) -> list[FrictionPatch]:
    """Return the friction patches."""
    return thread_patches(spec.friction.surface, spec.axis, spec.pitch / math.tau) if spec.friction else []


KIND = JointKind("screw", ScrewSpec, parts, friction_patches=friction_patches)
