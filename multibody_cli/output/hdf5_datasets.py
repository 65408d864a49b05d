"""Datasets of a result file that the HDF5 library extends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py
import numpy as np
from h5py import h5d, h5f, h5p

if TYPE_CHECKING:
    from multibody_cli.output.channel import Array

OPEN_AT_ONCE = 2000
"""Most datasets that stay open during a run: each takes 21 kB of memory, and opening one again takes 50 us."""


class Datasets:
    """Appends rows to the datasets of an open file.

    Parameters
    ----------
    file
        The file.
    direct
        Whether chunks are stored unfiltered, so that a new chunk can bypass the filters and caches of HDF5.
    """

    def __init__(self, file: h5py.File, direct: bool) -> None:
        self._file = file
        self._direct = direct
        self._open: dict[str, h5d.DatasetID] = {}
        # chunks are written whole, so a chunk cache would only use memory
        self._access = h5p.create(h5p.DATASET_ACCESS)
        self._access.set_chunk_cache(1, 0, 0.75)

    def append(self, path: str, chunk: int, first: int, values: Array) -> None:
        """Append rows (k, *shape) of one chunk, of `chunk` rows, to the first `first` rows of a dataset."""
        dataset = self._dataset(path)
        dataset.set_extent((first + len(values), *values.shape[1:]))
        if self._direct and first % chunk == 0:
            if len(values) < chunk:
                rest = np.zeros((chunk - len(values), *values.shape[1:]), values.dtype)
                values = np.concatenate([values, rest])
            dataset.write_direct_chunk((first, *(0 for _ in values.shape[1:])), values)
        else:
            h5py.Dataset(dataset)[first:] = values

    def flush(self) -> None:
        """Write the file."""
        h5f.flush(self._file.id)

    def _dataset(self, path: str) -> h5d.DatasetID:
        if path in self._open:
            return self._open[path]
        dataset = h5d.open(self._file.id, path.encode(), self._access)
        if len(self._open) < OPEN_AT_ONCE:
            self._open[path] = dataset
        return dataset
