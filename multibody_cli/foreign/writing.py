"""A draft as a scene file for a person: names and order of the source, round numbers, and where things come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multibody_cli.foreign.draft import Draft, Placed
from multibody_cli.foreign.ledger import Report
from multibody_cli.yaml_values import flow, word

WIDTH = 120
"""Longest line of a value in flow style."""


def text(draft: Draft, folder: Path) -> str:
    """Return a draft as a YAML scene, with the losses of the import as comments.

    Parameters
    ----------
    draft
        The model.
    folder
        The folder of the scene file, which names of meshes are relative to.
    """
    head = [f"# Imported from {draft.source.name} by `mbsim import`.", *map(_comment, Report(draft.ledger).lines())]
    lines = list(head)
    for section, content in draft.sections(folder).items():
        lines += ["", *_lines(section, content, 0)] if isinstance(content, dict | list) else _lines(section, content, 0)
    return "\n".join(lines) + "\n"


def _comment(line: str) -> str:
    return "# " + "".join(char if char.isprintable() else "?" for char in line)


def _lines(key: str, value: Any, depth: int) -> Iterator[str]:
    """Yield the lines of an entry of a mapping."""
    remark = ""
    if isinstance(value, Placed):
        value, origin = value.value, value.origin
        remark = _comment(f"{Path(origin.mark.file).name}:{origin.mark.line}: {origin.remark}") if origin.remark else ""
    indent = "  " * depth
    line = f"{indent}{word(key)}: {flow(_plain(value))}"
    if not _is_block(value) or (depth >= 1 and len(line) <= WIDTH) or not value:
        yield f"{line}  {remark}".rstrip()
        return
    yield f"{indent}{word(key)}:  {remark}".rstrip()
    if isinstance(value, dict):
        for inner, entry in value.items():
            yield from _lines(inner, entry, depth + 1)
    else:
        yield from (f"{indent}  - {flow(_plain(entry))}" for entry in value)


def _is_block(value: Any) -> bool:
    """Whether a value can be written in several lines: mappings, and lists of mappings."""
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and isinstance(_unplaced(value[0]), dict)
    )


def _unplaced(value: Any) -> Any:
    return value.value if isinstance(value, Placed) else value


def _plain(value: Any) -> Any:
    """Return a value without origins, and with short numbers."""
    value = _unplaced(value)
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return _rounded(value) if isinstance(value, float) else value


def _rounded(value: float) -> float | int:
    """Return a number as a person would write it: without round-off behind a short one."""
    short = float(f"{value:.14g}")
    if len(repr(short)) < len(repr(value)) - 3:  # as 0.3 for 0.30000000000000004
        value = short
    return int(value) if value.is_integer() and abs(value) < 1e15 else value
