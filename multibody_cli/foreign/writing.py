"""A draft as a scene file for a person: names and order of the source, round numbers, and where things come from."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multibody_cli.foreign.draft import Draft, Placed
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.variables import with_variables
from multibody_cli.yaml_values import flow, word

WIDTH = 120
"""Longest line of a value in flow style."""

_FOLDABLE = re.compile(r"[!-~]+( [!-~]+)+")
"""Words with one blank between them, which YAML keeps where a line ends."""


def text(draft: Draft, folder: Path) -> str:
    """Return a draft as a YAML scene, with the losses of the import as comments.

    Parameters
    ----------
    draft
        The model.
    folder
        The folder of the scene file, which names of meshes are relative to.
    """
    near = f"{draft.source.parent}{os.sep}"  # places are relative to the model
    lines = [f"# Imported from {draft.source.name} by `mbsim import`."]
    for line in ImportReport(draft.ledger).lines():
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        own = textwrap.wrap(line.replace(near, ""), WIDTH - 2, subsequent_indent=indent, break_long_words=False)
        lines += map(_comment, own)
    for section, content in with_variables(draft.sections(folder)).items():
        lines += [""] * _is_block(_unplaced(content)) + [*_lines(section, content, 0)]
    return "\n".join(lines) + "\n"


def _comment(line: str) -> str:
    return "# " + "".join(char if char.isprintable() else "?" for char in line)


def _lines(key: str, value: Any, depth: int) -> Iterator[str]:
    """Yield the lines of an entry of a mapping: one line where it is short, below a section one for each entry."""
    remark = ""
    if isinstance(value, Placed):
        value, origin = value.value, value.origin
        remark = _comment(f"{Path(origin.mark.file).name}:{origin.mark.line}: {origin.remark}") if origin.remark else ""
    yield from _block(f"{'  ' * depth}{word(key)}:", value, depth, remark)


def _block(start: str, value: Any, depth: int, remark: str = "") -> Iterator[str]:
    """Yield the lines of a value behind the start of its line."""
    line = f"{start} {flow(_plain(value))}"
    if not _is_block(value) or (depth >= 1 and len(line) <= WIDTH) or not value:
        folded = _folded(value, depth + 1) if len(line) > WIDTH else None
        yield f"{line if folded is None else start + folded[0]}  {remark}".rstrip()
        yield from folded[1:] if folded else ()
        return
    yield f"{start}  {remark}".rstrip()
    if isinstance(value, dict):
        for inner, entry in value.items():
            yield from _lines(inner, entry, depth + 1)
        return
    for entry in value:
        yield from _item(_unplaced(entry), depth + 1)


def _item(entry: Any, depth: int) -> Iterator[str]:
    """Yield the lines of an item of a list: a long mapping has a line for each key."""
    start = "  " * depth + "- "
    line = start + flow(_plain(entry))
    if not isinstance(entry, dict) or len(line) <= WIDTH:
        yield line
        return
    for number, (key, value) in enumerate(entry.items()):
        lines = _lines(key, value, depth + 1)
        yield (start if number == 0 else "  " * (depth + 1)) + next(lines).lstrip()
        yield from lines


def _folded(value: Any, depth: int) -> list[str] | None:
    """Return a long list of numbers, or a long expression, over several lines; None for another value."""
    indent = "  " * depth
    if isinstance(value, list):
        rows = textwrap.wrap(flow(_plain(value)), WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
        return ["", *[indent + row for row in rows]]
    if isinstance(value, str) and _FOLDABLE.fullmatch(value):
        rows = textwrap.wrap(value, WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
        return [" >-", *[indent + row for row in rows]]
    return None


def _is_block(value: Any) -> bool:
    """Whether a value can be written in several lines: mappings, and lists of mappings and of lists."""
    is_nested = isinstance(value, list) and bool(value) and isinstance(_unplaced(value[0]), dict | list)
    return isinstance(value, dict) or is_nested


def _unplaced(value: Any) -> Any:
    return value.value if isinstance(value, Placed) else value


def _plain(value: Any) -> Any:
    """Return a value without origins."""
    value = _unplaced(value)
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value
