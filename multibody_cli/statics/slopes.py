"""Slopes of a function along a line on which it may have kinks, by differences to both sides and to each one.

Values at equal distances have a slope, and samples of its error that vanish for polynomials: of the odd and of the even
part for central differences, so that a kink at 0, which is even, has a large sample.  Each of the three differences has
the offset with the least samples.  A kink beside 0 leaves one side smooth, whose samples are the least.  If both sides
are smooth and their slopes differ, the kink is at 0, as far as differences can resolve it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.kernel import Floats
from multibody_cli.statics.second_variation import CERTAIN

JUMP = 1e-6
"""Difference of the slopes to both sides, relative to them, from which the function has a kink."""

ROUND_OFF = 1e-11
"""Size of samples, relative to the slope, that is round-off."""

AGREEMENT = 1e-6
"""Difference of an exact derivative from a slope, relative to it, that is an error of the slope."""

LARGEST_ERROR = 1e-2
"""Error of a slope, relative to it, with which it cannot agree with any other."""


def allowed_difference(error: Any, size: Any) -> Any:
    """Return the difference of an exact derivative from a slope of a size, with an error, up to which they agree."""
    return np.minimum(CERTAIN * error, LARGEST_ERROR * size) + AGREEMENT * size


def side_of_kink(name: str, side: float) -> str:
    """Return the words for the side of a kink on which an input or a coordinate increases (1) or decreases (-1)."""
    return f"{name} {'increases' if side > 0 else 'decreases'}"


class Stencil(NamedTuple):
    """Weights of values at -K, ..., K offsets: of the slope (2 K + 1,), and of samples of its error (p, 2 K + 1)."""

    slope: Floats
    samples: Floats
    side: int


class Slope(NamedTuple):
    """A slope (n,), and samples of its error (p, n); to both sides, `side` 0, or to the side 1 or -1."""

    value: Floats
    samples: Floats
    side: int

    @property
    def error(self) -> Floats:
        """The largest sample (n,)."""
        return np.asarray(np.abs(self.samples).max(axis=0))


class Slopes(NamedTuple):
    """The best slope, all slopes by offset and side, the best ones to the sides 1 and -1, and whether these differ."""

    best: Slope
    all: tuple[Slope, ...]
    sides: tuple[Slope, Slope]
    has_kink: bool

    def agreeing(self, value: Floats, size: Callable[[Floats], float], least: float) -> Slope | None:
        """Return a slope, of any offset and side, with which a value (n,) agrees; see `slopes_along`."""
        whole = size(value[None]) + least
        for one in (self.best, *self.all):
            if size((value - one.value)[None]) <= allowed_difference(size(one.samples), whole):
                return one
        return None


def slopes_along(
    values: Callable[[float], Floats],
    stencils: Sequence[Stencil],
    offsets: Sequence[float],
    finer: Sequence[float],
    size: Callable[[Floats], float],
    least: float,
) -> Slopes:
    """Return the slopes of a function at 0.

    Parameters
    ----------
    values
        The values (2 K + 1, n) at multiples -K, ..., K of an offset.
    stencils
        The differences: central, and to the sides 1 and -1.
    offsets, finer
        Offsets; and those of further slopes if the error of the best one is more than round-off, or there is a kink.
        One of these is the best only if no other one is good: they have round-off.
    size
        Size of slopes, or of samples of their errors, (p, n).
    least
        Size of slopes that counts.
    """

    def differences(chosen: Sequence[float]) -> Iterator[Slope]:
        for offset in chosen:
            each = values(offset) / offset
            yield from (Slope(one.slope @ each, one.samples @ each, one.side) for one in stencils)

    found = tuple(differences(offsets))
    slopes = _best(found, size, least)
    error, value = size(slopes.best.samples), size(slopes.best.value[None]) + least
    if not slopes.has_kink and error <= ROUND_OFF * value:
        return slopes
    found += tuple(differences(finer))
    return _best(found, size, least) if slopes.has_kink or error > JUMP * value else slopes._replace(all=found)


def _best(found: tuple[Slope, ...], size: Callable[[Floats], float], least: float) -> Slopes:
    def error(one: Slope) -> float:
        return size(one.samples)

    best = {side: min((one for one in found if one.side == side), key=error) for side in (0, 1, -1)}
    sides = best[1], best[-1]
    values = [size(one.value[None]) + least for one in sides]
    errors = [max(error(one), ROUND_OFF * value) for one, value in zip(sides, values, strict=True)]
    has_kink = size((best[1].value - best[-1].value)[None]) > CERTAIN * sum(errors) + JUMP * sum(values)
    side = sides[int(np.argmin(errors))]
    is_beside = CERTAIN * error(side) < error(best[0])  # else central differences have less round-off
    return Slopes(side if has_kink or is_beside else best[0], found, sides, has_kink)
