"""Charts: the numbers of a study as a table or as a picture, by the suffix of the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from multibody_cli.errors import ArgumentError, series
from multibody_cli.pictures.style import FORMATS, require_format, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Found = TypeVar("Found")


class Chart(Generic[Found]):
    """A study that writes its numbers as a table, and draws them.

    Parameters
    ----------
    write_table
        Writes a table of comma-separated values.
    draw
        Draws a picture.
    """

    def __init__(self, write_table: Callable[[Found, Path], None], draw: Callable[[Found], Figure]) -> None:
        def write_picture(found: Found, path: Path) -> None:
            save(draw(found), path)

        self._writers = {".csv": write_table, **dict.fromkeys(FORMATS, write_picture)}

    def require(self, path: Path) -> None:
        """Check that a file can be written, before anything is computed for it.

        Raises
        ------
        ArgumentError
            No writer has this suffix, or matplotlib is not installed or misconfigured.
        """
        suffix = path.suffix.lower()
        if suffix not in self._writers:
            raise ArgumentError(f"{path}: expected a name that ends in {series(list(self._writers), 'or')}")
        if suffix in FORMATS:
            require_format(path)

    def write(self, found: Found, path: Path) -> None:
        """Write a table or a picture."""
        self._writers[path.suffix.lower()](found, path)
