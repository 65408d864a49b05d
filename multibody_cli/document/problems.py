"""Problems of a scene, collected so that all of them are told at once."""

from __future__ import annotations

from collections.abc import Sequence

from multibody_cli.document.nodes import Mark, Node, find, written
from multibody_cli.errors import Problem, SceneError


class Problems:
    """Collects what is wrong with a scene."""

    def __init__(self) -> None:
        self._found: list[tuple[Mark, Problem]] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(self, mark: Mark, path: Sequence[str | int], message: str, remark: str = "") -> None:
        """Note a problem at a place."""
        self._found.append((mark, Problem(str(mark), written(path), message, remark)))

    def add_at(self, root: Node, path: Sequence[str | int], message: str) -> None:
        """Note a problem of the element at a path, or of the nearest one above it that exists.

        An element that could not be worked out had its problem told already.
        """
        place = find(root, path)
        if not place.unknown:
            self.add(place.mark, place.path, message, place.origin)

    def raise_any(self) -> None:
        """Raise a `SceneError` if there are problems."""
        if self._found:
            # in the order of the files as they came up, then of their lines
            files = {mark.file: index for index, (mark, _) in reversed(list(enumerate(self._found)))}
            ordered = sorted(self._found, key=lambda item: (files[item[0].file], item[0].line, item[0].column))
            raise SceneError([problem for _, problem in ordered])
