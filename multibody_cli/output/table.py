"""A table of a run: one row for each output instant, or for each contact, and one column for each scalar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.errors import ResultError
from multibody_cli.immutable import Immutable
from multibody_cli.output.channel import CONTACT, INSTANT
from multibody_cli.output.contact_channels import INSTANT_OF_CONTACT, OFFSET
from multibody_cli.output.selection import ScalarChannel, row_kinds, select

if TYPE_CHECKING:
    from multibody_cli.model import Integers
    from multibody_cli.output.channel import Array
    from multibody_cli.output.trajectory import Trajectory

BLOCK = 2**20
"""Approximate number of values of a block of rows."""

COLUMNS = 2**24
"""Approximate number of values of the columns that are in memory together."""


class Table(Immutable, eq=False):
    """A table of a run.

    Parameters
    ----------
    trajectory
        The run.
    scalars
        The columns; the first is `time`, and of a table of contacts the second is the index of the output instant.
    instants
        Rows of the output instants that the table contains, ascending.
    per
        Meaning of a row: `INSTANT` or `CONTACT`.
    on_values
        Called with the number of values read so far and their total.
    """

    trajectory: Trajectory
    scalars: tuple[ScalarChannel, ...]
    instants: Integers
    per: str = INSTANT
    on_values: Callable[[int, int], None] = lambda _done, _total: None

    @property
    def names(self) -> list[str]:
        """Names of the columns, as `mbsim` accepts them: `joints/hinge/force[fz]`."""
        return [str(scalar) for scalar in self.scalars]

    @property
    def units(self) -> list[str]:
        """Units of the columns; 1 for a number without unit."""
        return [scalar.units for scalar in self.scalars]

    @property
    def descriptions(self) -> list[str]:
        """Sentences that describe the channels of the columns."""
        return [self._describe[scalar.channel] for scalar in self.scalars]

    @cached_property
    def _describe(self) -> dict[str, str]:
        paths = dict.fromkeys(scalar.channel for scalar in self.scalars)
        return {path: self.trajectory.channel(path, slice(0, 0)).description for path in paths}

    @cached_property
    def rows(self) -> Integers:
        """Rows of the datasets, ascending: the instants, or the contacts of the instants."""
        if self.per == INSTANT or not len(self.instants):
            return self.instants
        offset = self.trajectory.channel(OFFSET).values
        parts = [np.arange(offset[row], offset[row + 1]) for row in self.instants]
        return np.concatenate(parts)

    def blocks(self, scalars: Sequence[ScalarChannel] = ()) -> Iterator[list[Array]]:
        """Read the table from its first to its last row, in blocks of bounded size.

        Parameters
        ----------
        scalars
            The columns; by default all.

        Yields
        ------
        list of (K,) array
            The next K values of each column.
        """
        scalars = scalars or self.scalars
        paths = dict.fromkeys(scalar.channel for scalar in scalars)
        width = sum(self.trajectory.values_per_row(path) for path in paths)
        if not len(self.rows):
            yield [self._values(scalar.channel, slice(0, 0))[:, scalar.column] for scalar in scalars]
            return
        first, end = int(self.rows[0]), int(self.rows[-1]) + 1
        length = max(1, BLOCK // width)
        for start in range(first, end, length):
            part = slice(start, min(start + length, end))
            low, high = np.searchsorted(self.rows, (part.start, part.stop))
            if low < high:
                wanted = self.rows[low:high] - start
                read = {path: self._values(path, part)[wanted] for path in paths}
                yield [read[scalar.channel][:, scalar.column] for scalar in scalars]

    def row_blocks(self) -> Iterator[list[Array]]:
        """Read all columns block by block, and report the progress."""
        done, total = 0, len(self.rows) * len(self.scalars)
        for block in self.blocks():
            yield block
            done += len(block[0]) * len(block)
            self.on_values(done, total)

    def whole_columns(self) -> Iterator[Array]:
        """Read column after column, (N,), a few at a time, and report the progress."""
        several = max(1, COLUMNS // max(1, len(self.rows)))
        for start in range(0, len(self.scalars), several):
            batch = self.scalars[start : start + several]
            columns = list(zip(*self.blocks(batch), strict=True))
            for index, parts in enumerate(columns, start + 1):
                yield np.concatenate(parts)
                self.on_values(index * len(self.rows), len(self.scalars) * len(self.rows))

    def _values(self, path: str, rows: slice) -> Array:
        """Read rows of a channel, (K, n); the time of a contact is that of its instant."""
        if self.per == CONTACT and path == "time":
            values = self.trajectory.time[self.trajectory.channel(INSTANT_OF_CONTACT, rows).values]
        else:
            values = self.trajectory.channel(path, rows).values
        return values.reshape(len(values), int(np.prod(values.shape[1:])))


def table_of(
    trajectory: Trajectory,
    words: Sequence[str],
    instants: Integers,
    on_values: Callable[[int, int], None] = lambda _done, _total: None,
) -> Table:
    """Make a table of channels of a run.

    Parameters
    ----------
    trajectory
        The run.
    words
        Names of channels, as in `output.selection.select`; without any, all channels with one row for each instant.
        If each name matches channels of contacts, the table has one row for each contact.
    instants
        Rows of the output instants that the table contains, ascending.
    on_values
        Called with the number of values read so far and their total.

    Raises
    ------
    ResultError
        A name matches nothing, or names match channels with different rows.
    """
    kinds = {word: row_kinds(trajectory, word) for word in words}
    per = CONTACT if words and all(CONTACT in found for found in kinds.values()) else INSTANT
    of_contacts = [word for word, found in kinds.items() if found == {CONTACT}]
    if per == INSTANT and of_contacts:
        others = ", ".join(word for word in words if word not in of_contacts)
        raise ResultError(
            f"{trajectory.source}: {', '.join(of_contacts)} has one row for each contact, {others} one for each output "
            "instant: export them to two files"
        )
    leading = ["time"] if per == INSTANT else []
    chosen = select(trajectory, [*leading, *(words or ["*"])], per)
    if per == CONTACT:
        chosen = [*select(trajectory, ["time"]), *select(trajectory, [INSTANT_OF_CONTACT], per), *chosen]
    return Table(trajectory, tuple(dict.fromkeys(chosen)), instants, per, on_values)
