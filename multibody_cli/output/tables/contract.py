"""What a format of tables provides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from multibody_cli.output.channel import Array


class Table(Protocol):
    """A table of a run, or of a sweep: names, units and descriptions of its columns, and their values.

    Values are read in blocks of rows, with or without a report of the progress, or column by column.
    """

    @property
    def names(self) -> list[str]:
        """Names of the columns."""

    @property
    def units(self) -> list[str]:
        """Units of the columns; 1 for plain numbers."""

    @property
    def descriptions(self) -> list[str]:
        """Sentences that describe the columns."""

    def blocks(self) -> Iterator[list[Array]]:
        """Read blocks of rows: the next K values of each column."""

    def row_blocks(self) -> Iterator[list[Array]]:
        """Read blocks of rows, and report the progress."""

    def whole_columns(self) -> Iterator[Array]:
        """Read column after column, (N,)."""


@dataclass(frozen=True)
class Format:
    """A format of tables.

    Parameters
    ----------
    write
        Writes a table to a file that exists and is empty.
    require
        Raises an `ArgumentError` if a package that the format needs is not installed.
    """

    write: Callable[[Table, Path], None]
    require: Callable[[], None] = lambda: None
