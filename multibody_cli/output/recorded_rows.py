"""Rows that a result file holds already, for a run that continues it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from multibody_cli.errors import ResultError
from multibody_cli.output.channel import BOUND, CONTACT, INSTANT
from multibody_cli.output.contact_channels import OFFSET
from multibody_cli.output.hdf5_columns import DatasetColumn, Datasets, append_rows
from multibody_cli.output.result_file import OpenFile, ResultFile

ROWS_AT_ONCE = 1000


def holds_rows(path: Path, instants: int, checksums: Mapping[str, int]) -> bool:
    """Whether a result file holds the given output instants, with the CRC-32 of each dataset up to them.

    A file whose run was killed while it wrote a block may lack rows, or may not be readable at all.
    """
    try:
        result = ResultFile(path)
        with result.open() as file:
            contacts = int(file.numbers(OFFSET, instants, instants + 1)[0]) if OFFSET in result.rows else 0
            ends = {INSTANT: instants, BOUND: instants + 1, CONTACT: contacts}
            return instants <= result.rows["time"] and all(
                _checksum(file, name, ends[result.stored(name).per]) == found for name, found in checksums.items()
            )
    except ResultError as error:
        if isinstance(error.__cause__, BlockingIOError):
            raise
        return False


def copy_rows(path: Path, datasets: Datasets, columns: Sequence[DatasetColumn], instants: int, block_rows: int) -> None:
    """Append the first output instants of a result file to the columns of another.

    Parameters
    ----------
    path
        The file to read.
    datasets, columns
        As in `hdf5_columns.append_rows`.
    instants
        Number of output instants.
    block_rows
        Number of instants that are appended at once.

    Raises
    ------
    ResultError
        A column is missing in the file, or has another shape there.
    """
    result = ResultFile(path)
    for column in columns:
        series, found = column.series, result.stored(column.series.path)
        if found.shape[1:] != series.shape or found.per != series.channel.per:
            raise ResultError(f"{path}: {series.path} has another shape than in its scene; run the scene again")
    with result.open() as file:
        for first in range(0, instants, block_rows):
            _copy_range(result, file, datasets, columns, first, min(first + block_rows, instants))


def _copy_range(
    result: ResultFile, file: OpenFile, datasets: Datasets, columns: Sequence[DatasetColumn], first: int, last: int
) -> None:
    bounds = file.numbers(OFFSET, first, last + 1) if OFFSET in result.rows else np.zeros(last - first + 1, np.int64)
    rows = {INSTANT: (first, last), BOUND: (first + 1, last + 1), CONTACT: (int(bounds[0]), int(bounds[-1]))}
    append_rows(
        datasets,
        columns,
        lambda column: file.numbers(column.series.path, *rows[column.series.channel.per]),
        last - first,
        np.repeat(np.arange(first, last), np.diff(bounds)),
    )


def _checksum(file: OpenFile, path: str, rows: int) -> int:
    """Return the CRC-32 of the first rows of a dataset."""
    checksum = 0
    for first in range(0, rows, ROWS_AT_ONCE):
        part = np.ascontiguousarray(file.numbers(path, first, min(first + ROWS_AT_ONCE, rows)))
        checksum = crc32(part.data, checksum)
    return checksum
