"""Tables of a run or a sweep as files of other programs, by the suffix of the file.

    csv        comma-separated values (RFC 4180, UTF-8): names with units, and numbers that read back to the same bits
    parquet    columns with units and descriptions as metadata, which pandas returns as `DataFrame.attrs`
    mat        MATLAB 5: a variable for each column, and structs `units` and `channels` of the same fields
    npz        NumPy archives: one array for each column, and the arrays `columns` and `units`
    sto, mot   storages of OpenSim: a header, then lines with tabs; numbers in SI units that read back to the same bits

To add a format, add its entry to `FORMATS`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol
from zipfile import ZipFile, ZipInfo

import numpy as np

from multibody_cli.errors import ArgumentError, series
from multibody_cli.immutable import Immutable
from multibody_cli.output.channel import Array
from multibody_cli.output.file_replacement import replacement

LONGEST = 63
"""Maximum length of a name in MATLAB (`namelengthmax`)."""

_ATTRIBUTES = "PANDAS_ATTRS"
"""Key of the metadata from which pandas reads `DataFrame.attrs`, as JSON."""


class TableContent(Protocol):
    """A table of a run, or of a sweep: names, units and descriptions of its columns, and their values.

    Values are read in blocks of rows, with or without a report of the progress, or column by column.
    """

    @property
    def names(self) -> list[str]:
        """Names of the columns."""

    @property
    def units(self) -> list[str]:
        """Units of the columns; 1 for plain numbers."""

    @property
    def descriptions(self) -> list[str]:
        """Sentences that describe the columns."""

    def blocks(self) -> Iterator[list[Array]]:
        """Read blocks of rows: the next K values of each column."""

    def row_blocks(self) -> Iterator[list[Array]]:
        """Read blocks of rows, and report the progress."""

    def whole_columns(self) -> Iterator[Array]:
        """Read column after column, (N,)."""


Column = tuple[str, str, str, Array]
"""Name, unit, description and values of a column."""


class ColumnTable(Immutable, eq=False):
    """Columns as a `TableContent`."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [name for name, *_ in self.columns]

    @property
    def units(self) -> list[str]:
        """Units of the columns."""
        return [unit for _, unit, *_ in self.columns]

    @property
    def descriptions(self) -> list[str]:
        """Sentences that describe the columns."""
        return [text for _, _, text, _ in self.columns]

    def blocks(self) -> Iterator[list[Array]]:
        """Read the table as one block."""
        yield [values for *_, values in self.columns]

    row_blocks = blocks

    def whole_columns(self) -> Iterator[Array]:
        """Read column after column."""
        return (values for *_, values in self.columns)


class TableFormat(Immutable):
    """A format of tables.

    Parameters
    ----------
    write
        Writes a table to a file that exists and is empty.
    require
        Raises an `ArgumentError` if a package that the format needs is not installed.
    """

    write: Callable[[TableContent, Path], None]
    require: Callable[[], None] = lambda: None

    def replace(self, table: TableContent, path: Path) -> None:
        """Write a table to a file, or replace the file by it."""
        with replacement(path) as part:
            self.write(table, part)


def write_csv(table: TableContent, path: Path) -> None:
    """Write a table; a float is its shortest decimal form that reads back as the same float."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f"{name} ({unit})" for name, unit in zip(table.names, table.units, strict=True)])
        for block in table.row_blocks():
            writer.writerows(zip(*(column.tolist() for column in block), strict=True))


def write_storage(table: TableContent, path: Path) -> None:
    """Write a table of numbers; a float is its shortest decimal form that reads back as the same float."""
    count = 0
    for block in table.blocks():
        count += len(block[0])
        if text := next(
            (name for name, column in zip(table.names, block, strict=True) if column.dtype.kind == "U"), ""
        ):
            raise ArgumentError(f"{path.suffix} files have numbers only, and `{text}` is text: write .csv")
    sizes = f"nRows={count}\nnColumns={len(table.names)}\ninDegrees=no"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(f"{path.stem}\nversion=1\n{sizes}\nendheader\n" + "\t".join(table.names) + "\n")
        for block in table.row_blocks():
            rows = zip(*(column.tolist() for column in block), strict=True)
            file.writelines("\t".join(map(repr, row)) + "\n" for row in rows)


def require_parquet() -> None:
    """Check that pyarrow is installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise ArgumentError("Parquet files need pyarrow: pip install 'multibody-cli[parquet]'") from None


def write_parquet(table: TableContent, path: Path) -> None:
    """Write a table; the fields have the metadata `units` and `description`."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    about = list(zip(table.names, table.units, table.descriptions, strict=True))
    attributes = {
        "units": {name: unit for name, unit, _ in about},
        "descriptions": {name: text for name, _, text in about},
    }
    types = [
        pyarrow.string() if column.dtype.kind == "U" else pyarrow.from_numpy_dtype(column.dtype)
        for column in next(iter(table.blocks()))
    ]
    fields = [
        pyarrow.field(name, kind, metadata={"units": unit, "description": text})
        for (name, unit, text), kind in zip(about, types, strict=True)
    ]
    schema = pyarrow.schema(fields, metadata={_ATTRIBUTES: json.dumps(attributes, ensure_ascii=False)})
    with ParquetWriter(path, schema) as writer:
        for block in table.row_blocks():
            writer.write_table(pyarrow.Table.from_arrays([pyarrow.array(column) for column in block], schema=schema))


def write_matlab(table: TableContent, path: Path) -> None:
    """Write a table, a variable at a time."""
    from scipy.io import savemat

    names = variable_names(table.names)
    with path.open("wb") as file:
        for name, values in zip(names, table.whole_columns(), strict=True):
            savemat(file, {name: values}, oned_as="column")
        about = {"units": table.units, "channels": table.names}
        for name, texts in about.items():
            savemat(file, {name: dict(zip(names, texts, strict=True))}, long_field_names=True)


def variable_names(channels: Iterable[str]) -> list[str]:
    """Return a different MATLAB name for each channel: `joints_hinge_force_fz` for `joints/hinge/force[fz]`."""
    taken: dict[str, None] = {}
    for channel in channels:
        plain = re.sub(r"[^0-9A-Za-z]+", "_", channel).strip("_")
        name, number = plain[:LONGEST], 1
        while name in taken:
            number += 1
            name = f"{plain[: LONGEST - len(f'_{number}')]}_{number}"
        taken[name] = None
    return list(taken)


def write_archive(table: TableContent, path: Path) -> None:
    """Write a table, an array at a time; `numpy.load` needs no pickles."""
    with ZipFile(path, "w") as archive:
        _add_array(archive, "columns", np.array(table.names))
        _add_array(archive, "units", np.array(table.units))
        for name, values in zip(table.names, table.whole_columns(), strict=True):
            _add_array(archive, name, values)


def _add_array(archive: ZipFile, name: str, values: Array) -> None:
    # a ZipInfo has no time of writing
    with archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True) as file:
        np.lib.format.write_array(file, values, allow_pickle=False)


FORMATS = {
    "csv": TableFormat(write_csv),
    "parquet": TableFormat(write_parquet, require_parquet),
    "mat": TableFormat(write_matlab),
    "npz": TableFormat(write_archive),
    "sto": TableFormat(write_storage),
    "mot": TableFormat(write_storage),
}
"""The formats, by the suffix of a file."""


def format_of(path: Path, beside: Sequence[str] = (), hint: str = "") -> TableFormat:
    """Return the format of a file by its suffix; messages list those `beside`, of other files of a command, and a hint.

    Raises
    ------
    ArgumentError
        The suffix is that of no format, or a package that the format needs is not installed.
    """
    found = FORMATS.get(path.suffix.lower().removeprefix("."))
    if found is None:
        known = series([*beside, *(f".{one}" for one in FORMATS)], "or")
        raise ArgumentError(f"{path}: expected a name that ends in {known}{hint}")
    found.require()
    return found
