"""Recording: a result file that is open, to be read slab by slab."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from multibody_cli.errors import ResultError
from multibody_cli.output.channel import CONTACT, INSTANT
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.output.wholeness import whole_rows

if TYPE_CHECKING:
    from types import TracebackType

    from multibody_cli.output.channel import Array

SLAB_BYTES = 2**22
"""Bytes that are read of a dataset at once."""


@dataclass(frozen=True)
class Dataset:
    """What the file says of a dataset with a row for each instant (or contact).

    `role`, `same`, `per`, `rtol` and `atol` as in `output.channel.Channel`; the tolerances are None where the file has
    none.
    """

    path: str
    shape: tuple[int, ...]
    units: str
    role: str
    same: str
    per: str
    rtol: float | None
    atol: float | None
    number_type: np.dtype[Any]

    @property
    def rows_of_a_slab(self) -> int:
        """How many rows to read at once."""
        return max(1, SLAB_BYTES // max(1, self.number_type.itemsize * int(np.prod(self.shape[1:], dtype=np.int64))))


class Recording(AbstractContextManager["Recording"]):
    """A result file, open for reading until the end of a `with` block.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ResultError
        The file cannot be read, or is no result file; also from `read`, where it is damaged further in.
    """

    def __init__(self, path: Path) -> None:
        trajectory = read_trajectory(path)
        self.path = path
        self.attributes = trajectory.attributes
        self.scene_yaml = trajectory.scene_yaml
        self.bodies = trajectory.bodies
        self.com = trajectory.com
        self._file = h5py.File(path, "r")
        described = [self._describe(name) for name in trajectory.paths]
        self.datasets = {dataset.path: dataset for dataset in described if dataset.per == INSTANT}
        # but for what only says whose contacts they are
        self.contacts = {one.path: one for one in described if one.per == CONTACT and one.role != "instant"}
        self.instants = whole_rows(self._file)["time"]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, path: str, rows: slice) -> Array:
        """Read rows of a dataset."""
        try:
            values: Array = self._file[path][rows]
        except (OSError, RuntimeError) as error:
            raise ResultError(f"{self.path} is damaged at {path} ({error}); run the scene again") from error
        return values

    def labels(self, path: str, axis: int) -> tuple[str, ...]:
        """Return the labels of an axis after time; numbers where the file has none."""
        length = self._file[path].shape[axis]
        scales = self._file[path].dims[axis]
        found = tuple(scales[0].asstr()[:]) if len(scales) else ()
        return found if len(found) == length else tuple(str(place) for place in range(length))

    def is_of_bodies(self, path: str) -> bool:
        """Whether a dataset has an axis of bodies."""
        dataset = self._file[path]
        return dataset.ndim > 1 and self.labels(path, 1) == self.bodies and len(dataset.dims[1]) > 0

    def _describe(self, path: str) -> Dataset:
        dataset = self._file[path]
        about = dataset.attrs
        return Dataset(
            path=path,
            shape=dataset.shape,
            units=str(about.get("units", "")),
            role=str(about.get("role", "")),
            same=str(about.get("same", "")),
            per=str(about.get("per", INSTANT)),
            rtol=float(about["rtol"]) if "rtol" in about else None,
            atol=float(about["atol"]) if "atol" in about else None,
            number_type=dataset.dtype,
        )
