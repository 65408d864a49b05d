"""What a format of tables provides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from multibody_cli.output.tables.table import Table


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
