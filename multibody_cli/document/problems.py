"""Collector of the problems of a scene, so that all are reported together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from multibody_cli.document.nodes import Mark, Node, find, format_path
from multibody_cli.errors import Problem, SceneError

MOST = 1000
"""Number of problems after which a scene is not examined further."""


class Problems:
    """Collects the problems of a scene."""

    def __init__(self) -> None:
        self._found: list[tuple[Mark, Problem]] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(self, mark: Mark, path: Sequence[str | int], message: str, remark: str = "") -> None:
        """Add a problem at a position.

        Raises
        ------
        SceneError
            The scene has `MOST` problems.
        """
        self._found.append((mark, Problem(str(mark), format_path(path), message, remark)))
        if len(self._found) >= MOST:
            self._raise()

    def stop(self, mark: Mark, path: Sequence[str | int], message: str, remark: str = "") -> NoReturn:
        """Add a problem after which the scene cannot be examined further, and raise a `SceneError`."""
        self._found.append((mark, Problem(str(mark), format_path(path), message, remark)))
        self._raise()

    def add_at(self, root: Node, path: Sequence[str | int], message: str) -> None:
        """Add a problem of the element at a path, or of its nearest existing ancestor.

        Elements that could not be evaluated are skipped, because their problem is reported already.
        """
        place = find(root, path)
        if not place.unknown:
            self.add(place.mark, place.path, message, place.origin)

    def raise_any(self) -> None:
        """Raise a `SceneError` if there are problems."""
        if self._found:
            self._raise()

    def _raise(self) -> NoReturn:
        # sorted by file, in order of first occurrence, then by position
        files = {mark.file: index for index, (mark, _) in reversed(list(enumerate(self._found)))}
        ordered = sorted(self._found, key=lambda item: (files[item[0].file], item[0].line, item[0].column))
        raise SceneError([problem for _, problem in ordered])


def refusal(mark: Mark, message: str) -> SceneError:
    """Return the error of a text that cannot be read any further."""
    return SceneError([Problem(str(mark), "", message)])
