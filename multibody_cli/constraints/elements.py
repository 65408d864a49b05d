"""The constraints of a model as one block of arrays, and the kernel that writes the rows of all of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.cables.lines import CablePoints
from multibody_cli.constraints import TABLES, distance, rope
from multibody_cli.constraints.code_buffers import CodeBuffers
from multibody_cli.constraints.contract import ConstraintTable, write
from multibody_cli.kernel import (
    Records,
    allocate,
    bound_kernel,
    lazy_template,
    number_parameter,
    optional_kernel_parameter,
    records,
    template,
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


@optional_kernel_parameter
def write_before(constraints, states, t, bodies, q, v, rows, terms) -> None:
    """Write the rows of the tables before PLACE."""


@lazy_template(write, PLACE)
def _write_each(constraints, states, t, bodies, q, v, rows, terms):
    """Write the rows of the table at PLACE."""
    table = constraints.tables[PLACE]
    for k in range(len(table)):
        write(
            table[k], constraints.signals, constraints.points, states, constraints.buffers, t, bodies, q, v, rows, terms
        )


@template(write_before, write, PLACE)
def _write_one_more(constraints, states, t, bodies, q, v, rows, terms):
    """Write the rows of the tables before PLACE, then those of the table at PLACE."""
    write_before(constraints, states, t, bodies, q, v, rows, terms)
    if len(constraints.tables[PLACE]) > 0:
        _write_each(constraints, states, t, bodies, q, v, rows, terms)


def _after(write_before: Any, place: int) -> Any:
    table = TABLES[place]
    return bound_kernel(_write_one_more, write_before=write_before, write=table.write, PLACE=place)


write_all: Any = reduce(_after, range(len(TABLES)), None)
"""`write_all(constraints, states, t, bodies, q, v, rows, terms)`: write error, rate, bias and terms of the rows."""
