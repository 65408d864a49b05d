"""Cost against accuracy: which runs are not beaten in both, and which of them to take for an accuracy.

A run dominates another if it is no worse in error and in cost, and better in one of them; the front is what no run
dominates.  Errors count as they are shown, in three digits, and those that the reference is not fine enough to tell
from none count as the bound that it gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

RESOLVED = 10.0
"""How often an error exceeds that of the reference if it is to be told; of a smaller one only this bound is known."""

TRUSTED = 0.05
"""Part of the accuracy asked for that the error of the reference may be."""


class Candidate(Protocol):
    """What is known of a run: how it is written, its error (m) and its cost (s a simulated s), None if it diverged."""

    @property
    def words(self) -> str:
        """What was run, in a sentence."""

    @property
    def error(self) -> float | None:
        """Error, m."""

    @property
    def seconds(self) -> float | None:
        """Time for a simulated second."""


@dataclass(frozen=True)
class Recommendation:
    """Which run to take, by its number among the candidates (None: none of them), and why."""

    index: int | None
    sentence: str


def visible(error: float, reference_error: float) -> float:
    """Give an error as it is shown and compared, m."""
    return float(f"{max(error, RESOLVED * reference_error):.3g}")


def front(runs: Sequence[Candidate], reference_error: float) -> list[bool]:
    """Tell which runs no other run dominates; one that diverged is none of them."""
    points = [_point(run, reference_error) for run in runs]
    sound = [point for point in points if point is not None]
    return [point is not None and not any(_dominates(other, point) for other in sound) for point in points]


def recommend(runs: Sequence[Candidate], reference_error: float, wanted: float) -> Recommendation:
    """Find the cheapest run whose error is below what is wanted, whatever the reference is off by.

    Parameters
    ----------
    runs
        The runs.
    reference_error
        How far the reference itself may be off, m.
    wanted
        Accuracy that is asked for, m.
    """
    if reference_error > TRUSTED * wanted:
        return Recommendation(
            None,
            f"nothing can be recommended for {wanted:.3g} m: the reference itself is known to {reference_error:.2g} m "
            "only; ask for less, or shorten the run with --duration",
        )
    points = [_point(run, reference_error) for run in runs]
    sound = [(*point, k) for k, point in enumerate(points) if point is not None]
    if not sound:
        return Recommendation(None, f"nothing can be recommended for {wanted:.3g} m: every run diverged")
    good = [(seconds, error, k) for error, seconds, k in sound if error + reference_error <= wanted]
    if not good:
        error, _, k = min(sound)
        return Recommendation(
            None,
            f"none of {len(runs)} reaches {wanted:.3g} m: the nearest, {runs[k].words}, has an error of {error:.3g} m, "
            f"{error / wanted:.3g} times that",
        )
    seconds, error, k = min(good)
    return Recommendation(
        k,
        f"for {wanted:.3g} m take {runs[k].words}: its error is {error:.3g} m, and {seconds:.3g} s for a simulated "
        f"second ({1 / seconds:.4g} x real time) is the least of the {len(good)} of {len(runs)} that reach it",
    )


def _point(run: Candidate, reference_error: float) -> tuple[float, float] | None:
    if run.error is None or run.seconds is None:
        return None
    return visible(run.error, reference_error), run.seconds


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] <= other[0] and one[1] <= other[1]
