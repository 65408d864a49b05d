"""Markers in `.trc` files, which systems of motion capture write.

    PathFileType  4  (X/Y/Z)  walk.trc
    DataRate  CameraRate  NumFrames  NumMarkers  Units  ...
    100       100         200        2           mm     ...
    Frame#  Time  ankle          knee
                  X1   Y1   Z1   X2   Y2   Z2
    1       0.00  12.3 80.1 4.5  ...

Tabs separate the cells.  A marker that is missing in a frame has empty cells or NaN.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from multibody_cli.document.document import ENCODING, read_bytes
from multibody_cli.document.table_file import number_in
from multibody_cli.errors import ArgumentError, QuantityError
from multibody_cli.kernel import Floats
from multibody_cli.limits import Usage
from multibody_cli.spec.units import LENGTH, parse_unit

SUFFIX = ".trc"

SETTINGS, FIRST = 1, 5
"""Numbers of the line of the settings, and of the first line that can have values, from 0."""


def read_trc(path: Path) -> tuple[Floats, list[str], Floats]:
    """Read a file of markers.

    Returns
    -------
    times
        (T,) instants, s.
    names
        Names of the m markers.
    places
        (T, m, 3) their places, m; NaN where a marker is missing.

    Raises
    ------
    ArgumentError
        The file cannot be read, or has another form.
    """
    try:
        lines = read_bytes(path, Usage()).decode(ENCODING).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path}: cannot read the file: {error}") from None
    heads = [[cell.strip() for cell in line.split("\t")] for line in lines[:FIRST]]
    if len(lines) <= FIRST or not heads[0][0].startswith("PathFileType") or heads[3][:1] != ["Frame#"]:
        raise ArgumentError(f"{path}: expected the header of a .trc file, whose line 4 begins with Frame#, and values")
    settings = dict(zip(heads[SETTINGS], heads[SETTINGS + 1], strict=False))
    try:
        unit = parse_unit(settings.get("Units", ""))
    except QuantityError as error:
        raise ArgumentError(f"{path}:{SETTINGS + 2}: Units: {error}") from None
    if unit.dimension != LENGTH.dimension:
        raise ArgumentError(f"{path}:{SETTINGS + 2}: Units: expected a length, found `{settings.get('Units')}`")
    names = [name for name in heads[3][2:] if name]
    width = 2 + 3 * len(names)
    rows = [_numbers(path, k, line, width) for k, line in enumerate(lines[FIRST:], FIRST + 1) if line.strip()]
    if not rows or not names:
        raise ArgumentError(f"{path} has no values")
    values = np.array(rows)
    if not (np.diff(values[:, 1]) > 0.0).all():
        raise ArgumentError(f"{path}: `Time` must rise from line to line")
    return values[:, 1], names, unit.factor * values[:, 2:].reshape(len(rows), len(names), 3)


def _numbers(path: Path, number: int, line: str, width: int) -> list[float]:
    """Return the numbers of a line; NaN for an empty cell, also at its end."""
    cells = [cell.strip() for cell in line.rstrip("\r\n").split("\t")]
    if any(cells[width:]):
        raise ArgumentError(f"{path}:{number}: expected {width} cells, found {len(cells)}")
    cells = [*cells, *[""] * width][:width]
    found = [number_in(cell) for cell in cells]
    for value, cell in zip(found, cells, strict=True):
        if not np.isfinite(value) and cell.lower() not in ("", "nan"):
            raise ArgumentError(f"{path}:{number}: expected a number, found `{cell}`")
    if not np.isfinite(found[1]):
        raise ArgumentError(f"{path}:{number}: the time is missing")
    return found
