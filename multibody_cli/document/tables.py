"""Tables from files: `{file: gait.csv, times: time, values: knee}` becomes the numbers of two columns.

A column without a unit is in SI units.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

from multibody_cli.document.nodes import UNKNOWN, Mark, Node, mapping
from multibody_cli.document.nodes import Path as NodePath
from multibody_cli.document.problems import Problems
from multibody_cli.document.table_file import NO_UNIT, number_in, read_table
from multibody_cli.errors import ArgumentError
from multibody_cli.limits import LimitError, Usage

_COLUMNS = ("times", "values")
IN_DEGREES = "in_degrees"


def read_tables(node: Node, problems: Problems, usage: Usage, path: NodePath = ()) -> None:
    """Replace the tables of a tree that name a file by their numbers, in place."""
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
            found = _columns(file, [named[c].value for c in _COLUMNS], usage)
        except LimitError as error:
            problems.stop(named["file"].mark, (*path, "file"), str(error))
        except ArgumentError as error:
            problems.add(named["file"].mark, (*path, "file"), str(error))
    rest = {key: entry for key, entry in node.value.items() if key not in named}
    return mapping({**rest, **found}, node.mark, {key: node.keys.get(key, node.mark) for key in (*rest, *found)})


def _columns(path: Path, names: list[str], usage: Usage) -> dict[str, Node]:
    """Return the entries of a table for the columns of a file with these names.

    The values of a column are numbers, or texts with a number and the unit of the column; its position is the heading.
    """
    table = read_table(path, usage)
    places = [table.place_of(name) for name in names]
    for place in places:
        table.unit_of(place)
    units = [table.headings[place].unit.replace(NO_UNIT, "rad") for place in places]
    columns: list[list[Any]] = [[] for _ in names]
    wanted = list(zip(columns, places, units, strict=True))
    for number, row in itertools.islice(table.rows, usage.left("values") // len(names)):
        for column, place, unit in wanted:
            value = number_in(row[place])
            if not math.isfinite(value):
                raise table.error(number, place, f"expected a number, found `{row[place]}`")
            column.append(f"{row[place]} {unit}" if unit else value)
    # lines beyond the limit are counted only
    usage.add("values", len(names) * (len(columns[0]) + sum(1 for _ in table.rows)))
    mark = Mark(str(path), table.line, 1)
    found = {
        key: Node(tuple(column), mark, size=1 + len(column)) for key, column in zip(_COLUMNS, columns, strict=True)
    }
    return {**found, IN_DEGREES: Node(True, mark)} if table.in_degrees and not units[1] else found
