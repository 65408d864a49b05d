"""Joints whose parts are screws about fixed axes: rotations, translations, or both in proportion.

revolute        a rotation by q about a unit axis; S = [axis; 0], bias 0
prismatic       a translation by q along a unit axis; S = [0; axis], bias 0
screw           a rotation by q about a unit axis with a translation of pitch q / (2 pi) along it
cylindrical     a rotation about an axis and, independently, a translation along it
universal       Rx(q1) Ry(q2), two perpendicular axes
planar          a translation in the xy plane of the joint frame
translational   a translation along x, y and z, no rotation
free2d          free motion in a plane: translation along x and y, rotation about z
fixed           no relative motion; the empty sequence of parts
"""

from __future__ import annotations

import math
from typing import Literal, Self

from pydantic import Field, model_validator

from multibody_cli.joints.contract import Coordinate, JointKind, JointStart, screwing, sliding, turning
from multibody_cli.joints.friction import (
    FORCES,
    MOMENTS,
    brake_patches,
    hinge_patches,
    is_aligned,
    planar_patches,
    screw_patches,
    sleeve_patches,
    slider_patches,
    universal_patches,
)
from multibody_cli.joints.friction_spec import (
    CrossFriction,
    CylinderFriction,
    HingeFriction,
    PlaneBrakes,
    PlateFriction,
    SliderFriction,
    SpaceBrakes,
)
from multibody_cli.joints.spec import CoordinateJointSpec, JointSpec
from multibody_cli.spec import Direction, Length
from multibody_cli.spec.quantities import located_error

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


class FixedSpec(JointSpec):
    """No degrees of freedom."""

    type: Literal["fixed"]


class RevoluteSpec(CoordinateJointSpec):
    """One angle, about an axis."""

    type: Literal["revolute"]
    axis: Direction = Field(Z, description="Axis of rotation, in the joint frame.")
    friction: HingeFriction | None = Field(
        None, description="Dry friction on a cylinder about the axis, or of a brake."
    )

    COORDINATES = (Coordinate.ANGLE,)


class PrismaticSpec(CoordinateJointSpec):
    """One displacement, along an axis."""

    type: Literal["prismatic"]
    axis: Direction = Field(Z, description="Direction of translation, in the joint frame.")
    friction: SliderFriction | None = Field(
        None, description="Dry friction on a box about the joint frame, or of a brake."
    )

    COORDINATES = (Coordinate.LENGTH,)

    @model_validator(mode="after")
    def _refuse_oblique_friction(self) -> Self:
        if self.friction is not None and self.friction.surface is not None and not is_aligned(self.axis):
            raise located_error(
                "requires `axis` along x, y or z of the joint frame: rotate the joint frame", "friction"
            )
        return self


class ScrewSpec(CoordinateJointSpec):
    """One angle about an axis, with a proportional translation along it."""

    type: Literal["screw"]
    axis: Direction = Field(Z, description="Axis of the screw, in the joint frame.")
    pitch: Length = Field(description="Translation per turn, m; negative for a left-handed screw.")
    friction: HingeFriction | None = Field(
        None, description="Dry friction of a square thread on a cylinder about the axis, or of a brake."
    )

    COORDINATES = (Coordinate.ANGLE,)

    @property
    def lead(self) -> float:
        """Translation per radian, m."""
        return self.pitch / math.tau


class CylindricalSpec(CoordinateJointSpec):
    """An angle about an axis and a displacement along it."""

    type: Literal["cylindrical"]
    axis: Direction = Field(Z, description="Axis of rotation and translation, in the joint frame.")
    friction: CylinderFriction | None = Field(
        None, description="Dry friction on a cylinder about the axis, or of brakes."
    )

    COORDINATES = (Coordinate.ANGLE, Coordinate.LENGTH)


class UniversalSpec(CoordinateJointSpec):
    """Two angles: about x of the parent's side, then about y of the child's."""

    type: Literal["universal"]
    friction: CrossFriction | None = Field(
        None, description="Dry friction in both hinges, each on a cylinder about its axis, or of a brake in each."
    )

    COORDINATES = (Coordinate.ANGLE, Coordinate.ANGLE)


class PlanarSpec(CoordinateJointSpec):
    """Two displacements, along x and y."""

    type: Literal["planar"]
    friction: PlateFriction | None = Field(
        None, description="Dry friction of a plate about the origin, in the plane of translation, or of brakes."
    )

    COORDINATES = (Coordinate.LENGTH, Coordinate.LENGTH)


class TranslationalSpec(CoordinateJointSpec):
    """Three displacements, along x, y and z."""

    type: Literal["translational"]
    friction: SpaceBrakes | None = Field(None, description="Dry friction of brakes along x, y and z.")

    COORDINATES = (Coordinate.LENGTH, Coordinate.LENGTH, Coordinate.LENGTH)


class Free2dSpec(CoordinateJointSpec):
    """Two displacements, along x and y, and an angle about z."""

    type: Literal["free2d"]
    friction: PlaneBrakes | None = Field(None, description="Dry friction of brakes along x and y, and about z.")

    COORDINATES = (Coordinate.LENGTH, Coordinate.LENGTH, Coordinate.ANGLE)


KINDS = (
    JointKind("fixed", FixedSpec, lambda spec: [], start=lambda spec: JointStart((), (), ())),
    JointKind(
        "revolute",
        RevoluteSpec,
        lambda spec: [turning(spec.axis)],
        friction_patches=lambda spec: hinge_patches(spec.friction, spec.axis),
    ),
    JointKind(
        "prismatic",
        PrismaticSpec,
        lambda spec: [sliding(spec.axis)],
        friction_patches=lambda spec: slider_patches(spec.friction, spec.axis),
    ),
    JointKind(
        "screw",
        ScrewSpec,
        lambda spec: [screwing(spec.axis, spec.lead)],
        friction_patches=lambda spec: screw_patches(spec.friction, spec.axis, spec.lead),
    ),
    JointKind(
        "cylindrical",
        CylindricalSpec,
        lambda spec: [turning(spec.axis), sliding(spec.axis)],
        friction_patches=lambda spec: sleeve_patches(spec.friction, spec.axis),
    ),
    JointKind(
        "universal",
        UniversalSpec,
        lambda spec: [turning(X), turning(Y)],
        friction_patches=lambda spec: universal_patches(spec.friction),
    ),
    JointKind(
        "planar",
        PlanarSpec,
        lambda spec: [sliding(X), sliding(Y)],
        friction_patches=lambda spec: planar_patches(spec.friction),
    ),
    JointKind(
        "translational",
        TranslationalSpec,
        lambda spec: [sliding(X), sliding(Y), sliding(Z)],
        friction_patches=lambda spec: brake_patches(spec.friction.force, FORCES),
    ),
    JointKind(
        "free2d",
        Free2dSpec,
        lambda spec: [sliding(X), sliding(Y), turning(Z)],
        friction_patches=lambda spec: brake_patches(
            (*spec.friction.force, spec.friction.torque), (*FORCES[:2], MOMENTS[2]), on_parent=True
        ),
    ),
)
