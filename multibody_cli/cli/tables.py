"""Tables and JSON for stdout."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import click

from multibody_cli.cli.messages import before_output
from multibody_cli.escaping import escaped

STDOUT = "standard output"
"""Name of stdout in messages."""


class Colored(NamedTuple):
    """A text in a color."""

    text: str
    color: str


def show(*pieces: object, nl: bool = True) -> None:
    """Write a line to stdout: texts, which cannot control the terminal, some of them `Colored`."""
    for end in before_output:
        end()
    try:
        click.echo("".join(map(_for_terminal, pieces)), nl=nl)
    except OSError as error:
        error.filename = STDOUT
        raise


def show_json(data: Any) -> None:
    """Write data as JSON."""
    show(to_json(data))


def to_json(data: Any) -> str:
    """Convert data to JSON; a number that is not finite becomes null."""
    return escaped(json.dumps(_plain(data), indent=2, ensure_ascii=False))


def show_table(rows: Sequence[Mapping[str, Any]], indent: str = "", digits: int = 4) -> None:
    """Write rows with equal keys as a table; numeric columns are right-aligned."""
    for line in table_lines(rows, digits):
        show(indent + line)


def table_lines(rows: Sequence[Mapping[str, Any]], digits: int = 4) -> list[str]:
    """Format a table with the keys as header, and numbers with some digits."""
    if not rows:
        return []
    heads = list(rows[0])
    cells = [heads, *([_text(row[head], digits) for head in heads] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    right = [all(isinstance(row[head], int | float | None) for row in rows) for head in heads]
    return ["  ".join(_aligned(line, widths, right)).rstrip() for line in cells]


def duration(seconds: float) -> str:
    """Format a time with three digits, in s, min or h."""
    return _in_units(seconds, ((3600.0, "h"), (60.0, "min"), (1.0, "s")), 2.0)


def size(number: float) -> str:
    """Format a number of bytes with three digits, in MB, GB or TB."""
    return _in_units(number, ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")), 1.0)


def _in_units(number: float, units: Sequence[tuple[float, str]], least: float) -> str:
    """Format a number in the first unit of which it has at least so many, or in the last; without an exponent."""
    size, unit = next((pair for pair in units if number >= least * pair[0]), units[-1])
    return f"{number / size:.3g} {unit}" if number / size < 999.5 else f"{number / size:.0f} {unit}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun: `1 body`, `2 bodies`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _for_terminal(piece: object) -> str:
    if isinstance(piece, Colored):
        return click.style(escaped(piece.text), fg=piece.color)
    return escaped(str(piece))


def _aligned(line: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> Iterable[str]:
    for text, width, flush in zip(line, widths, right, strict=True):
        yield text.rjust(width) if flush else text.ljust(width)


def _text(value: Any, digits: int = 4) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _plain(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    if isinstance(data, float):
        return data if abs(data) < float("inf") else None
    return data


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of a table; all rows have the same keys."""
    if not rows:
        return []
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return ["| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines]


def literal(text: str) -> str:
    """Return a text of a file as Markdown that shows it: without HTML, links, pictures and code."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("`", "'").replace("](", "]\\(")


def anchor(title: str) -> str:
    """Return the anchor of a heading."""
    return title.lower().replace(":", "").replace(" ", "-")


def _cell(value: Any) -> str:
    return "" if value is None else " ".join(_text(value).replace("|", "\\|").split())
