"""Composite joint: a user-defined sequence of revolute, prismatic and screw parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from multibody_cli.joints.contract import JointKind, Part, screwing, sliding, turning
from multibody_cli.joints.spec import CoordinateJointSpec, Coordinates
from multibody_cli.spec import Catalogue, Direction, Length, Spec


class PartSpec(Spec):
    """One part of a composite joint."""

    type: str
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis, in the outer frame of the preceding part.")


class RevolutePart(PartSpec):
    """An angle about an axis."""

    type: Literal["revolute"]


class PrismaticPart(PartSpec):
    """A displacement along an axis."""

    type: Literal["prismatic"]


class ScrewPart(PartSpec):
    """An angle about an axis, with a proportional translation along it."""

    type: Literal["screw"]
    pitch: Length = Field(description="Translation per turn, m.")


PARTS: dict[str, type[PartSpec]] = {"revolute": RevolutePart, "prismatic": PrismaticPart, "screw": ScrewPart}

_MAKERS: dict[str, Callable[[Any], Part]] = {
    "revolute": lambda spec: turning(spec.axis),
    "prismatic": lambda spec: sliding(spec.axis),
    "screw": lambda spec: screwing(spec.axis, spec.pitch / math.tau),
}


class CompositeParts(Spec):
    """The parts of a composite joint."""

    parts: list[Annotated[PartSpec, Catalogue("a part of a composite joint", PARTS)]] = Field(
        min_length=1, description="Parts of the joint, from the parent to the child."
    )


# `CompositeParts` is the last base, so that its field is read before those that depend on the number of coordinates
class CompositeSpec(CoordinateJointSpec, CompositeParts):
    """One coordinate for each part, in their order."""

    type: Literal["composite"]

    @classmethod
    def coordinates_of(cls, fields: Mapping[str, Any]) -> Coordinates | None:
        """Return one coordinate for each part."""
        if "parts" not in fields:
            return None
        return tuple(kind for part in _parts(fields["parts"]) for kind in part.coordinates)


def _parts(specs: Sequence[PartSpec]) -> list[Part]:
    return [_MAKERS[spec.type](spec) for spec in specs]


KIND = JointKind("composite", CompositeSpec, lambda spec: _parts(spec.parts))
