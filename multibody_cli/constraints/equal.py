"""Equal: two or more coordinates are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from multibody_cli.constraints.contract import ConstraintKind, Packed, PackingContext, Place
from multibody_cli.constraints.relation import TABLE, CouplingSpec, pack_relations


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
    def coordinates(self) -> Sequence[tuple[Place, str]]:
        """All coordinates."""
        return [(("joints", k), word) for k, word in enumerate(self.joints)]

    def kind_error(self, kinds: Sequence[str]) -> str:
        """All coordinates must be of one kind."""
        return "an angle cannot equal a length: name coordinates of one kind" if len(set(kinds)) > 1 else ""


def pack(spec: EqualSpec, context: PackingContext) -> Packed:
    """One relation for each coordinate after the first: q_k - q_1 = 0."""
    first, *others = spec.joints
    return pack_relations([({other: 1.0, first: -1.0}, 0.0) for other in others], context)


KIND = ConstraintKind("equal", EqualSpec, TABLE, pack)
