"""Tables in text files: the one reader of columns of scenes, of measurements, and of rows of sweeps.

The first line names the columns.  Commas, semicolons or tabs separate them, and `[mm]`, `(mm)`, `, mm` or ` / mm`
behind a name is the unit of a column:

    time (ms), knee [deg], load

A unit elsewhere in a heading is ambiguous.  Lines that are empty or begin with `#` are skipped, and a first line
`sep=;` names the separator.  Beside semicolons and tabs, a comma in a number is a decimal mark.
Files of OpenSim (`.sto`, `.mot`) have lines of settings up to `endheader`, with the numbers of rows and columns.

Tables from files: `{file: gait.csv, times: time, values: knee}` becomes the numbers of two columns.

A column without a unit is in SI units.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from multibody_cli.document.document import ENCODING, read_bytes
from multibody_cli.errors import ArgumentError, QuantityError
from multibody_cli.immutable import Immutable
from multibody_cli.limits import LimitError, Usage
from multibody_cli.nodes import UNKNOWN, Mark, Node, NodePath, Problems, mapping
from multibody_cli.spec.units import COMMON, UNSEPARATED_PRODUCTS, Unit, parse_unit

NO_UNIT = "1"
"""Unit of a column of plain numbers, as `mbsim export` writes it; `[-]` is the same."""

_SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
_QUOTED = re.compile(r'"[^"]*"')
_OPENED = {")": "(", "]": "["}
_BEHIND_MARK = re.compile(r"(?P<name>.*), (?P<unit>.*)|(?P<name2>.*?) / (?P<unit2>.*)")
_COMPOUND = re.compile(r"(?P<name>.*) (?P<unit>\S*[^\W\d_]\S*[/*^]\S*)")
_INSIDE = re.compile(r"[(\[]([^()\[\]]+)[)\]]|(?<= )([^ ]+)$|(?<=_)(?!(?:g|t|h|min|turn)$)([^ _]+)$")
_SEPARATOR = re.compile(r"(?i)\s*sep=([\t;,])\s*")
_END_OF_HEADER = re.compile(rb"(?mi)^[ \t]*endheader[ \t]*\r?$")
_SIZE = re.compile(r"(?i)\s*(?:n|data)(rows|columns)\s*[= \t]\s*(\d+)\s*")
_IN_DEGREES = re.compile(r"\s*inDegrees\s*=\s*yes\s*", re.IGNORECASE)
_POINT = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?(?:\s.*)?")
_COMMA = re.compile(r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?(?:\s.*)?")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}(?:\s.*)?")


class Heading(NamedTuple):
    """A heading: the name of a column, its unit (empty if it has none), and the whole text."""

    name: str
    unit: str
    text: str


def read_heading(text: str) -> Heading:
    """Split a heading into name and unit.

    Alternatives such as the `N or N m` of exported tables are SI units of plain numbers, and no unit of their own.
    """
    text = " ".join(text.split())
    name, unit = text, ""
    if text[-1:] in _OPENED and (start := _start_of_bracket(text)) > 0:
        inside = text[start + 1 : -1].strip()
        if text[start] == "(" or text[start - 1] == " " or not _is_component(text[:start], inside):
            name, unit = text[:start], inside
    elif match := _BEHIND_MARK.fullmatch(text):
        name, unit = match["name"] or match["name2"] or "", match["unit"] or match["unit2"] or ""
    elif (match := _COMPOUND.fullmatch(text)) and _is_unit(match["unit"]):
        name, unit = match["name"], match["unit"]
    elif text.count("/") == 1 and text.partition("/")[2] in COMMON:
        name, _, unit = text.partition("/")
    if " or " in unit and all(map(_is_coherent, unit.split(" or "))):
        unit = ""
    return Heading(name.rstrip(" /"), NO_UNIT if unit == "-" else unit, text)


def _start_of_bracket(text: str) -> int:
    """Return the index of the bracket that the last character closes; -1 if there is none."""
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] == text[-1]) - (text[index] == _OPENED[text[-1]])
        if not depth:
            return index
    return -1


def _is_component(name: str, inside: str) -> bool:
    """Whether a bracket directly behind a name is part of it: `limits[0]`, `joints/hinge/force[fz]`."""
    return inside.isdecimal() or (("/" in name or "." in name) and not _is_unit(inside))


def _is_unit(text: str) -> bool:
    return not math.isnan(_factor_of(text))


def _is_coherent(text: str) -> bool:
    """Whether a text is a unit of the SI without a factor, or that of plain numbers."""
    return text == NO_UNIT or _factor_of(text) == 1.0


def _factor_of(text: str) -> float:
    try:
        return parse_unit(text).factor
    except QuantityError:
        return math.nan


class TableFile(Immutable):
    """A table.

    Parameters
    ----------
    path
        The file.
    line
        Number of the line of the headings.
    headings
        The headings of its columns.
    in_degrees
        Whether angles without a unit are in degrees, by the settings of OpenSim.
    rows
        The number of each line and its cells, as many as headings, without spaces around them; decimal marks are
        points.  An `ArgumentError` reports a line with other cells.
    """

    path: Path
    line: int
    headings: tuple[Heading, ...]
    in_degrees: bool
    rows: Iterator[tuple[int, list[str]]]

    def index_of(self, word: str) -> int:
        """Return the index of the column that a word names, with or without its unit; refuse none and several."""
        wanted, texts = read_heading(word), [heading.text for heading in self.headings]
        found = [k for k, text in enumerate(texts) if text == wanted.text] or [
            k
            for k, heading in enumerate(self.headings)
            if heading.name == wanted.name and wanted.unit in ("", heading.unit)
        ]
        if len(found) != 1:
            count = "more than one" if found else "no"
            shown = ", ".join(f"`{text}`" for text in texts)
            raise ArgumentError(f"{self.path}:{self.line}: {count} column `{word}`; the columns are {shown}")
        return found[0]

    def unit_of(self, index: int) -> Unit | None:
        """Return the unit of a column; None if it has none."""
        heading = self.headings[index]
        if not heading.unit:
            for inside in filter(None, itertools.chain(*_INSIDE.findall(heading.name))):
                if (inside in COMMON or inside in UNSEPARATED_PRODUCTS) and parse_unit(inside).factor != 1.0:
                    raise self.error(
                        self.line, index, f"is `{inside}` its unit? Write the unit last, as in `lift [mm]`"
                    )
            return None
        try:
            return parse_unit("rad" if heading.unit == NO_UNIT else heading.unit)
        except QuantityError as error:
            raise self.error(self.line, index, str(error)) from None

    def error(self, line: int, index: int, message: str) -> ArgumentError:
        """Return the error of a cell or a heading."""
        return ArgumentError(f"{self.path}:{line}: column `{self.headings[index].name}`: {message}")


def number_in(cell: str) -> float:
    """Return the number in a cell; NaN if there is none."""
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan


def read_table(path: Path, usage: Usage) -> TableFile:
    """Read the headings of a file; its rows are read as they are asked for.

    Raises
    ------
    ArgumentError
        The file cannot be read, or its headings are ambiguous.
    LimitError
        The file is too large.
    """
    try:
        if path.exists() and not path.is_file():
            raise ArgumentError(f"{path} is not a regular file")
        content = read_bytes(path, usage)
    except OSError as error:
        raise ArgumentError(f"{os.path.abspath(path)}: cannot read the file: {error.strerror or error}") from None
    end = match.end() if (match := _END_OF_HEADER.search(content)) else 0
    settings = content[:end].decode(ENCODING, errors="replace").splitlines()
    lines = _lines(path, content[end:], max(0, len(settings) - 1))
    number, first = next(lines, (0, ""))
    if named := _SEPARATOR.fullmatch(first):
        number, first = next(lines, (0, ""))
    if not first:
        raise ArgumentError(f"{path} is empty")
    bare = _QUOTED.sub("", first)
    found = next((mark for mark in _SEPARATORS if mark in bare), " " if settings else ",")
    separator = named[1] if named else found
    sizes = {match[1].lower(): int(match[2]) for match in filter(None, map(_SIZE.fullmatch, settings))}
    cells = _cells(path, number, first, separator)
    if sizes.get("columns", len(cells)) != len(cells):
        found = f"the line has {len(cells)} columns, and the header states {sizes['columns']}"
        raise ArgumentError(f"{path}:{number}: {found}: correct the one that is wrong")
    headings = tuple(map(read_heading, cells))
    for heading in headings if separator in "\t;" else ():
        if "," in heading.name and f'"{heading.text}"' not in first:
            words = f"commas and {_SEPARATORS[separator]}"
            raise ArgumentError(f"{path}:{number}: the headings are separated by {words}: use one of them")
    rows = _complete(path, _rows(path, number, headings, separator, lines), sizes.get("rows"))
    in_degrees = any(map(_IN_DEGREES.fullmatch, settings))
    return TableFile(path, number, headings, in_degrees, rows)


def _complete(
    path: Path, rows: Iterator[tuple[int, list[str]]], expected: int | None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows, and refuse more or fewer of them than the header states."""
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007
        yield row
    if expected is not None and count != expected:
        raise ArgumentError(
            f"{path}: the table has {count} rows, and its header states {expected}: is the file complete? If it is, "
            "correct its header"
        )


def _lines(path: Path, content: bytes, before: int) -> Iterator[tuple[int, str]]:
    """Yield the lines with content, decoded one by one: the text of a large file takes much memory."""
    try:
        for number, line in enumerate(io.TextIOWrapper(io.BytesIO(content), ENCODING, newline=""), before + 1):
            if line.lstrip()[:1] not in ("", "#"):
                yield number, line
    except UnicodeDecodeError:
        import h5py

        if h5py.is_hdf5(path):
            remedy = f"`mbsim export {path} -o {path.stem}.csv` writes a table of the channels of a result file"
            raise ArgumentError(f"{path} is an HDF5 file, and no table: {remedy}") from None
        raise ArgumentError(f"{path} is not UTF-8 text") from None


def _cells(path: Path, number: int, line: str, separator: str) -> list[str]:
    if separator == " ":
        return line.split()
    try:
        if line.count('"') % 2:
            raise csv.Error("a quotation mark is not closed")
        cells = next(csv.reader([line], delimiter=separator)) if '"' in line else line.split(separator)
    except csv.Error as error:
        raise ArgumentError(f"{path}:{number}: cannot read the cells: {error}") from None
    return [cell.strip() for cell in cells]


def _rows(
    path: Path, head: int, headings: Sequence[Heading], separator: str, lines: Iterator[tuple[int, str]]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows; beside tabs, `1,234` may have a decimal comma or thousands, which other numbers decide."""
    point = comma = 0
    is_decimal = separator == ";"
    for number, line in lines:
        cells = _cells(path, number, line, separator)
        if not any(cells):
            continue
        if len(cells) != len(headings):
            cause = ""
            if separator == "," and len(cells) > len(headings):
                cause = "; if commas are decimal marks, write points, or separate the columns by semicolons or tabs"
            elif separator == "," and (unit := next((one.text for one in headings if one.text in COMMON), "")):
                cause = f"; if `{unit}` is a unit, write it in brackets, as in `lift [{unit}]`"
            raise ArgumentError(
                f"{path}:{number}: expected {len(headings)} fields as in line {head}, found {len(cells)}{cause}"
            )
        if separator != ",":
            marked = [k for k, cell in enumerate(cells) if _COMMA.fullmatch(cell)] if "," in line else []
            is_decimal = is_decimal or not all(_THOUSANDS.fullmatch(cells[k]) for k in marked)
            if marked:
                comma = comma or number
            if "." in line and any(map(_POINT.fullmatch, cells)):
                point = point or number
            if point and comma:
                both = f"of line {point} is a point, that of line {comma} a comma"
                raise ArgumentError(f"{path}:{number}: the decimal mark {both}: write points")
            for k in marked:
                cells[k] = cells[k].replace(",", ".", 1)
        yield number, cells
    if comma and not is_decimal:
        raise ArgumentError(f"{path}:{comma}: is the comma a decimal mark, or does it separate thousands? Write points")


# --- tables from files: `{file: gait.csv, times: time, values: knee}` becomes the numbers of two columns --------------
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
        expected = "the name of a file" if key == "file" else "the name of a column of the file"
        problems.add(named[key].mark, (*path, key), f"expected {expected}")
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
    indices = [table.index_of(name) for name in names]
    for index in indices:
        table.unit_of(index)
    units = [table.headings[index].unit.replace(NO_UNIT, "rad") for index in indices]
    columns: list[list[Any]] = [[] for _ in names]
    wanted = list(zip(columns, indices, units, strict=True))
    before = -math.inf
    for number, row in itertools.islice(table.rows, usage.left("values") // len(names)):
        for column, index, unit in wanted:
            value = number_in(row[index])
            if not math.isfinite(value):
                raise table.error(number, index, f"expected a number, found `{row[index]}`")
            column.append(f"{row[index]} {unit}" if unit else value)
        if not (time := number_in(row[indices[0]])) > before:
            raise table.error(
                number, indices[0], f"expected times that rise from line to line, found {time:g} after {before:g}"
            )
        before = time
    # lines beyond the limit are counted only
    usage.add("values", len(names) * (len(columns[0]) + sum(1 for _ in table.rows)))
    mark = Mark(str(path), table.line, 1)
    found = {
        key: Node(tuple(column), mark, size=1 + len(column)) for key, column in zip(_COLUMNS, columns, strict=True)
    }
    return {**found, IN_DEGREES: Node(True, mark)} if table.in_degrees and not units[1] else found
