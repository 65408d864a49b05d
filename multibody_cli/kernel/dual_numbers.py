"""Dual numbers in kernels that run as plain Python: numbers with their derivatives along several directions.

`interpreted(mathematics=DUAL_MATHEMATICS)` runs kernels as plain Python with the module `math` of dual numbers, and
`with_duals` copies arrays so that they can hold them.  Comparisons of size are those of the values; a dual number as an
integer is that of its value.  An operation that would lose a derivative, as a store in an array of numbers, or that has
no rule, raises `NoRule`.

Source: Griewank and Walther, Evaluating Derivatives (2008), ch. 3, forward mode with vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class NoRule(TypeError):
    """An operation without a rule for dual numbers."""


class Dual:
    """A number and its derivatives (k,)."""

    __slots__ = ("slope", "value")
    __array_ufunc__ = None  # numpy numbers leave products to it
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, slope: Any) -> None:
        self.value, self.slope = value, slope

    def __add__(self, other: Any) -> Any:
        """Return the sum."""
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.slope + other.slope)
        return Dual(self.value + other, self.slope) if isinstance(other, _NUMBERS) else _refused(other)

    __radd__ = __add__

    def __neg__(self) -> Dual:
        """Return the opposite."""
        return Dual(-self.value, -self.slope)

    def __sub__(self, other: Any) -> Any:
        """Return the difference."""
        return self + (-other) if isinstance(other, (Dual, *_NUMBERS)) else _refused(other)

    def __rsub__(self, other: Any) -> Dual:
        """Return the difference from a number."""
        return Dual(other - self.value, -self.slope)

    def __mul__(self, other: Any) -> Any:
        """Return the product."""
        if isinstance(other, Dual):
            return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)
        return Dual(self.value * other, self.slope * other) if isinstance(other, _NUMBERS) else _refused(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        """Return the quotient."""
        if not isinstance(other, Dual):
            return Dual(self.value / other, self.slope / other)
        quotient = self.value / other.value
        return Dual(quotient, (self.slope - quotient * other.slope) / other.value)

    def __rtruediv__(self, other: Any) -> Dual:
        """Return a number divided by it."""
        quotient = other / self.value
        return Dual(quotient, -quotient / self.value * self.slope)

    def __mod__(self, period: float) -> Dual:
        """Return the remainder of a division by a constant."""
        return Dual(self.value % period, self.slope)

    def __pow__(self, exponent: Any) -> Any:
        """Return a power with a constant exponent."""
        if isinstance(exponent, Dual):
            raise NoRule("a power with an exponent that changes")
        return Dual(self.value**exponent, exponent * self.value ** (exponent - 1) * self.slope)

    def __rpow__(self, base: Any) -> Any:
        """Refuse a power with an exponent that changes."""
        raise NoRule("a power with an exponent that changes")

    def __float__(self) -> float:
        """Refuse a number without derivatives."""
        raise NoRule("a number that keeps no derivative")

    def __abs__(self) -> Dual:
        """Return the size."""
        return self if self.value >= 0.0 else -self

    def __int__(self) -> int:
        """Return the whole part of the value."""
        return int(self.value)

    def __bool__(self) -> bool:
        """Return whether it is other than a constant 0."""
        return self != 0.0

    def __lt__(self, other: Any) -> bool:
        """Compare the values."""
        return bool(self.value < value_of(other))

    def __le__(self, other: Any) -> bool:
        """Compare the values."""
        return bool(self.value <= value_of(other))

    def __gt__(self, other: Any) -> bool:
        """Compare the values."""
        return bool(self.value > value_of(other))

    def __ge__(self, other: Any) -> bool:
        """Compare the values."""
        return bool(self.value >= value_of(other))

    def __eq__(self, other: object) -> bool:
        """Return whether it is a constant of this value: a product with a 0 that changes is not left out."""
        return bool(self.value == value_of(other)) and not np.any(self.slope)


_NUMBERS = (float, int, np.floating, np.integer)


def _refused(other: Any) -> Any:
    """Refuse arrays; other objects are no operands."""
    if isinstance(other, np.ndarray):
        raise NoRule("arithmetic of arrays")
    return NotImplemented


def value_of(number: Any) -> Any:
    """Return the value of a number, dual or not."""
    return number.value if isinstance(number, Dual) else number


def duals(values: NDArray[Any], slopes: NDArray[Any]) -> NDArray[Any]:
    """Return dual numbers (n,) of values (n,) and derivatives (n, k)."""
    found = np.empty(len(values), object)
    found[:] = [Dual(float(x), slope) for x, slope in zip(values, slopes, strict=True)]
    return found


def slopes_of(numbers: NDArray[Any], count: int) -> NDArray[np.float64]:
    """Return the derivatives (n, count) of numbers (n,), of which some may be dual."""
    return np.reshape([x.slope if isinstance(x, Dual) else np.zeros(count) for x in numbers], (len(numbers), count))


# --- mathematics ------------------------------------------------------------------------------------------------------
class _Mathematics:
    """The module `math` for numbers, some of which are dual."""

    def __getattr__(self, word: str) -> Any:
        own = getattr(math, word)
        return _chained(own, _SLOPES[word]) if word in _SLOPES else _of_values(own) if callable(own) else own

    def atan2(self, y: Any, x: Any) -> Any:
        """Return the angle of (x, y)."""
        if not isinstance(x, Dual) and not isinstance(y, Dual):
            return math.atan2(y, x)
        a, b = value_of(y), value_of(x)
        slope = (y.slope * b if isinstance(y, Dual) else 0.0) - (x.slope * a if isinstance(x, Dual) else 0.0)
        return Dual(math.atan2(a, b), slope / (a * a + b * b))

    def hypot(self, *sides: Any) -> Any:
        """Return the length of a vector."""
        return self.sqrt(sum(one * one for one in sides))

    def pow(self, base: Any, exponent: Any) -> Any:
        """Return a power with a constant exponent."""
        return base**exponent

    def copysign(self, size: Any, sign: Any) -> Any:
        """Return a size with a sign."""
        return abs(size) if math.copysign(1.0, value_of(sign)) > 0.0 else -abs(size)

    def fmod(self, x: Any, period: float) -> Any:
        """Return the remainder of a division by a constant."""
        return x - (value_of(x) - math.fmod(value_of(x), period))


def _chained(function: Callable[[float], float], slope: Callable[[float], float]) -> Callable[[Any], Any]:
    def own(x: Any) -> Any:
        try:
            return Dual(function(x.value), slope(x.value) * x.slope) if isinstance(x, Dual) else function(x)
        except ValueError:
            raise NoRule(f"{function.__name__}({value_of(x):g})") from None

    return own


def _of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is constant between jumps, of the values; others refuse dual numbers."""
    if function.__name__ in ("floor", "ceil", "trunc", "isfinite", "isnan", "isinf"):
        return lambda x: function(value_of(x))

    def own(*numbers: Any) -> Any:
        if any(isinstance(one, Dual) for one in numbers):
            raise NoRule(function.__name__)
        return function(*numbers)

    return own


_SLOPES: dict[str, Callable[[float], float]] = {
    "sin": math.cos,
    "cos": lambda x: -math.sin(x),
    "tan": lambda x: 1.0 + math.tan(x) ** 2,
    "asin": lambda x: 1.0 / math.sqrt(1.0 - x * x),
    "acos": lambda x: -1.0 / math.sqrt(1.0 - x * x),
    "atan": lambda x: 1.0 / (1.0 + x * x),
    "sinh": math.cosh,
    "cosh": math.sinh,
    "tanh": lambda x: 1.0 - math.tanh(x) ** 2,
    "exp": math.exp,
    "log": lambda x: 1.0 / x,
    "sqrt": lambda x: 0.5 / math.sqrt(x) if x > 0.0 else math.inf,
    "fabs": lambda x: math.copysign(1.0, x),
}

DUAL_MATHEMATICS = _Mathematics()


# --- arrays -----------------------------------------------------------------------------------------------------------
def with_duals(tree: Any) -> Any:
    """Copy named tuples of arrays, with entries that may be dual numbers; arrays that occur twice are copied once."""
    return _with_duals(tree, {})


def _with_duals(tree: Any, copies: dict[Any, Any]) -> Any:
    if isinstance(tree, tuple):
        parts = [_with_duals(one, copies) for one in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if not isinstance(tree, np.ndarray):
        return tree
    place = tree.__array_interface__["data"][0], tree.dtype.str, tree.shape
    if place not in copies or tree.size == 0:
        copy = np.empty(tree.shape, _kind_with_duals(tree.dtype))
        _fill(copy, tree)
        copies[place] = copy.view(np.recarray) if copy.dtype.names else copy
    return copies[place]


def _kind_with_duals(kind: np.dtype[Any]) -> np.dtype[Any]:
    if kind.names:
        return np.dtype([(name, _kind_with_duals(kind[name])) for name in kind.names])
    if kind.subdtype:
        return np.dtype((_kind_with_duals(kind.subdtype[0]), kind.subdtype[1]))
    return np.dtype(object) if kind.kind == "f" else kind


def _fill(target: NDArray[Any], source: NDArray[Any]) -> None:
    if source.dtype.names:
        for name in source.dtype.names:
            _fill(target[name], source[name])
    else:
        target[...] = source.astype(object) if source.dtype.kind == "f" else source
