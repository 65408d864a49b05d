"""Couplings and constraints of coordinates: linear relations sum c_k q_k = value.

gear          two angles in proportion, output = ratio input + offset, or within a backlash of that
equal         two or more coordinates are equal
linear        coordinates, each times its coefficient, add up to a value
rack_pinion   a displacement proportional to an angle, q_rack = radius q_pinion + offset

With the backlash b of a gear, the equality becomes two one-sided rows, one for each flank:

    (output - ratio input - offset) + b/2 >= 0       -(output - ratio input - offset) + b/2 >= 0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema, field_validator, model_validator

from multibody_cli.constraints.contract import ConstraintKind, ConstraintSpec, Packed
from multibody_cli.constraints.relation import TABLE, CouplingSpec, Relation, pack_relations
from multibody_cli.nodes import NodePath
from multibody_cli.spec import Angle, Length, Number, Quantity, units
from multibody_cli.spec.entries import PackingContext
from multibody_cli.spec.quantities import NUMBER_SCHEMA, read_any

_VALUES = {"rad": Quantity(units.ANGLE), "m": Quantity(units.LENGTH)}


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
    def relations(self) -> Sequence[Relation]:
        """Output - ratio input = offset, without backlash."""
        drive, driven = self.joints
        return [] if self.one_sided else [({driven: 1.0, drive: -self.ratio}, self.offset)]

    @property
    def coordinates(self) -> Sequence[tuple[NodePath, str]]:
        """Input and output."""
        return [(("joints", k), word) for k, word in enumerate(self.joints)]

    def kind_error(self, kinds: Sequence[str]) -> str:
        """Both coordinates must be angles."""
        if kinds[0] != kinds[1]:
            return "a gear couples two angles, but one coordinate is a length: use `rack_pinion` of `constraints`"
        return "" if kinds[0] == "rad" else "a gear couples two angles, but both coordinates are lengths: use `linear`"


def pack_gear(spec: GearSpec, context: PackingContext) -> Packed:
    """One relation, output - ratio input = offset, or the lower and then the upper flank."""
    drive, driven = spec.joints
    if not spec.one_sided:
        return pack_relations(spec.relations, context)
    half = 0.5 * spec.backlash
    flanks = [({driven: s, drive: -s * spec.ratio}, s * spec.offset - half) for s in (1.0, -1.0)]
    rows, records = pack_relations(flanks, context)
    names = (f"at the {side} flank {row.direction}" for side, row in zip(("lower", "upper"), rows, strict=True))
    return Packed(tuple(row._replace(direction=name) for row, name in zip(rows, names, strict=True)), records)


class EqualSpec(CouplingSpec):
    """Two or more coordinates, all angles or all lengths, that are the same at all times."""

    type: Literal["equal"]
    joints: list[str] = Field(
        min_length=2,
        description="Which joints; `wrist/0` is the first coordinate of a joint with several.",
    )

    @property
    def row_count(self) -> int:
        """One row for each coordinate but the first."""
        return len(self.joints) - 1

    @property
    def relations(self) -> Sequence[Relation]:
        """One for each coordinate after the first: q_k - q_1 = 0."""
        first, *others = self.joints
        return [({other: 1.0, first: -1.0}, 0.0) for other in others]

    @property
    def coordinates(self) -> Sequence[tuple[NodePath, str]]:
        """All coordinates."""
        return [(("joints", k), word) for k, word in enumerate(self.joints)]

    def kind_error(self, kinds: Sequence[str]) -> str:
        """All coordinates must be of one kind."""
        return "an angle cannot equal a length: name coordinates of one kind" if len(set(kinds)) > 1 else ""


def pack_equal(spec: EqualSpec, context: PackingContext) -> Packed:
    """One relation for each coordinate after the first."""
    return pack_relations(spec.relations, context)


class LinearSpec(CouplingSpec):
    """Coordinates, each times its coefficient, add up to a value."""

    type: Literal["linear"]
    terms: dict[str, Number] = Field(
        min_length=1,
        description="Coefficients by the names of joints; `wrist/0` is the first coordinate of a joint with several.",
    )
    value: Annotated[float, PlainValidator(read_any), WithJsonSchema(NUMBER_SCHEMA)] = Field(
        0.0, description="The value of their sum, rad or m as the coordinates are."
    )

    @model_validator(mode="after")
    def _require_a_coefficient(self) -> Self:
        if not any(self.terms.values()):
            raise ValueError("expected at least one nonzero coefficient")
        return self

    @property
    def relations(self) -> Sequence[Relation]:
        """The terms add up to the value."""
        return [(self.terms, self.value)]

    @property
    def coordinates(self) -> Sequence[tuple[NodePath, str]]:
        """Coordinates of the terms."""
        return [(("terms", word), word) for word in self.terms]

    def quantity(self, kinds: Sequence[str]) -> tuple[str, Quantity] | None:
        """The value has the unit of the coordinates, if these are of one kind."""
        return ("value", _VALUES[kinds[0]]) if len(set(kinds)) == 1 else None


def pack_linear(spec: LinearSpec, context: PackingContext) -> Packed:
    """One relation."""
    return pack_relations(spec.relations, context)


class RackPinionSpec(ConstraintSpec):
    """A displacement in proportion to an angle: rack = radius * pinion + offset."""

    type: Literal["rack_pinion"]
    rack: str = Field(description="Joint whose coordinate is a length; `slot/0` is the first of several.")
    pinion: str = Field(description="Joint whose coordinate is an angle; `wrist/0` is the first of several.")
    radius: Length = Field(
        description="Radius of the pinion, m; negative where the rack moves back as the pinion turns forward."
    )
    offset: Length = Field(0.0, description="The rack where the pinion is at 0, m.")

    @field_validator("radius")
    @classmethod
    def _refuse_no_radius(cls, radius: float) -> float:
        if radius == 0.0:
            raise ValueError("expected a nonzero radius: with 0 the rack does not move")
        return radius

    @property
    def coordinates(self) -> Sequence[tuple[NodePath, str]]:
        """Rack and pinion."""
        return [(("rack",), self.rack), (("pinion",), self.pinion)]

    def kind_error(self, kinds: Sequence[str]) -> str:
        """The rack must be a length, the pinion an angle."""
        if list(kinds) == ["m", "rad"]:
            return ""
        if list(kinds) == ["rad", "m"]:
            return "the rack needs a length and the pinion an angle: exchange the two"
        if kinds[0] == "rad":
            return "the rack needs a length, but both coordinates are angles: use `gear` of `couplings`"
        return "the pinion needs an angle, but both coordinates are lengths: use `linear` of `couplings`"


def pack_rack_pinion(spec: RackPinionSpec, context: PackingContext) -> Packed:
    """One relation: rack - radius pinion = offset."""
    return pack_relations([({spec.rack: 1.0, spec.pinion: -spec.radius}, spec.offset)], context)


KINDS = (
    ConstraintKind("gear", GearSpec, TABLE, pack_gear),
    ConstraintKind("equal", EqualSpec, TABLE, pack_equal),
    ConstraintKind("linear", LinearSpec, TABLE, pack_linear),
    ConstraintKind("rack_pinion", RackPinionSpec, TABLE, pack_rack_pinion),
)
