"""Composite joint: a user-defined sequence of revolute, prismatic and screw parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from multibody_cli.joints.contract import JointKind, Part, screwing, sliding, turning
from multibody_cli.joints.spec import CoordinateJointSpec, Coordinates
from multibody_cli.spec import Catalogue, Direction, Length, Spec


class PartSpec(Spec):
    """One part of a composite joint."""

    type: str
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis, in the outer frame of the preceding part.")

    @property
    def part(self) -> Part:
        """The part."""
        raise NotImplementedError


class RevolutePart(PartSpec):
    """An angle about an axis."""

    type: Literal["revolute"]

    @property
    def part(self) -> Part:
        """The part."""
        return turning(self.axis)


class PrismaticPart(PartSpec):
    """A displacement along an axis."""

    type: Literal["prismatic"]

    @property
    def part(self) -> Part:
        """The part."""
        return sliding(self.axis)


class ScrewPart(PartSpec):
    """An angle about an axis, with a proportional translation along it."""

    type: Literal["screw"]
    pitch: Length = Field(description="Translation per turn, m.")

    @property
    def part(self) -> Part:
        """The part."""
        return screwing(self.axis, self.pitch / math.tau)


PARTS = {"revolute": RevolutePart, "prismatic": PrismaticPart, "screw": ScrewPart}


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
        return tuple(kind for spec in fields["parts"] for kind in spec.part.coordinates)


def parts(spec: CompositeSpec) -> list[Part]:
    """Return the parts."""
    return [part.part for part in spec.parts]


KIND = JointKind("composite", CompositeSpec, parts)
