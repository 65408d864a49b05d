"""NumPy archives: one array for each column, and the arrays `columns` and `units` of their names and units."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile, ZipInfo

import numpy as np

from multibody_cli.output.tables.contract import Format, Table

if TYPE_CHECKING:
    from multibody_cli.output.channel import Array


def write(table: Table, path: Path) -> None:
    """Write a table, an array at a time; `numpy.load` needs no pickles."""
    with ZipFile(path, "w") as archive:
        _add(archive, "columns", np.array(table.names))
        _add(archive, "units", np.array(table.units))
        for name, values in zip(table.names, table.whole_columns(), strict=True):
            _add(archive, name, values)


def _add(archive: ZipFile, name: str, values: Array) -> None:
    # a ZipInfo has no time of writing
    with archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True) as file:
        np.lib.format.write_array(file, values, allow_pickle=False)


FORMAT = Format(write)
