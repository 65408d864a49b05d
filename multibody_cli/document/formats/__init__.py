"""The catalogue of the formats of scene files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath

from multibody_cli.document.formats import yaml
from multibody_cli.nodes import Node, Problems

Reader = Callable[[str, str, Problems], Node]
"""Function `read(text, shown, problems)` that returns the tree of a text, with the place of each value.

`shown` is the name of the file in messages, and of the marks; `problems` collects errors that do not stop the reader.
Anything else is a `SceneError`: `problems.refusal`.  Values are nested at most `nodes.DEEPEST` deep.
"""

FORMATS: dict[str, Reader] = {
    ".yaml": yaml.read,
    ".yml": yaml.read,
}
"""Readers by the suffix of the file; any other file is YAML."""


def read_text(text: str, shown: str, problems: Problems) -> Node:
    """Read the text of a file with the reader of its suffix."""
    read = FORMATS.get(PurePath(shown).suffix.lower(), yaml.read)
    return read(text, shown, problems)
