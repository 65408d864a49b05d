"""Common output instants of two runs, and their division into slabs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multibody_cli.comparison.recording import Recording, Rows

if TYPE_CHECKING:
    from multibody_cli.model import Floats, Integers

NEAR = 1e-6
"""Instants are equal if they differ by less than this fraction of the smallest interval."""


class Instants(NamedTuple):
    """Common instants of two runs, in order: their rows (n,) in both files."""

    reference: Integers
    result: Integers

    @property
    def number(self) -> int:
        """Number of common instants."""
        return len(self.reference)

    def pair(self, number: int) -> tuple[int, int]:
        """Return the rows of one instant in both files; a negative number counts from the end."""
        return int(self.reference[number]), int(self.result[number])

    def alone(self, number: int) -> Instants:
        """Return one instant."""
        return Instants(self.reference[number, None], self.result[number, None])

    def slabs(self, most: int) -> Iterator[tuple[Rows, Rows]]:
        """Yield all pairs in slabs that span `most` rows of each file at most, or in single pairs."""
        first = 0
        while first < self.number:
            ends = [int(np.searchsorted(rows, rows[first] + most)) for rows in self]
            last = max(first + 1, min(ends))
            one, other = (rows[first:last] for rows in self)
            yield _taken(one), _taken(other)
            first = last


def _taken(rows: Integers) -> Rows:
    return Rows(int(rows[0]), int(rows[-1]) + 1, rows - rows[0])


def common_instants(reference: Recording, result: Recording) -> Instants:
    """Return the pairs of rows of equal instants, in order."""
    return Instants(*common_rows(*(run.read("time", 0, run.instants) for run in (reference, result))))


def common_rows(first: Floats, *others: Floats) -> list[Integers]:
    """Return the rows of the instants that all runs have, in each of them, from their times, s."""
    rows = [np.arange(len(first))]
    for times in others:
        found, partners = _pairs(first[rows[0]], times)
        rows = [*(own[found] for own in rows), partners]
    return rows


def _pairs(times: Floats, others: Floats) -> tuple[Integers, Integers]:
    """Return the rows of equal instants of two runs; each has one partner."""
    if not len(times) or not len(others):
        return np.arange(0), np.arange(0)
    steps = np.concatenate([np.diff(times), np.diff(others)])
    spacing = np.min(steps[steps > 0.0], initial=np.inf)
    near = NEAR * spacing if np.isfinite(spacing) else 1e-12
    after = np.clip(np.searchsorted(others, times), 0, len(others) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(others[before] - times) <= np.abs(others[after] - times), before, after)
    found = np.flatnonzero(np.abs(others[nearest] - times) <= near + 1e-12 * np.abs(times))
    found = found[np.unique(nearest[found], return_index=True)[1]]
    return found, nearest[found]
