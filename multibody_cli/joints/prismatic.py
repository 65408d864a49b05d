"""Prismatic joint: translation by q along a fixed unit axis; S = [0; axis], bias 0."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from multibody_cli.joints.contract import JointKind, Part, sliding
from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.joints.friction import BoxFriction, FrictionPatch, box_patches, is_aligned
from multibody_cli.joints.spec import CoordinateJointSpec
from multibody_cli.spec import Direction
from multibody_cli.spec.quantities import located_error


class PrismaticSpec(CoordinateJointSpec):
    """One displacement, along an axis."""

    type: Literal["prismatic"]
    axis: Direction = Field((0.0, 0.0, 1.0), description="Direction of translation, in the joint frame.")
    friction: BoxFriction | None = Field(None, description="Dry friction on a box about the joint frame.")

    COORDINATES = (Coordinate.LENGTH,)

    @model_validator(mode="after")
    def _refuse_oblique_friction(self) -> Self:
        if self.friction is not None and not is_aligned(self.axis):
            raise located_error(
                "requires `axis` along x, y or z of the joint frame: rotate the joint frame", "friction"
            )
        return self


def parts(spec: PrismaticSpec) -> list[Part]:
    """Return the parts."""
    return [sliding(spec.axis)]


def friction_patches(spec: PrismaticSpec) -> list[FrictionPatch]:
    """Return the friction patches."""
    return box_patches(spec.friction.surface, spec.axis) if spec.friction else []


KIND = JointKind("prismatic", PrismaticSpec, parts, friction_patches=friction_patches)
