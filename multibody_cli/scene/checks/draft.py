"""A scene of which some elements may be missing because they are wrong, so that the rest can be checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from multibody_cli.document.nodes import Node, Path, find
from multibody_cli.document.problems import Problems
from multibody_cli.errors import nearest
from multibody_cli.joints.spec import WORLD
from multibody_cli.scene.schema import Scene

Entry = TypeVar("Entry")

_PLACEHOLDERS: dict[str, Any] = {
    "mbsim": 1,
    "bodies": {"_": {"mass": 1.0, "inertia": {"principal": [1.0, 1.0, 1.0]}}},
    "simulation": {"duration": 1.0},
}
"""Stand for required sections that are wrong."""

_NAMED = frozenset({"bodies", "joints", "couplings", "constraints", "forces", "springs", "muscles", "strands"})
"""Sections whose entries stand for themselves, so that a wrong one can be left out."""


@dataclass(frozen=True)
class Draft:
    """A scene on its way.

    Parameters
    ----------
    scene
        What is right of it.
    data
        All that was written.
    tree
        The same with its places.
    broken
        Sections in which something is wrong.
    kept
        For each assertion of the scene, its index among those that were written.
    problems
        Takes what the checks find.
    """

    scene: Scene
    data: Mapping[str, Any]
    tree: Node
    broken: frozenset[str]
    kept: Sequence[int]
    problems: Problems

    def tell(self, path: Sequence[str | int], message: str) -> None:
        """Note a problem of an element."""
        self.problems.add_at(self.tree, path, message)

    def line_of(self, *path: str | int) -> str:
        """Say where the key of an element stands."""
        return str(find(self.tree, path, of_key=True).mark)

    def names(self, section: str) -> frozenset[str]:
        """Give the names that are written in a section, right or wrong."""
        entries = self.data.get(section)
        return frozenset(entries) if isinstance(entries, dict) else frozenset()

    @cached_property
    def bodies(self) -> frozenset[str]:
        """Names of the bodies, nodes of strands among them, and of the world."""
        return self.names("bodies") | frozenset(self.scene.bodies) | {WORLD}

    def require_body(self, name: str, path: Sequence[str | int]) -> bool:
        """Tell whether a body exists, and note a problem where it does not."""
        if name in self.bodies:
            return True
        self.tell(path, f"there is no body `{name}`; {nearest(name, self.bodies)}")
        return False


def written(draft: Draft, section: str, entries: Mapping[str, Entry]) -> list[tuple[str, Entry]]:
    """Give the entries of a section that the scene writes itself, without those that strands bring."""
    return [(name, entry) for name, entry in entries.items() if name in draft.names(section)]


def without(data: Mapping[str, Any], wrong: Sequence[Path]) -> tuple[dict[str, Any], list[int]]:
    """Take wrong elements out of the data of a scene.

    Parameters
    ----------
    data
        The resolved scene.
    wrong
        Paths at or below which something is wrong.

    Returns
    -------
    tuple
        What is left, and the indices of the assertions that were kept.
    """
    left = dict(data)
    entries: dict[str, set[str | int]] = {}
    for path in wrong:
        section = str(path[0]) if path else ""
        if len(path) > 1 and isinstance(data.get(section), dict if section in _NAMED else list):
            entries.setdefault(section, set()).add(path[1])
        else:
            left.pop(section, None)
    for section in _NAMED & entries.keys() & left.keys():
        left[section] = {name: entry for name, entry in left[section].items() if name not in entries[section]}
    assertions: list[Any] = left["expect"] if isinstance(left.get("expect"), list) else []
    kept = [index for index in range(len(assertions)) if index not in entries.get("expect", ())]
    if assertions:
        left["expect"] = [assertions[index] for index in kept]
    for section, value in _PLACEHOLDERS.items():
        if not left.get(section):
            left[section] = value
    return left, kept
