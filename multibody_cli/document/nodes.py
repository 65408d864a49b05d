"""The tree of a scene file: plain values that know where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, NamedTuple

Path = tuple[str | int, ...]


class Unknown:
    """The value of an element that could not be worked out; the problem is told where it arose."""


UNKNOWN = Unknown()


class Mark(NamedTuple):
    """A place in a file; line and column count from 1, and line 0 stands for the text as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file

    def beside(self, name: str) -> FilePath:
        """Give the path of a file that is named in this one, relative to it."""
        return FilePath(self.file).parent / name


@dataclass(slots=True, eq=False)
class Node:
    """A value of the tree.

    Parameters
    ----------
    value
        A scalar, a list of nodes, or a dictionary of nodes.
    mark
        Where the value begins.
    keys
        Where each key of a mapping stands.
    template
        Whether a `${...}` stands in it or below it.
    size
        Number of values in it, itself included.
    origin
        For an entry that `repeat` wrote: a remark that says so.
    """

    value: Any
    mark: Mark
    keys: dict[str, Mark] | None = None
    template: bool = False
    size: int = 1
    origin: str = ""


def mapping(entries: dict[str, Node], mark: Mark, keys: dict[str, Mark]) -> Node:
    """Make the node of a mapping."""
    return Node(entries, mark, keys, _any_template(entries.values(), entries), _size(entries.values()))


def sequence(entries: list[Node], mark: Mark) -> Node:
    """Make the node of a list."""
    return Node(entries, mark, None, _any_template(entries), _size(entries))


def of_value(value: Any, mark: Mark) -> Node:
    """Make the node of a plain value; all of it stands at one place."""
    if isinstance(value, dict):
        return mapping({key: of_value(entry, mark) for key, entry in value.items()}, mark, dict.fromkeys(value, mark))
    if isinstance(value, list):
        return sequence([of_value(entry, mark) for entry in value], mark)
    return Node(value, mark)


def plain(node: Node) -> Any:
    """Give the value without its places."""
    value = node.value
    if type(value) is dict:
        return {key: plain(entry) for key, entry in value.items()}
    if type(value) is list:
        return [plain(entry) for entry in value]
    return value


class Place(NamedTuple):
    """Where an element stands.

    Parameters
    ----------
    mark
        Its key, or its value where it is a scalar or the entry of a list.
    path
        The part of the path that exists.
    origin
        The remark of the `repeat` that wrote it.
    unknown
        Whether its value could not be worked out.
    """

    mark: Mark
    path: Path
    origin: str
    unknown: bool


def find(root: Node, path: Sequence[str | int], of_key: bool = False) -> Place:
    """Follow a path as far as the tree goes; `of_key` asks for the last key, not for its value."""
    node, key_mark, origin, depth = root, root.mark, root.origin, 0
    for step in path:
        if type(node.value) is dict and step in node.value:
            assert node.keys is not None
            key_mark, node = node.keys[str(step)], node.value[step]
        elif type(node.value) is list and isinstance(step, int) and 0 <= step < len(node.value):
            node = node.value[step]
            key_mark = node.mark
        else:
            break
        origin, depth = node.origin or origin, depth + 1
    is_scalar = type(node.value) not in (dict, list)
    mark = node.mark if is_scalar and not of_key else key_mark
    return Place(mark, tuple(path[:depth]), origin, node.value is UNKNOWN)


def written(path: Sequence[str | int]) -> str:
    """Write a path as users do: `joints.hinge.axis[2]`."""
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return words.removeprefix(".")


def _size(entries: Iterable[Node]) -> int:
    return 1 + sum(entry.size for entry in entries)


def _any_template(entries: Iterable[Node], keys: Iterable[str] = ()) -> bool:
    return any(entry.template for entry in entries) or any("${" in key for key in keys)
