"""The ledger of an export: the elements of a scene that a file does not hold as they are, each once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from multibody_cli.nodes import NodePath

SECTIONS = {
    "constraints": "a constraint on bodies",
    "combinations": "springs, dampers and limits of combinations",
    "forces": "a force on bodies",
    "springs": "a spring between bodies",
    "muscles": "a muscle",
    "actuators": "an actuator, with the inertia of its rotor,",
    "sensors": "a sensor",
    "inputs": "a signal",
    "functions": "a function of expressions",
    "surfaces": "a surface of paths",
    "paths": "a path",
    "events": "an event",
}
"""Sections of a scene that a format may lack."""


class Loss(NamedTuple):
    """An element of a scene that a file does not hold as it is.

    Parameters
    ----------
    fate
        Whether the file holds something similar, or nothing.
    path
        Keys of the element in the scene.
    reason
        The difference, or why there is no counterpart.
    """

    fate: Literal["approximated", "dropped"]
    path: NodePath
    reason: str


class Losses:
    """The losses of a scene, each once."""

    def __init__(self) -> None:
        self._found: dict[Loss, None] = {}

    def drop(self, path: NodePath, reason: str) -> None:
        """Add an element of which the file has nothing."""
        self._found[Loss("dropped", path, reason)] = None

    def approximate(self, path: NodePath, reason: str) -> None:
        """Add an element of which the file has something similar."""
        self._found[Loss("approximated", path, reason)] = None

    def drop_sections(self, scene: Any, written: Iterable[str] = ()) -> None:
        """Add the elements of all sections of `SECTIONS` but those that the format writes."""
        for section, noun in SECTIONS.items():
            if section not in written:
                for name in getattr(scene, section):
                    self.drop((section, name), f"{noun} is not exported")

    @property
    def all(self) -> list[Loss]:
        """The losses in the order in which they were added."""
        return list(self._found)
