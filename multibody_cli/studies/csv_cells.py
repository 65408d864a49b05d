"""Cells of CSV files that people write or export from spreadsheets: separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from multibody_cli.errors import ArgumentError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+(?:[eE][-+]?\d+)?\b.*")


def read_cells(path: Path) -> list[tuple[int, list[str]]]:
    """Return the number and the cells of each line, the headings first.

    The separator is that of the first line.  Lines that are empty or begin with `#` are skipped.

    Raises
    ------
    ArgumentError
        The file cannot be read, its headings have two separators, or a number has a decimal comma.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if not line.lstrip().startswith("#")]
        head = next((one for one in lines if one[1].strip()), (0, ""))
        used = [mark for mark in SEPARATORS if len(next(csv.reader([head[1]], delimiter=mark), [])) > 1]
        if len(used) > 1:
            words = " and ".join(SEPARATORS[mark] for mark in used)
            raise ArgumentError(f"{path}:{head[0]}: the headings are separated by {words}: use one of them")
        separator = used[0] if used else ","
        found = [(k, next(csv.reader([line], delimiter=separator), [])) for k, line in lines]
    except (OSError, UnicodeError, csv.Error) as error:
        raise ArgumentError(f"{path}: cannot read the file: {getattr(error, 'strerror', None) or error}") from None
    cells = [(k, line) for k, line in found if any(map(str.strip, line))]
    for k, line in cells if separator != "," else ():
        if comma := next(filter(_DECIMAL_COMMA.fullmatch, line), None):
            point = comma.strip().replace(",", ".", 1)
            raise ArgumentError(f"{path}:{k}: write the number `{comma.strip()}` with a decimal point: {point}")
    return cells
