"""Pareto front of cost and accuracy, and the recommended run for a given accuracy.

A run dominates another if it is no worse in error and in cost, and better in one of them; the front consists of the
runs that no run dominates. Errors are rounded to three digits as displayed, and errors that the reference cannot
resolve are replaced by the bound that it implies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

RESOLVED = 10.0
"""Smallest ratio of a resolved error to the error of the reference; smaller errors are only bounded."""

TRUSTED = 0.05
"""Largest error of the reference, relative to the requested accuracy."""

RAISED = 1.05
"""Factor of an advised accuracy, so that two digits of it are not too small."""


class Candidate(Protocol):
    """A run: its description, its error (m) and its cost (s per simulated s), None if it diverged."""

    @property
    def description(self) -> str:
        """Description of the run."""

    @property
    def error(self) -> float | None:
        """Error, m."""

    @property
    def seconds(self) -> float | None:
        """Wall time per simulated second, s."""


@dataclass(frozen=True)
class Recommendation:
    """Index of the recommended run among the candidates (None if there is none), and the reason."""

    index: int | None
    sentence: str


def displayed_error(error: float, reference_error: float) -> float:
    """Return an error as it is displayed and compared, m."""
    return float(f"{max(error, RESOLVED * reference_error):.3g}")


def front(runs: Sequence[Candidate], reference_error: float) -> list[bool]:
    """Return which runs no other run dominates; diverged runs are excluded."""
    points = [_point(run, reference_error) for run in runs]
    succeeded = [point for point in points if point is not None]
    return [point is not None and not any(_dominates(other, point) for other in succeeded) for point in points]


def recommend(runs: Sequence[Candidate], reference_error: float, wanted: float) -> Recommendation:
    """Return the cheapest run whose error, including that of the reference, is within the requested accuracy.

    Parameters
    ----------
    runs
        The runs.
    reference_error
        Estimated error of the reference, m.
    wanted
        Requested accuracy, m.
    """
    if reference_error > TRUSTED * wanted:
        return Recommendation(
            None,
            f"no recommendation for {wanted:.3g} m, which needs a reference within {TRUSTED * wanted:.2g} m: the error "
            f"of this one is {reference_error:.2g} m; request {RAISED * reference_error / TRUSTED:.2g} m or more, or "
            "shorten the run with --duration",
        )
    points = [_point(run, reference_error) for run in runs]
    succeeded = [(*point, k) for k, point in enumerate(points) if point is not None]
    if not succeeded:
        return Recommendation(None, f"no recommendation for {wanted:.3g} m: every run diverged")
    good = [(seconds, error, k) for error, seconds, k in succeeded if error + reference_error <= wanted]
    if not good:
        error, _, k = min(succeeded)
        worst = error + reference_error
        return Recommendation(
            None,
            f"no run of {len(runs)} reaches {wanted:.3g} m: the best, {runs[k].description}, has an error of "
            f"{error:.3g} m, and {worst:.3g} m with that of the reference, {worst / wanted:.3g} times as large",
        )
    seconds, error, k = min(good)
    return Recommendation(
        k,
        f"for {wanted:.3g} m use {runs[k].description}: error {error:.3g} m, {seconds:.3g} s per simulated second "
        f"({1 / seconds:.4g} x real time), the fastest of those that reach it, {len(good)} of {len(runs)}",
    )


def _point(run: Candidate, reference_error: float) -> tuple[float, float] | None:
    if run.error is None or run.seconds is None:
        return None
    return displayed_error(run.error, reference_error), run.seconds


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] <= other[0] and one[1] <= other[1]
