"""Gear: two angles in proportion, output = ratio input + offset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, field_validator

from multibody_cli.constraints.contract import ConstraintKind, Packed, PackingContext, Place
from multibody_cli.constraints.relation import TABLE, CouplingSpec, pack_relations
from multibody_cli.spec import Angle, Number


class GearSpec(CouplingSpec):
    """Two angles in proportion: output = ratio * input + offset."""

    type: Literal["gear"]
    joints: list[str] = Field(
        min_length=2,
        max_length=2,
        description="Input and output; `wrist/0` is the first coordinate of a joint with several.",
    )
    ratio: Number = Field(description="Output over input; negative where they turn in opposite senses.")
    offset: Angle = Field(0.0, description="The output where the input is 0, rad.")

    @field_validator("ratio")
    @classmethod
    def _refuse_no_ratio(cls, ratio: float) -> float:
        if ratio == 0.0:
            raise ValueError("expected a nonzero ratio: with 0 the output does not move")
        return ratio

    @property
    def coordinates(self) -> Sequence[tuple[Place, str]]:
        """Input and output."""
        return [(("joints", k), word) for k, word in enumerate(self.joints)]

    def kind_error(self, kinds: Sequence[str]) -> str:
        """Both coordinates must be angles."""
        if kinds[0] != kinds[1]:
            return "a gear couples two angles, but one coordinate is a length: use `rack_pinion` of `constraints`"
        return "" if kinds[0] == "rad" else "a gear couples two angles, but both coordinates are lengths: use `linear`"


def pack(spec: GearSpec, context: PackingContext) -> Packed:
    """One relation: output - ratio input = offset."""
    drive, driven = spec.joints
    return pack_relations([{driven: 1.0, drive: -spec.ratio}], spec.offset, context)


KIND = ConstraintKind("gear", GearSpec, TABLE, pack)
