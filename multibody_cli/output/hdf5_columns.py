"""Datasets that grow, block by block, such that their bytes do not depend on how a run was cut into blocks.

Rows are written in pieces, each of them within one chunk, and chunks are begun whole.  What is left to chance is where
in the file a chunk lies: that follows the order in which chunks are begun, and what was flushed in between, for HDF5
gives up room that it holds ready when it flushes.  Datasets of contacts begin theirs at any instant, so pieces are
written in the order of the instants of their first rows, and flushed after each such instant, whatever the blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import h5py
import numpy as np
from h5py import h5d, h5f

from multibody_cli.output.channel import CONTACT

if TYPE_CHECKING:
    from multibody_cli.output.channel import Array
    from multibody_cli.output.history import Block
    from multibody_cli.output.series import Series


class Column(NamedTuple):
    """A dataset that is being written, where its rows come from, and how many of them a chunk has."""

    series: Series
    dataset: h5d.DatasetID
    chunk: int


class Piece(NamedTuple):
    """Rows of a block that lie in one chunk: the instant of the first, the column by its number, and which rows."""

    instant: int
    column: int
    rows: slice


def append_lead(columns: Sequence[Column], direct: bool) -> None:
    """Write the rows that stand before the first instant."""
    for column in columns:
        if len(column.series.lead):
            _append(column, column.series.lead, direct)


def append_block(columns: Sequence[Column], block: Block, direct: bool) -> None:
    """Append a block to all columns, and flush their file.

    Parameters
    ----------
    columns
        Of one file.
    block
        Any number of output instants.
    direct
        Whether a chunk is stored as it lies in memory, so that a new one may go past HDF5's filters and caches.
    """
    pieces = (piece for number, column in enumerate(columns) for piece in _pieces(number, column, block))
    for _, begun in groupby(sorted(pieces, key=lambda piece: piece[:2]), key=lambda piece: piece.instant):
        for piece in begun:
            column = columns[piece.column]
            _append(column, column.series.read(block)[piece.rows], direct)
        h5f.flush(columns[0].dataset)


def _pieces(number: int, column: Column, block: Block) -> Iterator[Piece]:
    """Cut the rows that a column gets from a block at the bounds of its chunks."""
    series, row = column.series, int(column.dataset.shape[0])
    of_contacts = series.channel.per == CONTACT
    count = len(block.contacts.instant if of_contacts else block.samples.time)
    start = 0
    while start < count:
        stop = min(count, start + column.chunk - (row + start) % column.chunk)
        instant = int(block.contacts.instant[start]) if of_contacts else row + start - len(series.lead)
        yield Piece(instant, number, slice(start, stop))
        start = stop


def _append(column: Column, rows: Array, direct: bool) -> None:
    """Append rows that lie in one chunk."""
    dataset, row = column.dataset, int(column.dataset.shape[0])
    values = np.ascontiguousarray(rows, dtype=column.series.channel.dtype)
    dataset.set_extent((row + len(values), *values.shape[1:]))
    if direct and row % column.chunk == 0:
        if len(values) < column.chunk:
            rest = np.zeros((column.chunk - len(values), *values.shape[1:]), values.dtype)
            values = np.concatenate([values, rest])
        dataset.write_direct_chunk((row, *(0 for _ in values.shape[1:])), values)
    else:
        h5py.Dataset(dataset)[row:] = values
