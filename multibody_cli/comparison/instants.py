"""Common output instants of two runs, and their division into slabs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.comparison.recording import Recording, Rows

if TYPE_CHECKING:
    from multibody_cli.model import Floats, Integers

ROWS_AT_ONCE = 2**18

NEAR = 1e-6
"""Instants are equal if they differ by less than this fraction of the output interval."""


@dataclass(frozen=True)
class Stretch:
    """`count` pairs of rows; pair k is (`reference + k * reference_stride`, `result + k * result_stride`)."""

    reference: int
    result: int
    reference_stride: int
    result_stride: int
    count: int

    def pair(self, number: int) -> tuple[int, int]:
        """Return the rows of one pair in both files."""
        return self.reference + number * self.reference_stride, self.result + number * self.result_stride

    def pairs(self) -> tuple[Integers, Integers]:
        """Return the rows of all pairs in both files."""
        numbers = np.arange(self.count, dtype=np.int64)
        return self.reference + numbers * self.reference_stride, self.result + numbers * self.result_stride

    def part(self, first: int, last: int) -> Stretch:
        """Return the pairs from `first` to `last` - 1, or to the end."""
        return Stretch(*self.pair(first), self.reference_stride, self.result_stride, min(last, self.count) - first)


@dataclass(frozen=True)
class Instants:
    """Common instants of two runs, in order, as pairs of rows.

    Parameters
    ----------
    stretches
        Sequences of pairs with constant strides.
    """

    stretches: tuple[Stretch, ...]

    @property
    def count(self) -> int:
        """Number of common instants."""
        return sum(stretch.count for stretch in self.stretches)

    def pair(self, number: int) -> tuple[int, int]:
        """Return the rows of one instant in both files; a negative number counts from the end."""
        number %= self.count
        for stretch in self.stretches:
            if number < stretch.count:
                return stretch.pair(number)
            number -= stretch.count
        raise IndexError(number)

    def slabs(self, most: int) -> Iterator[tuple[Rows, Rows]]:
        """Yield all pairs in slabs that span about `most` rows of each file at most."""
        piece: list[Stretch] = []
        for stretch in self.stretches:
            some = max(1, most // max(stretch.reference_stride, stretch.result_stride))
            for first in range(0, stretch.count, some):
                part = stretch.part(first, first + some)
                if piece and _span(piece[0], part) > most:
                    yield _rows(piece)
                    piece = []
                piece.append(part)
        if piece:
            yield _rows(piece)


def _span(first: Stretch, last: Stretch) -> int:
    """Number of rows from the first pair of one stretch to the last pair of another, maximum of both files."""
    return max(end - start + 1 for start, end in zip(first.pair(0), last.pair(last.count - 1), strict=True))


def _rows(piece: list[Stretch]) -> tuple[Rows, Rows]:
    """Rows of both files for all pairs of several stretches."""
    pairs = [stretch.pairs() for stretch in piece]
    one, other = (np.concatenate([pair[file] for pair in pairs]) for file in (0, 1))
    return _taken(one), _taken(other)


def _taken(rows: Integers) -> Rows:
    return Rows(int(rows[0]), int(rows[-1]) + 1, rows - rows[0])


def common_instants(reference: Recording, result: Recording) -> Instants:
    """Return the pairs of rows of equal instants, in order, without reading all times at once."""
    stretches: list[Stretch] = []
    for rows, others in _pairs(reference, result):
        for stretch in _cut(rows, others):
            last = stretches[-1] if stretches else None
            joined = _joined(last, stretch) if last is not None else None
            if joined is None:
                stretches.append(stretch)
            else:
                stretches[-1] = joined
    return Instants(tuple(stretches))


def _pairs(reference: Recording, result: Recording) -> Iterator[tuple[Integers, Integers]]:
    """Yield the rows of common instants, piece by piece."""
    behind = 0  # rows of the result before the piece
    for start in range(0, reference.instants, ROWS_AT_ONCE):
        times = reference.read("time", start, min(start + ROWS_AT_ONCE, reference.instants))
        for begin in range(behind, result.instants, ROWS_AT_ONCE):
            others = result.read("time", begin, min(begin + ROWS_AT_ONCE, result.instants))
            at, other = _matches(times, others)
            if len(at):
                yield start + at, begin + other
                behind = begin + int(other[-1])
            if others[-1] > times[-1]:
                break


def _matches(times: Floats, others: Floats) -> tuple[Integers, Integers]:
    spacing = np.inf
    for grid in (times, others):
        steps = np.diff(grid)
        spacing = min(spacing, float(np.min(steps[steps > 0.0], initial=np.inf)))
    near = NEAR * spacing if np.isfinite(spacing) else 1e-12
    after = np.clip(np.searchsorted(others, times), 0, len(others) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(others[before] - times) <= np.abs(others[after] - times), before, after)
    found = np.flatnonzero(np.abs(others[nearest] - times) <= near + 1e-12 * np.abs(times))
    found = found[np.unique(nearest[found], return_index=True)[1]]  # one-to-one pairing
    return found, nearest[found]


def _cut(rows: Integers, others: Integers) -> Iterator[Stretch]:
    """Divide pairs of rows into stretches of constant strides."""
    strides = np.column_stack([np.diff(rows), np.diff(others)])
    bends = np.append(np.flatnonzero((strides[1:] != strides[:-1]).any(axis=1)) + 1, len(strides))
    start = 0
    while start < len(strides):
        end = int(bends[np.searchsorted(bends, start, side="right")])
        stride, other_stride = (int(step) for step in strides[start])
        yield Stretch(int(rows[start]), int(others[start]), stride, other_stride, end - start + 1)
        start = end + 1
    if start < len(rows):
        yield Stretch(int(rows[start]), int(others[start]), 1, 1, 1)


def _joined(first: Stretch, second: Stretch) -> Stretch | None:
    """Merge two stretches if the second continues the first; else return None."""
    last = first.pair(first.count - 1)
    strides = second.reference - last[0], second.result - last[1]
    fits = all(one.count == 1 or (one.reference_stride, one.result_stride) == strides for one in (first, second))
    if not fits or min(strides) < 1:
        return None
    return Stretch(first.reference, first.result, *strides, first.count + second.count)
