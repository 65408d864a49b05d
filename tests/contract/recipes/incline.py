"""Incline: a slide along an oblique axis."""

from __future__ import annotations

from typing import Literal

from multibody_cli.joints.contract import Coordinate, JointKind, Part, sliding
from multibody_cli.joints.spec import CoordinateJointSpec


class InclineSpec(CoordinateJointSpec):
    """A slide that descends 4 in 5."""

    type: Literal["incline"]

    COORDINATES = (Coordinate.LENGTH,)


def parts(spec: InclineSpec) -> list[Part]:
    """Return the part."""
    return [sliding((0.6, 0.0, -0.8))]


KIND = JointKind("incline", InclineSpec, parts)
