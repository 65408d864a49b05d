"""Free joint: six degrees of freedom, a position and a rotation."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from multibody_cli.joints.contract import Coordinate, JointKind, JointStart, floating
from multibody_cli.joints.friction import FORCES, MOMENTS, FrictionPatch, brake_patches
from multibody_cli.joints.friction_spec import FreeBrakes
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.spec import Pose, Twist


class FreeSpec(MovingJointSpec):
    """Position and rotation; entries of lists are in the order x, y, z, then the rotation."""

    type: Literal["free"]
    q: Pose = Field(Pose(), description="Pose at the start, of the child's joint frame in the parent's.")
    v: Twist = Field(Twist(), description="Velocity of the child's joint frame at the start, in the parent's.")
    rest: Pose = Field(Pose(), description="Pose at which the spring is relaxed.")

    friction: FreeBrakes | None = Field(None, description="Dry friction of brakes on the components of `v`.")

    COORDINATES = (Coordinate.LENGTH,) * 3 + (Coordinate.ANGLE,) * 3

    @property
    def plain(self) -> tuple[bool, ...]:
        """The coordinates of the position."""
        return (True,) * 3 + (False,) * 3

    @model_validator(mode="after")
    def _refuse_position_motion(self) -> Self:
        if self.motion is not None and self.motion.given == "position":
            raise ValueError(
                "a `motion` by `position` is not supported for a free joint: use `velocity` or `acceleration`"
            )
        return self


def start(spec: FreeSpec) -> JointStart:
    """Return position and quaternion, linear and angular velocity."""
    return JointStart(
        (*spec.q.position, *spec.q.rotation),
        (*spec.v.linear, *spec.v.angular),
        (*spec.rest.position, *spec.rest.rotation),
    )


def friction_patches(spec: FreeSpec) -> list[FrictionPatch]:
    """Return the patches of the brakes, on the velocity in the axes of the parent."""
    assert spec.friction is not None
    limits = (*spec.friction.force, *spec.friction.torque)
    return brake_patches(limits, (*FORCES, *MOMENTS), on_parent=True)


KIND = JointKind("free", FreeSpec, lambda spec: [floating()], start, friction_patches)
