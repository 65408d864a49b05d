"""Prismatic joint: translation by q along a fixed unit axis; S = [0; axis], bias 0."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multibody_cli.joints.contract import Coordinate, JointKind, Part, sliding
from multibody_cli.joints.spec import CoordinateJointSpec
from multibody_cli.spec import Direction


class PrismaticSpec(CoordinateJointSpec):
    """One displacement, along an axis."""

    type: Literal["prismatic"]
    axis: Direction = Field((0.0, 0.0, 1.0), description="Direction of travel, in the joint frame.")

    COORDINATES = (Coordinate.LENGTH,)


def parts(spec: PrismaticSpec) -> list[Part]:
    """Give the run of parts."""
    return [sliding(spec.axis)]


KIND = JointKind("prismatic", PrismaticSpec, parts)
