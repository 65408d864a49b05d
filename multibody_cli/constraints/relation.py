"""Linear relations of coordinates: the common form sum c_k q_k = value of gears, equalities, racks and linear sums.

The row is sum c_k q_k - value at position level and sum c_k v_k at velocity level; only the position level has a
constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from multibody_cli.constraints.contract import ConstraintSpec, ConstraintTable, Packed, RowShape
from multibody_cli.constraints.rows import write_coefficient, write_level
from multibody_cli.kernel import formula
from multibody_cli.spec.entries import PackingContext

RELATION = np.dtype(
    [
        ("first_row", "i8"),
        ("first_term", "i8"),
        ("starts_row", "i8"),  # whether it is the first term of its row
        ("iq", "i8"),
        ("iv", "i8"),
        ("coefficient", "f8"),
        ("value", "f8"),
    ]
)
"""One record for each term."""


Relation = tuple[Mapping[str, float], float]
"""Coefficients by names of coordinates, and the value that they add up to."""


class CouplingSpec(ConstraintSpec):
    """An entry of `couplings:`: a relation of coordinates of joints.

    A coordinate is given by the name of its joint; `wrist/0` is the first coordinate of a joint with several.
    """

    reduce: bool = Field(
        False, strict=True, description="Whether it is a change of coordinates instead of a constraint."
    )

    @property
    def relations(self) -> Sequence[Relation]:
        """The linear relations that it is; empty if it is something else."""
        return ()


def pack_relations(relations: Sequence[Relation], context: PackingContext) -> Packed:
    """One row for each relation: coefficients by names of coordinates, and the value."""
    records: list[tuple[int, int, bool, int, int, float, float]] = []
    for row, (relation, value) in enumerate(relations):
        for k, (word, coefficient) in enumerate(relation.items()):
            records.append((row, len(records), k == 0, *context.coordinate(word), coefficient, value))
    rows = tuple(RowShape(len(relation), holonomic=True, direction=_between(relation)) for relation, _ in relations)
    return Packed(rows, tuple(records))


def relations_of(records: Iterable[Any]) -> list[tuple[dict[tuple[int, int], float], float]]:
    """Unpack each relation of records: coefficients by the indices of their coordinates in q and v, and the value."""
    relations: list[tuple[dict[tuple[int, int], float], float]] = []
    for _, _, starts_row, iq, iv, coefficient, value in records:
        if starts_row:
            relations.append(({}, value))
        relations[-1][0][iq, iv] = coefficient
    return relations


def _between(relation: Mapping[str, float]) -> str:
    *others, last = relation
    return f"between {', '.join(others)} and {last}" if others else f"of {last}"


@formula
def write(part, signals, points, states, buffers, t, bodies, q, v, rows, terms):
    """Write a term, and the row that it starts."""
    row = rows[part.first_row]
    if part.starts_row:
        write_level(row, -part.value, 0.0, 0.0)
    row.error += part.coefficient * q[part.iq]
    write_coefficient(terms[part.first_term], part.iv, part.coefficient)


TABLE = ConstraintTable("relation", RELATION, write)
