"""Appending of blocks to datasets; the bytes of the file do not depend on the division of a run into blocks.

Rows are written in pieces that do not cross a chunk, and a new chunk is written whole.  The position of a chunk in the
file depends on the order in which chunks are allocated and on the flushes in between, since HDF5 releases reserved
space at a flush.  Datasets of contacts can begin a chunk at any instant.  Pieces are therefore written in the order of
the instants of their first rows, with a flush after each such instant, independently of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import h5py
import numpy as np
from h5py import h5d, h5f, h5p

from multibody_cli.output.channel import CONTACT

if TYPE_CHECKING:
    from multibody_cli.model import Integers
    from multibody_cli.output.channel import Array
    from multibody_cli.output.series import Series


@dataclass(slots=True)
class DatasetColumn:
    """A dataset: the series that provides its rows, its number of rows per chunk, and the CRC-32 of its rows."""

    series: Series
    chunk: int
    rows: int = 0
    checksum: int = 0

    @property
    def per(self) -> str:
        """Meaning of its rows, one of `channel.ROWS`."""
        return self.series.channel.per


def append_lead(datasets: Datasets, columns: Sequence[DatasetColumn]) -> None:
    """Write the rows before the first instant."""
    for column in columns:
        if len(column.series.leading_rows):
            _append(datasets, column, column.series.leading_rows)


def append_rows(
    datasets: Datasets,
    columns: Sequence[DatasetColumn],
    read: Callable[[DatasetColumn], Array],
    instants: int,
    instant_of_contact: Integers,
) -> None:
    """Append rows to all columns, and flush their file.

    Parameters
    ----------
    datasets, columns
        The file and its columns.
    read
        Returns the new rows of a column.
    instants
        Number of new output instants.
    instant_of_contact
        (N,) index of the output instant of each new contact.
    """
    rows = [read(column) for column in columns]  # once: rows of contacts are copied out of the block
    begun: dict[int, dict[str, list[slice]]] = {}  # columns with rows of the same meaning grow alike
    for one in {column.per: column for column in columns}.values():
        for instant, piece in _pieces(one, instants, instant_of_contact):
            begun.setdefault(instant, {}).setdefault(one.per, []).append(piece)
    for instant in sorted(begun):
        for column, values in zip(columns, rows, strict=True):
            for piece in begun[instant].get(column.per, ()):
                _append(datasets, column, values[piece])
        datasets.flush()


def _pieces(column: DatasetColumn, instants: int, instant_of_contact: Integers) -> Iterator[tuple[int, slice]]:
    """Divide the new rows of a column at the boundaries of its chunks; yield the first instant of each piece too."""
    of_contacts = column.per == CONTACT
    count = len(instant_of_contact) if of_contacts else instants
    start = 0
    while start < count:
        stop = min(count, start + column.chunk - (column.rows + start) % column.chunk)
        before = column.rows - len(column.series.leading_rows)
        yield int(instant_of_contact[start]) if of_contacts else before + start, slice(start, stop)
        start = stop


def _append(datasets: Datasets, column: DatasetColumn, rows: Array) -> None:
    """Append rows of one chunk."""
    values = np.ascontiguousarray(rows, dtype=column.series.channel.dtype)
    datasets.append(column.series.path, column.chunk, column.rows, values)
    column.rows += len(values)
    column.checksum = crc32(values.data, column.checksum)


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
