"""Rows of a sweep: reductions of runs, one by one and in blocks of runs with the same columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from multibody_cli.immutable import Immutable, replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from multibody_cli.model import Floats, Integers

OUTCOMES = {
    "status": "`complete`, `untrusted`, `diverged`, `refused` or `failed`.",
    "reason": "Message about the end of the run; empty if the run is complete.",
    "alarms": "Alarms that the run raised, with their levels and first times.",
}
"""Text columns of every table, with their descriptions."""

Ending = tuple[str, ...]
"""How a run ended: the texts of the columns `OUTCOMES`."""


class Column(NamedTuple):
    """A column: name, units (empty for plain numbers) and description."""

    name: str
    units: str = ""
    description: str = ""


class Row(NamedTuple):
    """Result of one run: number, outcome, and numbers with their columns."""

    run: int
    status: str
    reason: str = ""
    alarms: str = ""
    columns: tuple[Column, ...] = ()
    values: tuple[float, ...] = ()


class Rows(Immutable):
    """Results of n runs that have the same columns.

    Parameters
    ----------
    runs
        Numbers of the runs (n,).
    endings
        How they ended, n.
    columns
        Columns of the kept numbers.
    values
        The kept numbers (n, len(columns)).
    """

    runs: Integers
    endings: Sequence[Ending]
    columns: tuple[Column, ...]
    values: Floats

    def only(self, chosen: NDArray[np.bool_]) -> Self:
        """Return the rows whose places are chosen (n,)."""
        if chosen.all():
            return self
        endings = [ending for ending, wanted in zip(self.endings, chosen.tolist(), strict=True) if wanted]
        return replace(self, runs=self.runs[chosen], endings=endings, values=self.values[chosen])


def in_blocks(rows: Iterable[Row]) -> list[Rows]:
    """Return rows as blocks, one for all rows with the same columns."""
    by_columns: dict[tuple[Column, ...], list[Row]] = {}
    for row in rows:
        by_columns.setdefault(row.columns, []).append(row)
    return [
        Rows(
            np.array([row.run for row in some]),
            [(row.status, row.reason, row.alarms) for row in some],
            columns,
            np.array([row.values for row in some], np.float64),
        )
        for columns, some in by_columns.items()
    ]


def distinct_columns(columns: Iterable[Column]) -> list[Column]:
    """Return the columns that differ by name or unit, the first of each."""
    found: dict[tuple[str, str], Column] = {}
    for column in columns:
        found.setdefault((column.name, column.units), column)
    return list(found.values())
