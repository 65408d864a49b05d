"""Finding: the result of the comparison of one dataset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from multibody_cli.comparison.differences import Differences, Place
from multibody_cli.comparison.tolerance import Tolerance

EFFORT = "effort"
"""Role of channels that count iterations (`output.channel.ROLES`)."""


class Location(NamedTuple):
    """Location of a difference: time (s; None for a constant dataset), body, component, and the values."""

    time: float | None
    body: str
    component: str
    place: Place

    def __str__(self) -> str:
        return " ".join(filter(None, (self.body, self.component))) or "-"


@dataclass(frozen=True)
class Finding:
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
        cls, path: str, units: str, role: str, differences: Differences, locate: Callable[[Place], Location]
    ) -> Finding:
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
    def differs(self) -> bool:
        """Whether a result differs beyond tolerance; numbers of iterations are no result."""
        return self.exceeding > 0 and self.role != EFFORT
