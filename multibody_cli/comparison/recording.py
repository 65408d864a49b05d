"""Recording: an open result file that is read slab by slab."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import h5py
import numpy as np

from multibody_cli.errors import ResultError
from multibody_cli.output.channel import CONTACT, INSTANT
from multibody_cli.output.contact_channels import INSTANT_OF_CONTACT
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.output.wholeness import complete_rows, row_kind

if TYPE_CHECKING:
    from types import TracebackType

    from multibody_cli.model import Integers
    from multibody_cli.output.channel import Array

SLAB_BYTES = 2**22
"""Size of a slab of a dataset, bytes; at least one chunk."""


@dataclass(frozen=True)
class Dataset:
    """Attributes of a dataset with one row for each instant or contact.

    `role`, `same`, `per`, `rtol` and `atol` as in `output.channel.Channel`; the tolerances are None if the file has
    none.
    """

    path: str
    shape: tuple[int, ...]
    units: str
    role: str
    same: str
    rtol: float | None
    atol: float | None
    number_type: np.dtype[Any]
    rows_of_a_chunk: int = 1
    per: str = INSTANT

    @property
    def rows_of_a_slab(self) -> int:
        """Number of rows of a slab: whole chunks, so that no chunk is decompressed twice."""
        row = self.number_type.itemsize * int(np.prod(self.shape[1:], dtype=np.int64))
        chunks = SLAB_BYTES // max(1, row * self.rows_of_a_chunk)
        return max(1, chunks) * self.rows_of_a_chunk


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
        The file cannot be read or is not a result file; `read` raises it for a damaged dataset.
    """

    def __init__(self, path: Path) -> None:
        trajectory = read_trajectory(path)
        self.path = path
        self.attributes = trajectory.attributes
        self.scene_yaml = trajectory.scene_yaml
        self.bodies = trajectory.bodies
        self.com = trajectory.com
        self.certificate = trajectory.certificate
        self._file = h5py.File(path, "r")
        with self._translating_errors("its datasets"):
            described = [self._describe(name) for name in trajectory.paths]
            self.instants = complete_rows(self._file)["time"]
        self.datasets = {one.path: one for one in described if one.per == INSTANT}
        # the instants of contacts are indices, not results
        self.contacts = {one.path: one for one in described if one.per == CONTACT and one.path != INSTANT_OF_CONTACT}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, path: str, start: int, stop: int) -> Array:
        """Read the rows `start` to `stop` - 1 of a dataset."""
        with self._translating_errors(path):
            values: Array = self._file[path][start:stop]
        return values

    def take(self, path: str, rows: Rows) -> Array:
        """Read selected rows of a dataset; the whole range is read because strided reads of HDF5 are slow."""
        every: Array = self.read(path, rows.start, rows.stop)
        return every if len(rows.which) == len(every) else every[rows.which]

    def time_at(self, row: int) -> float:
        """Read the time of an instant, s."""
        return float(self.read("time", row, row + 1)[0])

    def lacks(self, paths: Sequence[str]) -> list[str]:
        """Return the datasets that the file does not have."""
        return [path for path in paths if path not in self._file]

    def labels(self, path: str, axis: int) -> tuple[str, ...]:
        """Return the labels of an axis after time; indices if the file has none."""
        length = self._file[path].shape[axis]
        with self._translating_errors(path):
            scales = self._file[path].dims[axis]
            found = tuple(scales[0].asstr()[:]) if len(scales) else ()
        return found if len(found) == length else tuple(str(place) for place in range(length))

    def is_of_bodies(self, path: str) -> bool:
        """Whether the second axis of a dataset is the axis of bodies."""
        if self.datasets[path].shape[1:2] != (len(self.bodies),):
            return False
        with self._translating_errors(path):
            scales = self._file[path].dims[1]
            return len(scales) > 0 and bool(scales[0] == self._file["bodies/name"])

    @contextmanager
    def _translating_errors(self, where: str) -> Iterator[None]:
        """Translate HDF5 errors of a damaged file into a `ResultError` with a remedy."""
        try:
            yield
        except (OSError, RuntimeError, LookupError, ValueError, TypeError) as error:
            raise ResultError(f"{self.path} is damaged at {where} ({error}); run the scene again") from error

    def _describe(self, path: str) -> Dataset:
        dataset = self._file[path]
        about = dataset.attrs
        return Dataset(
            path=path,
            shape=dataset.shape,
            units=str(about.get("units", "")),
            role=str(about.get("role", "")),
            same=str(about.get("same", "")),
            rtol=float(about["rtol"]) if "rtol" in about else None,
            atol=float(about["atol"]) if "atol" in about else None,
            number_type=dataset.dtype,
            rows_of_a_chunk=dataset.chunks[0] if dataset.chunks else 1,
            per=row_kind(self._file, path),
        )
