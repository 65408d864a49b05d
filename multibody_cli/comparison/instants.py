"""Which instants two runs have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.comparison.recording import Recording

if TYPE_CHECKING:
    from multibody_cli.model import Floats, Integers

ROWS_AT_ONCE = 2**18

NEAR = 1e-6
"""Instants are the same where they differ by less than this part of the interval to the next one."""


@dataclass(frozen=True)
class Stretch:
    """`count` pairs of rows: the k-th is `reference + k * reference_stride` beside `result + k * result_stride`."""

    reference: int
    result: int
    reference_stride: int
    result_stride: int
    count: int

    def rows(self, first: int, count: int) -> tuple[slice, slice]:
        """Slices of both files for the pairs from `first` on."""
        return (
            _slice(self.reference, self.reference_stride, first, count),
            _slice(self.result, self.result_stride, first, count),
        )


def _slice(start: int, stride: int, first: int, count: int) -> slice:
    begin = start + first * stride
    return slice(begin, begin + (count - 1) * stride + 1, stride)


def common_instants(reference: Recording, result: Recording) -> list[Stretch]:
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
    return stretches


def _pairs(reference: Recording, result: Recording) -> Iterator[tuple[Integers, Integers]]:
    """Give rows of common instants, piece by piece."""
    behind = 0  # rows of the result that lie before the piece
    for start in range(0, reference.instants, ROWS_AT_ONCE):
        times = reference.read("time", slice(start, min(start + ROWS_AT_ONCE, reference.instants)))
        for begin in range(behind, result.instants, ROWS_AT_ONCE):
            others = result.read("time", slice(begin, min(begin + ROWS_AT_ONCE, result.instants)))
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
    found = np.abs(others[nearest] - times) <= near + 1e-12 * np.abs(times)
    return np.flatnonzero(found), nearest[found]


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
    strides = second.reference - _last(first)[0], second.result - _last(first)[1]
    fits = all(one.count == 1 or (one.reference_stride, one.result_stride) == strides for one in (first, second))
    if not fits or min(strides) < 1:
        return None
    return Stretch(first.reference, first.result, *strides, first.count + second.count)


def _last(stretch: Stretch) -> tuple[int, int]:
    steps = stretch.count - 1
    return stretch.reference + steps * stretch.reference_stride, stretch.result + steps * stretch.result_stride
