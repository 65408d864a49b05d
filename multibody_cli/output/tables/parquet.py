"""Parquet: columns with units and descriptions as metadata, which pandas returns as `DataFrame.attrs`."""

from __future__ import annotations

import json
from pathlib import Path

from multibody_cli.errors import ArgumentError
from multibody_cli.output.tables.contract import Format, Table

_ATTRIBUTES = "PANDAS_ATTRS"
"""Key of the metadata from which pandas reads `DataFrame.attrs`, as JSON."""


def require() -> None:
    """Check that pyarrow is installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise ArgumentError("Parquet files need pyarrow: pip install 'multibody-cli[parquet]'") from None


def write(table: Table, path: Path) -> None:
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


FORMAT = Format(write, require)
