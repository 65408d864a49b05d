"""The constraints of a model as one block of arrays, and the kernel that writes the rows of all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.cables.lines import CablePoints
from multibody_cli.constraints import TABLES, distance, rope
from multibody_cli.constraints.code_buffers import CodeBuffers
from multibody_cli.constraints.contract import ConstraintTable, write
from multibody_cli.kernel import (
    EachNonempty,
    Records,
    allocate,
    bound_kernel,
    kernel,
    lazy_template,
    number_parameter,
    records,
)
from multibody_cli.signals import Signals

ROPES = TABLES.index(rope.TABLE)
"""Place of the table of ropes."""


class Constraints(NamedTuple):
    """The constraints of a model, one table for each entry of `TABLES`."""

    signals: Signals
    points: CablePoints  # of all cables
    tables: tuple[Records, ...]
    buffers: CodeBuffers

    @property
    def coordinates(self) -> set[int]:
        """Indices in v of the coordinates of which rows have coefficients."""
        found = {int(iv) for table in self.tables if "iv" in (table.dtype.names or ()) for iv in table["iv"]}
        for rod in self.tables[TABLES.index(distance.KIND.table)]:
            found |= {int(one["iv"]) for one in self.points.motions if rod["first"] <= one["entry"] < rod["last"]}
        moving = {int(entry) for end in "ab" for entry in self.tables[ROPES][end]["entry"]}
        return found | {int(one["iv"]) for one in self.points.motions if one["entry"] in moving}


class TablePacker:
    """Collects the records of all tables of a model."""

    def __init__(self) -> None:
        self._records: dict[str, list[tuple[Any, ...]]] = {table.name: [] for table in TABLES}

    def add(self, table: ConstraintTable, records: Iterable[tuple[Any, ...]], row: int, term: int) -> None:
        """Add the records of an element whose rows begin at `row`, and their terms at `term`."""
        self._records[table.name] += [(row + first[0], term + first[1], *first[2:]) for first in records]

    def records_of(self, table: ConstraintTable) -> Records:
        """Return the records of a table."""
        return records(np.array(self._records[table.name], dtype=table.dtype))

    def pack(self, signals: Signals, points: CablePoints) -> Constraints:
        """Return the tables of all added records; they contain numbers of `signals` and of entries of `points`."""
        return Constraints(signals, points, tuple(map(self.records_of, TABLES)), allocate(CodeBuffers))


PLACE = number_parameter("PLACE", int)
"""The place of a table in `Constraints.tables`."""


@lazy_template(write, PLACE)
def _write_each(constraints, states, t, bodies, q, v, rows, terms):
    """Write the rows of the table at PLACE."""
    table = constraints.tables[PLACE]
    for k in range(len(table)):
        write(
            table[k], constraints.signals, constraints.points, states, constraints.buffers, t, bodies, q, v, rows, terms
        )


_write_tables = EachNonempty(
    bound_kernel(_write_each, write=table.write, PLACE=place) for place, table in enumerate(TABLES)
)


@kernel
def write_all(constraints, states, t, bodies, q, v, rows, terms):
    """Write error, rate, bias and terms of all rows."""
    _write_tables(constraints.tables, constraints, states, t, bodies, q, v, rows, terms)
