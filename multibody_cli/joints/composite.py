"""Composite joint: a run of revolute, prismatic and screw parts of the user's own choice."""

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
    axis: Direction = Field((0.0, 0.0, 1.0), description="Axis, in the frame that the parts before it lead to.")

    @property
    def part(self) -> Part:
        """The part that was written so."""
        raise NotImplementedError


class RevolutePart(PartSpec):
    """An angle about an axis."""

    type: Literal["revolute"]

    @property
    def part(self) -> Part:
        """The part that was written so."""
        return turning(self.axis)


class PrismaticPart(PartSpec):
    """A displacement along an axis."""

    type: Literal["prismatic"]

    @property
    def part(self) -> Part:
        """The part that was written so."""
        return sliding(self.axis)


class ScrewPart(PartSpec):
    """An angle about an axis, with a travel along it."""

    type: Literal["screw"]
    pitch: Length = Field(description="Travel per turn, m.")

    @property
    def part(self) -> Part:
        """The part that was written so."""
        return screwing(self.axis, self.pitch / math.tau)


PARTS = {"revolute": RevolutePart, "prismatic": PrismaticPart, "screw": ScrewPart}


class Run(Spec):
    """The parts of a composite joint."""

    parts: list[Annotated[PartSpec, Catalogue("a part of a composite joint", PARTS)]] = Field(
        min_length=1, description="Parts of the joint, from the parent to the child."
    )


# `Run` stands last, so that its field is read before those that need to know how many coordinates there are
class CompositeSpec(CoordinateJointSpec, Run):
    """One coordinate for each part, in their order."""

    type: Literal["composite"]

    @classmethod
    def coordinates_of(cls, fields: Mapping[str, Any]) -> Coordinates | None:
        """One for each part."""
        if "parts" not in fields:
            return None
        return tuple(kind for spec in fields["parts"] for kind in spec.part.coordinates)


def parts(spec: CompositeSpec) -> list[Part]:
    """Give the run of parts."""
    return [part.part for part in spec.parts]


KIND = JointKind("composite", CompositeSpec, parts)
