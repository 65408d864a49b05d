"""Limits of the size of a scene, of its files and of its run, checked before the work is done.

They bound time and memory of scenes by unknown authors. Each has a generous default, which the environment variable
`MBSIM_LIMITS` replaces: `MBSIM_LIMITS=values=2e7,instants=1e8`.
"""

from __future__ import annotations

import math
import os
from functools import lru_cache
from typing import NamedTuple

from multibody_cli.errors import ArgumentError, Refused, nearest

VARIABLE = "MBSIM_LIMITS"


class Limit(NamedTuple):
    """A limit: its default, and the name of the counted things."""

    default: int
    meaning: str


LIMITS = {
    "bytes": Limit(100_000_000, "bytes in the files of a scene"),
    "values": Limit(5_000_000, "values, with those that aliases, variables, repeats and tables add"),
    "characters": Limit(20_000_000, "characters in the values of `${...}`"),
    "elements": Limit(20_000, "bodies and joints, with those of strands"),
    "curve_points": Limit(500, "control points of a B-spline"),
    "vertices": Limit(20_000, "vertices of a mesh with contacts"),
    "steps": Limit(10**12, "steps"),
    "instants": Limit(10_000_000, "output instants"),
    "contacts": Limit(1_000_000, "simultaneous contacts"),
    "excluded_pairs": Limit(5_000_000, "pairs of bodies without contacts"),
    "runs": Limit(10_000_000, "runs of a sweep"),
    "result": Limit(100_000_000_000, "bytes in the result file, without those of contacts"),
}
"""All limits by name."""


class LimitError(Refused, ValueError):
    """A scene asks for more than a limit."""


def limit_of(name: str) -> int:
    """Return a limit, from `MBSIM_LIMITS` or its default.

    Raises
    ------
    ArgumentError
        `MBSIM_LIMITS` is invalid.
    """
    return _limits(os.environ.get("MBSIM_LIMITS", "")).get(name, LIMITS[name].default)


def require_within(name: str, count: float) -> None:
    """Raise a `LimitError` if a count exceeds a limit."""
    most = limit_of(name)
    if count > most:
        raise LimitError(
            f"expected at most {most:g} {LIMITS[name].meaning}, found {_at_least(count)}; "
            f"{VARIABLE}={name}={_at_least(count)} raises the limit"
        )


class Usage:
    """Counts the use, by the parts of a scene, of limits that hold for their sum."""

    def __init__(self) -> None:
        self._left = {name: limit_of(name) for name in LIMITS}

    def add(self, name: str, count: int) -> None:
        """Add to a count; raise a `LimitError` if the sum exceeds its limit."""
        self._left[name] -= count
        if self._left[name] < 0:
            require_within(name, limit_of(name) - self._left[name])

    def copy(self) -> Usage:
        """Return a counter that goes on from these counts."""
        new = Usage()
        new._left = dict(self._left)
        return new

    def left(self, name: str) -> int:
        """Return the difference of a limit and its count."""
        return self._left[name]


def _at_least(count: float) -> str:
    """Format a count with two digits, rounded up."""
    if not math.isfinite(count):
        return "infinity"
    shift = 10 ** max(0, len(str(math.ceil(count))) - 2)
    return f"{-(-math.ceil(count) // shift) * shift:g}"


@lru_cache(maxsize=1)
def _limits(text: str) -> dict[str, int]:
    found = {}
    for entry in filter(None, text.split(",")):
        name, _, number = (word.strip() for word in entry.partition("="))
        if name not in LIMITS:
            raise ArgumentError(f"{VARIABLE}={text}: unknown limit `{name}`; {nearest(name, LIMITS)}")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not 1 <= value <= 1e18:
            raise ArgumentError(f"{VARIABLE}={text}: expected {name}=NUMBER, from 1 to 1e18")
        found[name] = int(value)
    return found
