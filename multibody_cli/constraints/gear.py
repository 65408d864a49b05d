"""Gear: two angles in proportion, output = ratio input + offset, or within a backlash of that.

With the backlash b, the equality becomes two one-sided rows, one for each flank:

    (output - ratio input - offset) + b/2 >= 0       -(output - ratio input - offset) + b/2 >= 0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from multibody_cli.constraints.contract import ConstraintKind, Packed, PackingContext, Place
from multibody_cli.constraints.relation import TABLE, CouplingSpec, pack_relations
from multibody_cli.spec import Angle, Number, Quantity, units


class GearSpec(CouplingSpec):
    """Two angles in proportion: output = ratio * input + offset, to within half a backlash."""

    type: Literal["gear"]
    joints: list[str] = Field(
        min_length=2,
        max_length=2,
        description="Input and output; `wrist/0` is the first coordinate of a joint with several.",
    )
    ratio: Number = Field(description="Output over input; negative where they turn in opposite senses.")
    offset: Angle = Field(0.0, description="The output where the input is 0, rad.")
    backlash: Annotated[float, Quantity(units.ANGLE, least=0.0)] = Field(
        0.0, description="Play of the output while the input is held, rad; impacts of the flanks are inelastic."
    )

    @field_validator("ratio")
    @classmethod
    def _refuse_no_ratio(cls, ratio: float) -> float:
        if ratio == 0.0:
            raise ValueError("expected a nonzero ratio: with 0 the output does not move")
        return ratio

    @model_validator(mode="after")
    def _refuse_reduced_play(self) -> Self:
        if self.reduce and self.one_sided:
            raise ValueError("with `backlash` the output is no function of the input: remove `reduce`")
        return self

    @property
    def one_sided(self) -> bool:
        """Whether it has backlash."""
        return self.backlash > 0.0

    @property
    def row_count(self) -> int:
        """One row for each flank if it has backlash."""
        return 2 if self.one_sided else 1

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
    """One relation, output - ratio input = offset, or the lower and then the upper flank."""
    drive, driven = spec.joints
    if not spec.one_sided:
        return pack_relations([({driven: 1.0, drive: -spec.ratio}, spec.offset)], context)
    half = 0.5 * spec.backlash
    flanks = [({driven: s, drive: -s * spec.ratio}, s * spec.offset - half) for s in (1.0, -1.0)]
    rows, records = pack_relations(flanks, context)
    names = (f"at the {side} flank {row.direction}" for side, row in zip(("lower", "upper"), rows, strict=True))
    return Packed(tuple(row._replace(direction=name) for row, name in zip(rows, names, strict=True)), records)


KIND = ConstraintKind("gear", GearSpec, TABLE, pack)
