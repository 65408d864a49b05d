"""The option `--vary KEY=VALUES`: lists, ranges and distributions of values.

10 deg, 20 deg, 30 deg        a list; values are separated by commas outside of brackets and quotes
0 deg : 90 deg : 10           10 values at equal distances, from the first to the last
1e-4 : 1e-2 : 5 : log         5 values at equal ratios
uniform(0, 1)                 random values, with `--samples` and `--seed`
normal(5 kg, 100 g)           mean and standard deviation
loguniform(1e-3, 1)           the logarithm is uniform
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from multibody_cli.errors import ArgumentError, QuantityError, nearest
from multibody_cli.immutable import Immutable
from multibody_cli.limits import require_within
from multibody_cli.model import Floats
from multibody_cli.spec import units

_OPEN, _CLOSED = "([{", ")]}"
_CALL = re.compile(r"\s*([a-z_]\w*)\((.*)\)\s*", re.DOTALL)
SHOWN = "a list `1, 2, 3`, a range `START:STOP:COUNT`, or a distribution such as `uniform(0, 1)`"


class Distribution(Immutable):
    """A random value.

    Parameters
    ----------
    name
        A key of `QUANTILES`.
    first, second
        Its two parameters, in `unit`.
    unit
        The unit of the values; empty for plain numbers.
    """

    name: str
    first: float
    second: float
    unit: str

    def texts(self, probabilities: Floats) -> tuple[str, ...]:
        """Return the values (N,) at cumulative probabilities (N,)."""
        numbers = QUANTILES[self.name](probabilities, self.first, self.second)
        return tuple(with_unit(number, self.unit) for number in numbers.tolist())


def _normal(u: Floats, mean: float, deviation: float) -> Floats:
    from scipy.special import ndtri

    return np.asarray(mean + deviation * ndtri(u))


QUANTILES: dict[str, Callable[[Floats, float, float], Floats]] = {
    "uniform": lambda u, low, high: low + (high - low) * u,
    "normal": _normal,
    "loguniform": lambda u, low, high: low * (high / low) ** u,
}
"""Quantile functions of the distributions: values at cumulative probabilities."""


def split(text: str, separator: str) -> list[str]:
    """Split a text at a separator outside of brackets and quotes."""
    pieces, depth, quote, start = [], 0, "", 0
    for index, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSED:
            depth -= 1
        elif letter == separator and depth == 0:
            pieces.append(text[start:index].strip())
            start = index + 1
    return [*pieces, text[start:].strip()]


def read_values(text: str) -> tuple[str, ...] | Distribution:
    """Read VALUES.

    Returns
    -------
    tuple of str or Distribution
        The values as texts that `--set` accepts, or a distribution.

    Raises
    ------
    ArgumentError
        The text is none of the forms.
    """
    call = _CALL.fullmatch(text)
    if call is not None:
        return _distribution(call[1], call[2], text)
    return tuple(value for piece in split(text, ",") for value in _values_of(piece, text))


def with_unit(number: float, unit: str) -> str:
    """Return a number with its unit, as the shortest text that reads back to the same number."""
    return f"{number!r} {unit}" if unit else repr(number)


def _values_of(piece: str, text: str) -> Iterator[str]:
    """Yield the values of one entry of a list: itself, or those of a range."""
    fields = split(piece, ":")
    if len(fields) == 1:
        if not piece:
            raise ArgumentError(f"`{text}`: a value is missing; expected {SHOWN}")
        yield piece
        return
    words = fields[3:]
    if len(fields) < 3 or words not in ([], ["log"]):
        raise ArgumentError(f"`{piece}`: expected a range START:STOP:COUNT, or START:STOP:COUNT:log")
    start, stop, unit = _pair(fields[0], fields[1], piece)
    if not fields[2].isdecimal() or int(fields[2]) < 1:
        raise ArgumentError(f"`{piece}`: expected the number of values, at least 1, found `{fields[2]}`")
    require_within("runs", int(fields[2]))
    if words and not (start > 0.0 < stop or start < 0.0 > stop):
        raise ArgumentError(f"`{piece}`: both ends of a logarithmic range have the same sign, and none is 0")
    space = np.geomspace if words else np.linspace
    yield from (with_unit(number, unit) for number in space(start, stop, int(fields[2])).tolist())


def _distribution(name: str, arguments: str, text: str) -> Distribution:
    if name not in QUANTILES:
        raise ArgumentError(f"`{text}`: unknown distribution `{name}`; {nearest(name, QUANTILES)}")
    fields = split(arguments, ",")
    if len(fields) != 2:
        raise ArgumentError(f"`{text}`: `{name}` takes two numbers, {len(fields)} given")
    first, second, unit = _pair(fields[0], fields[1], text)
    if name == "loguniform" and not 0.0 < first < second:
        raise ArgumentError(f"`{text}`: expected two positive numbers, the smaller first")
    if name == "uniform" and not first < second:
        raise ArgumentError(f"`{text}`: expected two numbers, the smaller first")
    if name == "normal" and second <= 0.0:
        raise ArgumentError(f"`{text}`: expected a positive standard deviation")
    return Distribution(name, first, second, unit)


def _pair(one: str, other: str, text: str) -> tuple[float, float, str]:
    """Read two numbers of one dimension; return them in one unit: that which both have, else the SI unit."""
    parts = [units.split_quantity(word) for word in (one, other)]
    if parts[0] is None or parts[1] is None:
        wrong = one if parts[0] is None else other
        raise ArgumentError(f"`{text}`: expected a number, with or without a unit, found `{wrong}`")
    (first, unit), (second, other_unit) = parts[0], parts[1]
    try:
        found = [units.quantity(word) for word in (one, other)]
    except QuantityError as error:
        raise ArgumentError(f"`{text}`: {error}") from None
    assert found[0] is not None
    assert found[1] is not None
    if (unit == "") != (other_unit == "") or found[0][1] != found[1][1]:
        raise ArgumentError(f"`{text}`: write both numbers with the same unit")
    pair = (first, second, unit) if unit == other_unit else (found[0][0], found[1][0], "")
    if not all(map(math.isfinite, pair[:2])):
        raise ArgumentError(f"`{text}`: expected finite numbers")
    return pair


def numbers_of(texts: Sequence[str]) -> tuple[str, Floats | None]:
    """Return the values of a key as numbers in their common unit, else in SI, with the unit; None for other values."""
    parts = [units.split_quantity(text) for text in texts]
    names = {part[1] if part is not None else None for part in parts}
    if None in names:
        return "", None
    if len(names) == 1:
        return str(names.pop()), np.array([part[0] for part in parts if part is not None])
    try:
        found = [quantity for text in texts if (quantity := units.quantity(text)) is not None]
    except QuantityError:
        return "", None
    dimensions = {dimension for _, dimension in found}
    if len(dimensions) > 1 or "" in names:
        return "", None
    plain = (units.NUMBER, units.ANY)
    unit = next((kind.unit for kind in units.KINDS if kind.dimension in dimensions and kind not in plain), "SI")
    return unit, np.array([number for number, _ in found])
