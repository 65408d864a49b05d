"""Appending of blocks to datasets; the bytes of the file do not depend on the division of a run into blocks.

Rows are written in pieces that do not cross a chunk, and a new chunk is written whole.  The position of a chunk in the
file depends on the order in which chunks are allocated and on the flushes in between, since HDF5 releases reserved
space at a flush.  Datasets of contacts can begin a chunk at any instant.  Pieces are therefore written in the order of
the instants of their first rows, with a flush after each such instant, independently of the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import h5py
import numpy as np
from h5py import h5d, h5f

from multibody_cli.output.channel import CONTACT

if TYPE_CHECKING:
    from multibody_cli.model import Integers
    from multibody_cli.output.channel import Array
    from multibody_cli.output.series import Series


@dataclass
class Column:
    """An open dataset, the series that provides its rows, its number of rows per chunk, and the CRC-32 of its rows."""

    series: Series
    dataset: h5d.DatasetID
    chunk: int
    checksum: int = 0


class Piece(NamedTuple):
    """Rows of a block within one chunk: instant of the first row, index of the column, and range of rows."""

    instant: int
    column: int
    rows: slice


def append_lead(columns: Sequence[Column], direct: bool) -> None:
    """Write the rows before the first instant."""
    for column in columns:
        if len(column.series.leading_rows):
            _append(column, column.series.leading_rows, direct)


def append_rows(
    columns: Sequence[Column],
    read: Callable[[Column], Array],
    instants: int,
    instant_of_contact: Integers,
    direct: bool,
) -> None:
    """Append rows to all columns, and flush their file.

    Parameters
    ----------
    columns
        Columns of one file.
    read
        Returns the new rows of a column.
    instants
        Number of new output instants.
    instant_of_contact
        (N,) index of the output instant of each new contact.
    direct
        Whether chunks are stored unfiltered, so that a new chunk can bypass the filters and caches of HDF5.
    """
    rows = [read(column) for column in columns]  # once: rows of contacts are copied out of the block
    pieces = [piece for k, one in enumerate(columns) for piece in _pieces(k, one, instants, instant_of_contact)]
    for _, begun in groupby(sorted(pieces, key=lambda piece: piece[:2]), key=lambda piece: piece.instant):
        for piece in begun:
            _append(columns[piece.column], rows[piece.column][piece.rows], direct)
        h5f.flush(columns[0].dataset)


def _pieces(number: int, column: Column, instants: int, instant_of_contact: Integers) -> Iterator[Piece]:
    """Divide the new rows of a column at the boundaries of its chunks."""
    series, row = column.series, int(column.dataset.shape[0])
    of_contacts = series.channel.per == CONTACT
    count = len(instant_of_contact) if of_contacts else instants
    start = 0
    while start < count:
        stop = min(count, start + column.chunk - (row + start) % column.chunk)
        instant = int(instant_of_contact[start]) if of_contacts else row + start - len(series.leading_rows)
        yield Piece(instant, number, slice(start, stop))
        start = stop


def _append(column: Column, rows: Array, direct: bool) -> None:
    """Append rows of one chunk."""
    dataset, row = column.dataset, int(column.dataset.shape[0])
    values = np.ascontiguousarray(rows, dtype=column.series.channel.dtype)
    column.checksum = crc32(values.data, column.checksum)
    dataset.set_extent((row + len(values), *values.shape[1:]))
    if direct and row % column.chunk == 0:
        if len(values) < column.chunk:
            rest = np.zeros((column.chunk - len(values), *values.shape[1:]), values.dtype)
            values = np.concatenate([values, rest])
        dataset.write_direct_chunk((row, *(0 for _ in values.shape[1:])), values)
    else:
        h5py.Dataset(dataset)[row:] = values
