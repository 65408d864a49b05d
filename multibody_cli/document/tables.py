"""Tables from CSV files: `{file: gait.csv, times: time, values: knee}` becomes the numbers of two columns.

The first line of the file names the columns, separated by commas, each with an optional unit in brackets:

    time [ms], knee [deg], load

A column without a unit is in SI units.  Lines that are empty or begin with `#` are skipped.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from pathlib import Path
from typing import Any

from multibody_cli.document.document import ENCODING, read_bytes
from multibody_cli.document.nodes import UNKNOWN, Node, mapping
from multibody_cli.document.nodes import Path as NodePath
from multibody_cli.document.problems import Problems
from multibody_cli.limits import LimitError, Usage

_COLUMNS = ("times", "values")
_HEADING = re.compile(r"\s*(?P<name>[^\[\]]*?)\s*(?:\[\s*(?P<unit>[^\[\]]*?)\s*\])?\s*")


class _Invalid(Exception):
    """The file cannot be read as a table; the message says why."""


def read_tables(node: Node, problems: Problems, usage: Usage, path: NodePath = ()) -> None:
    """Replace the tables of a tree that name a CSV file by their numbers, in place."""
    entries = node.value.items() if type(node.value) is dict else enumerate(node.value)
    for key, entry in list(entries):
        if type(entry.value) in (dict, list):
            if _names_a_file(entry):
                node.value[key] = _read(entry, problems, usage, (*path, key))
            else:
                read_tables(entry, problems, usage, (*path, key))


def _names_a_file(node: Node) -> bool:
    """Whether a mapping is a table from a file; a mesh also has a `file`, but no column."""
    return type(node.value) is dict and "file" in node.value and any(column in node.value for column in _COLUMNS)


def _read(node: Node, problems: Problems, usage: Usage, path: NodePath) -> Node:
    assert node.keys is not None
    named = {key: node.value[key] for key in ("file", *_COLUMNS) if key in node.value}
    missing = [key for key in _COLUMNS if key not in named]
    for key in missing:
        problems.add(node.mark, path, f"`{key}` is required with `file`: the name of a column of the file")
    wrong = [key for key, entry in named.items() if not isinstance(entry.value, str) or "\0" in entry.value]
    for key in wrong:
        what = "the name of a file" if key == "file" else "the name of a column of the file"
        problems.add(named[key].mark, (*path, key), f"expected {what}")
    found: dict[str, Node] = {key: Node(UNKNOWN, node.mark) for key in _COLUMNS}
    if not wrong and not missing:
        try:
            file = named["file"].mark.resolve_path(named["file"].value)
            columns = _columns(file, [named[c].value for c in _COLUMNS], usage)
        except LimitError as error:
            problems.stop(named["file"].mark, (*path, "file"), str(error))
        except _Invalid as error:
            problems.add(named["file"].mark, (*path, "file"), f"{named['file'].value}: {error}")
        else:
            found = {
                c: Node(column, named[c].mark, size=1 + len(column))
                for c, column in zip(_COLUMNS, columns, strict=True)
            }
    rest = {key: entry for key, entry in node.value.items() if key not in named}
    return mapping({**rest, **found}, node.mark, {key: node.keys.get(key, node.mark) for key in (*rest, *found)})


def _columns(path: Path, names: list[str], usage: Usage) -> list[tuple[Any, ...]]:
    """Return the columns of a file with these names: numbers, or texts with a number and the unit of the column."""
    try:
        if path.exists() and not path.is_file():
            raise _Invalid("is not a regular file")
        # lines are decoded one by one: the text of a large file takes much memory
        lines = io.TextIOWrapper(io.BytesIO(read_bytes(path, usage)), ENCODING, newline="")
        numbered = ((number, line) for number, line in enumerate(lines, 1) if line.lstrip()[:1] not in ("", "#"))
        first = next(numbered, None)
        if first is None:
            raise _Invalid("is empty")
        headings = [_HEADING.fullmatch(word) for word in _cells(first[1])]
        titles = [heading["name"] if heading else "" for heading in headings]
        places = [_place(name, titles) for name in names]
        units = [heading["unit"] or "" if (heading := headings[place]) else "" for place in places]
        columns: list[list[Any]] = [[] for _ in names]
        wanted = list(zip(columns, places, units, strict=True))
        for number, line in itertools.islice(numbered, usage.left("values") // len(names)):
            row = _cells(line)
            for column, place, unit in wanted:
                value = _number(row, place)
                if not math.isfinite(value):
                    text = row[place].strip() if place < len(row) else ""
                    raise _Invalid(f"line {number}: expected a number in column `{titles[place]}`, found `{text}`")
                column.append(f"{row[place].strip()} {unit}" if unit else value)
        # lines beyond the limit are counted only
        usage.add("values", len(names) * (len(columns[0]) + sum(1 for _ in numbered)))
    except OSError as error:
        raise _Invalid(f"{error.strerror or error}".lower()) from None
    except UnicodeDecodeError:
        raise _Invalid("is not UTF-8 text") from None
    except csv.Error as error:
        raise _Invalid(f"is not a CSV file: {error}") from None
    return [tuple(column) for column in columns]


def _cells(line: str) -> list[str]:
    return next(csv.reader([line]), []) if '"' in line else line.split(",")


def _place(name: str, titles: list[str]) -> int:
    if titles.count(name) != 1:
        count = "no" if name not in titles else "more than one"
        raise _Invalid(f"has {count} column `{name}`; its columns are {', '.join(f'`{title}`' for title in titles)}")
    return titles.index(name)


def _number(row: list[str], place: int) -> float:
    """Return the number in a cell; NaN if there is none."""
    try:
        return float(row[place])
    except (IndexError, ValueError):
        return math.nan
