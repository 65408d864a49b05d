"""Which instants two runs have in common, and in which pieces to read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multibody_cli.comparison.recording import Recording

if TYPE_CHECKING:
    from multibody_cli.model import Floats, Integers

ROWS_AT_ONCE = 2**18

NEAR = 1e-6
"""Instants are the same where they differ by less than this part of the interval to the next one."""


class Rows(NamedTuple):
    """Rows to take of a file: `which` of those from `start` up to `stop`, counted from `start` on."""

    start: int
    stop: int
    which: Integers


@dataclass(frozen=True)
class Stretch:
    """`count` pairs of rows: the k-th is `reference + k * reference_stride` beside `result + k * result_stride`."""

    reference: int
    result: int
    reference_stride: int
    result_stride: int
    count: int

    def pair(self, number: int) -> tuple[int, int]:
        """Rows of one of the pairs in both files."""
        return self.reference + number * self.reference_stride, self.result + number * self.result_stride

    def pairs(self) -> tuple[Integers, Integers]:
        """Rows of all pairs in both files."""
        numbers = np.arange(self.count, dtype=np.int64)
        return self.reference + numbers * self.reference_stride, self.result + numbers * self.result_stride

    def part(self, first: int, last: int) -> Stretch:
        """Cut out the pairs from `first` up to `last`, or to the end."""
        return Stretch(*self.pair(first), self.reference_stride, self.result_stride, min(last, self.count) - first)


@dataclass(frozen=True)
class Instants:
    """The instants that two runs have in common, in order, as pairs of rows.

    Parameters
    ----------
    stretches
        Where the pairs lie.
    """

    stretches: tuple[Stretch, ...]

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(stretch.count for stretch in self.stretches)

    def pair(self, number: int) -> tuple[int, int]:
        """Rows of one of the instants in both files; from the end where the number is negative."""
        number %= self.count
        for stretch in self.stretches:
            if number < stretch.count:
                return stretch.pair(number)
            number -= stretch.count
        raise IndexError(number)

    def slabs(self, most: int) -> Iterator[tuple[Rows, Rows]]:
        """Give all pairs in pieces for which at most some `most` rows are read, those between them included."""
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
    """How many rows of a file lie from the first pair of one stretch to the last of another, at most."""
    return max(end - start + 1 for start, end in zip(first.pair(0), last.pair(last.count - 1), strict=True))


def _rows(piece: list[Stretch]) -> tuple[Rows, Rows]:
    """Rows of both files for all pairs of some stretches."""
    pairs = [stretch.pairs() for stretch in piece]
    one, other = (np.concatenate([pair[file] for pair in pairs]) for file in (0, 1))
    return _taken(one), _taken(other)


def _taken(rows: Integers) -> Rows:
    return Rows(int(rows[0]), int(rows[-1]) + 1, rows - rows[0])


def common_instants(reference: Recording, result: Recording) -> Instants:
    """Find the rows of both that belong to the same instants, in order, without holding either file's times."""
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
    """Give rows of common instants, piece by piece."""
    behind = 0  # rows of the result that lie before the piece
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
    found = found[np.unique(nearest[found], return_index=True)[1]]  # no row has two partners
    return found, nearest[found]


def _cut(rows: Integers, others: Integers) -> Iterator[Stretch]:
    """Cut pairs of rows into stretches of equal strides."""
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
    """Make two stretches one, where the second goes on as the first does."""
    last = first.pair(first.count - 1)
    strides = second.reference - last[0], second.result - last[1]
    fits = all(one.count == 1 or (one.reference_stride, one.result_stride) == strides for one in (first, second))
    if not fits or min(strides) < 1:
        return None
    return Stretch(first.reference, first.result, *strides, first.count + second.count)
