"""Articulations: sets of bodies that joints and constraint rows connect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multibody_cli.model import Records, Tree


class Articulations:
    """The sets of bodies that joints and rows connect, other than by the ground; each is named by its first body."""

    def __init__(self, tree: Tree, rows: Records, terms: Records) -> None:
        links, closures = tree.links, tree.closures
        self._terms = terms
        self._body_of_row = np.concatenate((np.arange(len(links)), closures["child"], tree.markers["link"]))
        self._number = list(range(len(links)))
        self.body_of_rate = np.concatenate(
            (np.repeat(np.arange(len(links)), links["nv"]), np.repeat(self._moving(closures["child"]), closures["nv"]))
        )
        for i in range(1, len(links)):
            self._connect([i, int(links[i]["parent"])])
        for closure in closures:
            self._connect(self._moving(np.array([closure["parent"], closure["child"]])).tolist())
        for row in rows:
            self._connect(self.bodies_of_row(row))

    def of_body(self, body: int) -> int:
        """Return the number of the articulation of a body."""
        while self._number[body] != body:
            body = self._number[body]
        return body

    def bodies_of_row(self, row: Any) -> list[int]:
        """Return the bodies that the terms of a row move."""
        terms = self._terms[row["first_term"] : row["last_term"]]
        bodies, of_coordinates = self._moving(terms["body"]), terms["iv"] >= 0
        bodies[of_coordinates] = self.body_of_rate[terms["iv"][of_coordinates]]
        return list(map(int, bodies))

    def _moving(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the bodies that move with the given rows: bodies, frames of loop joints, or markers."""
        found: NDArray[np.int64] = self._body_of_row[self._body_of_row[rows]]  # a loop joint may end at a marker
        return found

    def _connect(self, bodies: Iterable[int]) -> None:
        numbers = {self.of_body(body) for body in bodies if body > 0}
        for number in numbers:
            self._number[number] = min(numbers)
