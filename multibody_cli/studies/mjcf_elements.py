"""Parts of the export as MJCF that all its files use: losses, poses and numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from multibody_cli.scene.body_kinds import Placement

Path = tuple[str | int, ...]


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
    path: Path
    reason: str


class Losses:
    """The losses of a scene, each once."""

    def __init__(self) -> None:
        self._found: dict[Loss, None] = {}

    def drop(self, path: Path, reason: str) -> None:
        """Add an element of which the file has nothing."""
        self._found[Loss("dropped", path, reason)] = None

    def approximate(self, path: Path, reason: str) -> None:
        """Add an element of which the file has something similar."""
        self._found[Loss("approximated", path, reason)] = None

    @property
    def all(self) -> list[Loss]:
        """The losses in the order in which they were added."""
        return list(self._found)


def set_pose(element: ET.Element, pose: Placement) -> None:
    """Write the attributes of a pose; those of the identity are left out."""
    if pose.position.any():
        element.set("pos", row(pose.position))
    if np.any(pose.rotation != np.eye(3)):
        element.set("xyaxes", row((*pose.rotation[:, 0], *pose.rotation[:, 1])))


def row(numbers: Iterable[float]) -> str:
    """Return numbers as the shortest decimal forms that read back to the same bits."""
    return " ".join(repr(float(number)) for number in numbers)
