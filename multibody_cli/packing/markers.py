"""Markers: rows for the points of affine bodies with forces or constraints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from multibody_cli.kernel import frozen
from multibody_cli.model import MARKER, Records
from multibody_cli.spec import Vector


class Markers:
    """Allocates one row for each point of an affine body.

    Parameters
    ----------
    first
        The row of the first marker, behind all bodies and loop-joint frames.
    rows
        Row of each body by its name.
    axes
        Principal axes of each affine body in its body frame, as columns, by its name.
    """

    def __init__(self, first: int, rows: Mapping[str, int], axes: Mapping[str, np.ndarray]) -> None:
        self._first, self._rows, self._axes = first, rows, axes
        self._found: dict[tuple[str, Vector, bool], int] = {}

    def takes(self, body: str) -> bool:
        """Whether the points of a body are markers."""
        return body in self._axes

    def rows_of(self, body: str) -> list[int]:
        """Return the rows of all points of a body."""
        return [row for (name, _, _), row in self._found.items() if name == body]

    def row(self, body: str, point: Vector, turns: bool = False) -> int:
        """Return the row of a point of the body frame, in the axes of the world, or with those of the body."""
        return self._found.setdefault((body, point, turns), self._first + len(self._found))

    def pack(self) -> Records:
        """Return the table of all allocated markers."""
        table = [
            (self._rows[body], self._axes[body].T @ np.array(point), turns, self._axes[body].T.ravel())
            for body, point, turns in self._found
        ]
        return frozen(np.array(table, MARKER))
