"""Comma-separated values (RFC 4180, UTF-8): names with units, and numbers that read back to the same bits."""

from __future__ import annotations

import csv
from pathlib import Path

from multibody_cli.output.tables.contract import Format, Table


def write(table: Table, path: Path) -> None:
    """Write a table; a float is its shortest decimal form that reads back as the same float."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f"{name} ({unit})" for name, unit in zip(table.names, table.units, strict=True)])
        for block in table.row_blocks():
            writer.writerows(zip(*(column.tolist() for column in block), strict=True))


FORMAT = Format(write)
