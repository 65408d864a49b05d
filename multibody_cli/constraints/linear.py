"""Linear: a linear relation of coordinates, sum c_k q_k = value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from multibody_cli.constraints.contract import ConstraintKind, Packed, PackingContext, Place
from multibody_cli.constraints.relation import TABLE, CouplingSpec, pack_relations
from multibody_cli.spec import Number, Quantity, units
from multibody_cli.spec.quantities import NUMBER_SCHEMA, read_any

_VALUES = {"rad": Quantity(units.ANGLE), "m": Quantity(units.LENGTH)}


class LinearSpec(CouplingSpec):
    """Coordinates, each times its coefficient, add up to a value."""

    type: Literal["linear"]
    terms: dict[str, Number] = Field(
        min_length=1,
        description="Coefficients by the names of joints; `wrist/0` is the first coordinate of a joint with several.",
    )
    value: Annotated[float, PlainValidator(read_any), WithJsonSchema(NUMBER_SCHEMA)] = Field(
        0.0, description="What they add up to, rad or m as the coordinates are."
    )

    @model_validator(mode="after")
    def _require_a_coefficient(self) -> Self:
        if not any(self.terms.values()):
            raise ValueError("expected at least one nonzero coefficient")
        return self

    @property
    def coordinates(self) -> Sequence[tuple[Place, str]]:
        """Coordinates of the terms."""
        return [(("terms", word), word) for word in self.terms]

    def quantity(self, kinds: Sequence[str]) -> tuple[str, Quantity] | None:
        """The value has the unit of the coordinates, if these are of one kind."""
        return ("value", _VALUES[kinds[0]]) if len(set(kinds)) == 1 else None


def pack(spec: LinearSpec, context: PackingContext) -> Packed:
    """One relation."""
    return pack_relations([(spec.terms, spec.value)], context)


KIND = ConstraintKind("linear", LinearSpec, TABLE, pack)
