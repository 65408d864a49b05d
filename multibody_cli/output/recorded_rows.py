"""Rows that a result file holds already, for a run that continues it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

import h5py
import numpy as np

from multibody_cli.output.channel import BOUND, CONTACT, INSTANT
from multibody_cli.output.contact_channels import OFFSET
from multibody_cli.output.hdf5_columns import append_rows
from multibody_cli.output.wholeness import row_kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from multibody_cli.output.hdf5_columns import Column

ROWS_AT_ONCE = 1000


def holds_rows(path: Path, instants: int, checksums: dict[str, int]) -> bool:
    """Whether a result file holds the given output instants, with the CRC-32 of each dataset up to them.

    A file whose run was killed while it wrote a block may lack rows, or may not be readable at all.
    """
    try:
        with h5py.File(path, "r") as file:
            ends = {INSTANT: instants, BOUND: instants + 1, CONTACT: _contacts_before(file, instants)}
            return all(_checksum(file[name], ends[row_kind(file, name)]) == found for name, found in checksums.items())
    except BlockingIOError:
        raise
    except (OSError, RuntimeError, LookupError, ValueError):
        return False


def copy_rows(path: Path, columns: Sequence[Column], instants: int, block_rows: int, direct: bool) -> None:
    """Append the first output instants of a result file to the columns of another.

    Parameters
    ----------
    path
        The file to read.
    columns, direct
        As in `hdf5_columns.append_rows`.
    instants
        Number of output instants.
    block_rows
        Number of instants that are appended at once.
    """
    with h5py.File(path, "r") as file:
        for first in range(0, instants, block_rows):
            _copy_range(file, columns, first, min(first + block_rows, instants), direct)


def _copy_range(file: Any, columns: Sequence[Column], first: int, last: int, direct: bool) -> None:
    bounds = file[OFFSET][first : last + 1] if OFFSET in file else np.zeros(last - first + 1, np.int64)
    rows = {
        INSTANT: slice(first, last),
        BOUND: slice(first + 1, last + 1),
        CONTACT: slice(int(bounds[0]), int(bounds[-1])),
    }
    append_rows(
        columns,
        lambda column: file[column.series.path][rows[column.series.channel.per]],
        last - first,
        np.repeat(np.arange(first, last), np.diff(bounds)),
        direct,
    )


def _contacts_before(file: Any, instants: int) -> int:
    """Return the number of contacts of the first output instants."""
    return int(file[OFFSET][instants]) if OFFSET in file else 0


def _checksum(dataset: Any, rows: int) -> int:
    """Return the CRC-32 of the first rows of a dataset."""
    if dataset.shape[0] < rows:
        raise ValueError(f"{dataset.name} is too short")
    checksum = 0
    for first in range(0, rows, ROWS_AT_ONCE):
        part = np.ascontiguousarray(dataset[first : min(first + ROWS_AT_ONCE, rows)])
        checksum = crc32(part.data, checksum)
    return checksum
