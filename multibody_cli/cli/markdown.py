"""Tables and anchors of Markdown pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


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
    return "" if value is None else " ".join(str(value).replace("|", "\\|").split())
