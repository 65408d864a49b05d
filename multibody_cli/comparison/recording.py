"""Recording: an open result file that is read slab by slab."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from multibody_cli.output.channel import CONTACT, INSTANT
from multibody_cli.output.channels import declaration_of
from multibody_cli.output.contact_channels import INSTANT_OF_CONTACT
from multibody_cli.output.trajectory import open_result

if TYPE_CHECKING:
    from types import TracebackType

    from multibody_cli.model import Integers
    from multibody_cli.output.channel import Array


class Rows(NamedTuple):
    """Rows of a file: the offsets `which` from `start`, within the range `start` to `stop`."""

    start: int
    stop: int
    which: Integers


class Recording(AbstractContextManager["Recording"]):
    """A result file, open for reading until the end of a `with` block.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ResultError
        The file cannot be read or is not a result file; all methods raise it for a damaged dataset.
    """

    def __init__(self, path: Path) -> None:
        result = open_result(path)
        self.path = path
        self.attributes = result.attributes
        self.scene_yaml = result.scene_yaml
        self.bodies = result.bodies
        self.com = result.com
        self._file = result.open()
        self.certificate = self._file.certificate()
        described = [self._file.describe(name) for name in result.rows]
        self.instants = result.rows["time"]
        self.datasets = {one.path: one for one in described if one.per == INSTANT}
        # the instants of contacts are indices, not results
        self.contacts = {one.path: one for one in described if one.per == CONTACT and one.path != INSTANT_OF_CONTACT}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.__exit__(kind, error, trace)

    def read(self, path: str, start: int, stop: int) -> Array:
        """Read the rows `start` to `stop` - 1 of a dataset."""
        return self._file.numbers(path, start, stop)

    def take(self, path: str, rows: Rows) -> Array:
        """Read selected rows of a dataset; the whole range is read because strided reads of HDF5 are slow."""
        every: Array = self.read(path, rows.start, rows.stop)
        return every if len(rows.which) == len(every) else every[rows.which]

    def time_at(self, row: int) -> float:
        """Read the time of an instant, s."""
        return float(self.read("time", row, row + 1)[0])

    def lacks(self, paths: Sequence[str]) -> list[str]:
        """Return the datasets of contacts that the file does not have."""
        return [path for path in paths if path not in self.contacts]

    def labels(self, path: str, axis: int) -> tuple[str, ...]:
        """Return the labels of an axis after time; indices if the file has none."""
        return self._file.labels(path)[axis - 1]

    def is_of_bodies(self, path: str) -> bool:
        """Whether the second axis of a dataset is the axis of bodies."""
        declaration = declaration_of(path)
        return declaration is not None and declaration.dimensions[:1] == ("body",)
