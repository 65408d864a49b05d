"""Differences of one dataset from equivalent values, accumulated slab by slab, and the finding that they make."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from multibody_cli.comparison.tolerance import Tolerance
from multibody_cli.immutable import Immutable
from multibody_cli.model import Floats

EFFORT = "effort"
"""Role of channels that count iterations (`output.channel.ROLES`)."""


class ComparedValue(Immutable):
    """One value of a dataset in both runs.

    Parameters
    ----------
    row
        Index among the compared pairs of instants.
    index
        Indices of the axes after time.
    reference, result
        The values; of the equivalent values of the result, the nearest to the reference.
    difference
        |result - reference|; infinite if only one of them is finite.
    excess
        Ratio of the difference to its tolerance.
    """

    row: int
    index: tuple[int, ...]
    reference: float
    result: float
    difference: float
    excess: float


@dataclass
class Differences:
    """Accumulated differences of one dataset.

    Parameters
    ----------
    tolerance
        Tolerance of the dataset.
    same
        Equivalence of values, the attribute `same` of the dataset.

    Attributes
    ----------
    compared, exceeding
        Number of compared values, and number of differences beyond tolerance.
    largest
        The largest difference; None if all values are equal.
    worst
        The difference with the largest excess.
    first
        The difference with the largest excess at the first instant beyond tolerance; None if there is no such instant.
    """

    tolerance: Tolerance
    same: str = ""
    compared: int = 0
    exceeding: int = 0
    largest: ComparedValue | None = None
    worst: ComparedValue | None = None
    first: ComparedValue | None = None

    def exceeds(self, reference: Floats, result: Floats) -> bool:
        """Return whether values (K, ...) differ beyond tolerance; they are not accumulated."""
        alone = Differences(self.tolerance, self.same)
        alone.add(reference, result, 0)
        return alone.exceeding > 0

    def add(self, reference: Floats, result: Floats, row: int) -> None:
        """Compare values (K, ...) of both runs; `row` is the number of preceding pairs of instants."""
        self.compared += reference.size
        if not reference.size or np.array_equal(reference, result):
            return
        reference, result = reference.astype(np.float64), result.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            result = nearest_equivalent(result, reference, self.same)
            difference = np.abs(result - reference)
            are_equal = (result == reference) | (np.isnan(result) & np.isnan(reference))
            difference = np.where(are_equal, 0.0, np.where(np.isnan(difference), np.inf, difference))
            allowed = self.tolerance.atol + self.tolerance.rtol * np.abs(reference)
            allowed = np.where(np.isfinite(reference), allowed, 0.0)  # a finite value never matches an infinite one
            excess = np.where(are_equal, 0.0, np.nan_to_num(difference / allowed, nan=np.inf, posinf=np.inf))
        beyond = ~(are_equal | (difference <= allowed))
        self.exceeding += int(np.count_nonzero(beyond))

        def place(at: int) -> ComparedValue:
            first, *index = (int(step) for step in np.unravel_index(at, reference.shape))
            numbers = (float(array.flat[at]) for array in (reference, result, difference, excess))
            return ComparedValue(row + first, tuple(index), *numbers)

        self.largest = _greater(self.largest, place(int(np.argmax(difference))), "difference")
        self.worst = _greater(self.worst, place(int(np.argmax(excess))), "excess")
        if self.first is None and beyond.any():
            flat = np.where(beyond, excess, -1.0).reshape(len(reference), -1)
            first = int(np.argmax(beyond.reshape(len(reference), -1).any(axis=1)))
            self.first = place(first * flat.shape[1] + int(np.argmax(flat[first])))


def _greater(known: ComparedValue | None, found: ComparedValue, by: str) -> ComparedValue | None:
    if not found.difference > 0.0:
        return known
    return found if known is None or getattr(found, by) > getattr(known, by) else known


class Location(NamedTuple):
    """Location of a difference: time (s; None for a constant dataset), body, component, and the values."""

    time: float | None
    body: str
    component: str
    place: ComparedValue

    def __str__(self) -> str:
        return " ".join(filter(None, (self.body, self.component))) or "-"


class DatasetDifference(Immutable):
    """Result of the comparison of one dataset.

    Parameters
    ----------
    path, units, role
        Attributes of the dataset.
    tolerance
        The tolerance and its source.
    compared, exceeding
        Number of compared values, and number of differences beyond tolerance.
    largest, worst, first
        The largest difference, the difference with the largest excess, and the latter at the first instant beyond
        tolerance; None if there is none.
    """

    path: str
    units: str
    role: str
    tolerance: Tolerance
    compared: int
    exceeding: int
    largest: Location | None
    worst: Location | None
    first: Location | None

    @classmethod
    def of(
        cls, path: str, units: str, role: str, differences: Differences, locate: Callable[[ComparedValue], Location]
    ) -> DatasetDifference:
        """Create a finding from accumulated differences."""
        places = (differences.largest, differences.worst, differences.first)
        return cls(
            path,
            units,
            role,
            differences.tolerance,
            differences.compared,
            differences.exceeding,
            *(locate(place) if place else None for place in places),
        )

    @property
    def excess(self) -> float:
        """Largest ratio of a difference to its tolerance; 0 without a difference."""
        return self.worst.place.excess if self.worst else 0.0

    @property
    def differs(self) -> bool:
        """Whether a result differs beyond tolerance; numbers of iterations are no result."""
        return self.exceeding > 0 and self.role != EFFORT


def nearest_equivalent(result: Floats, reference: Floats, same: str) -> Floats:
    """Replace values by the equivalent values nearest to the reference.

    Parameters
    ----------
    result, reference
        (K, ..., n) values of one channel at K instants.
    same
        Equivalence of the channel: one key for all n components, or a comma-separated list.
    """
    words = [word.strip() for word in same.split(",")]
    if len(words) == 1:
        return EQUIVALENCES.get(words[0], _itself)(result, reference)
    nearest, start = result.copy(), 0
    for word, run in groupby(words):
        columns = slice(start, start + len(list(run)))
        nearest[..., columns] = EQUIVALENCES.get(word, _itself)(result[..., columns], reference[..., columns])
        start = columns.stop
    return nearest


def _itself(result: Floats, reference: Floats) -> Floats:
    return result


def _sign(result: Floats, reference: Floats) -> Floats:
    """Return q or -q, which represent the same rotation, whichever is nearer to the reference."""
    agreement = np.einsum("...i,...i->...", result, reference)[..., None]
    nearer: Floats = np.where(agreement < 0.0, -result, result)
    return nearer


def _turn(result: Floats, reference: Floats) -> Floats:
    """Subtract whole turns from an angle such that it is nearest to the reference."""
    turns = np.round((result - reference) / math.tau)
    # an angle without a whole turn is unchanged to the last bit
    nearer: Floats = np.where(turns == 0.0, result, result - math.tau * turns)
    return nearer


def _rotation(result: Floats, reference: Floats) -> Floats:
    """Return the rotation vector r (1 + 2 pi k / |r|) of the same rotation nearest to the reference."""
    vectors, references = (numbers.reshape(*numbers.shape[:-1], -1, 3) for numbers in (result, reference))
    angle, size = (np.linalg.norm(numbers, axis=-1, keepdims=True) for numbers in (vectors, references))
    # the identity equals whole turns about any axis
    direction = np.where(angle > 0.0, vectors, references)
    axis = direction / np.where(angle > 0.0, angle, np.where(size > 0.0, size, 1.0))
    turns = np.round((np.einsum("...i,...i->...", axis, references)[..., None] - angle) / math.tau)
    nearer: Floats = np.where(turns == 0.0, vectors, vectors + math.tau * turns * axis)
    return nearer.reshape(result.shape)


EQUIVALENCES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "": _itself,
    "itself": _itself,
    "sign": _sign,
    "turn": _turn,
    "rotation": _rotation,
}
"""Functions by value of `Channel.same`: (result, reference) -> equivalent of the result nearest to the reference."""
