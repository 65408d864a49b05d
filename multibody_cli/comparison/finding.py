"""What was found in one dataset, in words that a user can follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from multibody_cli.comparison.differences import Differences, Place
from multibody_cli.comparison.tolerance import Tolerance


class Location(NamedTuple):
    """Where a number stands: its time (s, None for what does not change), body and component, and the numbers."""

    time: float | None
    body: str
    component: str
    place: Place

    def __str__(self) -> str:
        return " ".join(filter(None, (self.body, self.component))) or "-"


@dataclass(frozen=True)
class Finding:
    """One dataset, compared.

    Parameters
    ----------
    path, units, role
        Of the dataset.
    tolerance
        What was allowed, and who said so.
    compared, exceeding
        How many numbers were compared, and how many of them differ by more.
    largest, worst, parted
        The largest difference, the one that is largest by its tolerance, and the worst at the first instant at which
        one exceeds it; None where there is none.
    """

    path: str
    units: str
    role: str
    tolerance: Tolerance
    compared: int
    exceeding: int
    largest: Location | None
    worst: Location | None
    parted: Location | None

    @classmethod
    def of(
        cls, path: str, units: str, role: str, differences: Differences, locate: Callable[[Place], Location]
    ) -> Finding:
        """Tell what was gathered of a dataset."""
        places = (differences.largest, differences.worst, differences.parted)
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
        """Whether a number differs by more than is allowed."""
        return self.exceeding > 0
