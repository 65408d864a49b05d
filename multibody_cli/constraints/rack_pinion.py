"""Rack and pinion: a displacement proportional to an angle, q_rack = radius q_pinion + offset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, field_validator

from multibody_cli.constraints.contract import ConstraintKind, ConstraintSpec, Packed, PackingContext, Place
from multibody_cli.constraints.relation import TABLE, pack_relations
from multibody_cli.spec import Length


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
    def coordinates(self) -> Sequence[tuple[Place, str]]:
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


def pack(spec: RackPinionSpec, context: PackingContext) -> Packed:
    """One relation: rack - radius pinion = offset."""
    return pack_relations([({spec.rack: 1.0, spec.pinion: -spec.radius}, spec.offset)], context)


KIND = ConstraintKind("rack_pinion", RackPinionSpec, TABLE, pack)
