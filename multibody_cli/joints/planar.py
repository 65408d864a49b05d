"""Planar joint: translation in the xy plane of the joint frame."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multibody_cli.joints.contract import JointKind, Part, sliding
from multibody_cli.joints.coordinate import Coordinate
from multibody_cli.joints.friction import FrictionPatch, PlateFriction, plate_patches
from multibody_cli.joints.spec import CoordinateJointSpec


class PlanarSpec(CoordinateJointSpec):
    """Two displacements, along x and y."""

    type: Literal["planar"]
    friction: PlateFriction | None = Field(
        None, description="Dry friction of a plate about the origin, in the plane of translation."
    )

    COORDINATES = (Coordinate.LENGTH, Coordinate.LENGTH)


def parts(spec: PlanarSpec) -> list[Part]:
    """Return the parts."""
    return [sliding((1.0, 0.0, 0.0)), sliding((0.0, 1.0, 0.0))]


def friction_patches(spec: PlanarSpec) -> list[FrictionPatch]:
    """Return the friction patches."""
    return plate_patches(spec.friction.surface) if spec.friction else []


KIND = JointKind("planar", PlanarSpec, parts, friction_patches=friction_patches)
