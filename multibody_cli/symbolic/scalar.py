"""Formulas that behave like numbers: nodes of an expression graph in which equal formulas are one node.

A formula is built by arithmetic on names; a constant is a plain number.  Equal formulas are the same node, so that
common subexpressions are shared from the start.  Operations with constants, zeros and ones are folded, so that
vanishing terms are never built.  The value classes of `spatial` (vectors, matrices) accept formulas as components.

SymPy offers the same, but takes a thousand times longer: see `docs/adr/0018-joints-as-formulas.md`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Union
from weakref import WeakValueDictionary

Value = Union["Scalar", float]
"""A formula, or a constant."""


class Scalar:
    """A node: an operation on operands, or a name.  Created by arithmetic, `name` and `apply` only."""

    __slots__ = ("__weakref__", "operands", "operation", "order", "text")

    operation: str
    operands: tuple[Value, ...]
    text: str
    order: int

    def __add__(self, other: Value) -> Value:
        if not isinstance(other, Scalar):
            return _node("+", other, self) if other else self
        (factor, a), (second, b) = _factor(self), _factor(other)
        if a is b:
            return _scaled(factor + second, a)
        if second < 0.0:
            return self - _scaled(-second, b)
        return other - _scaled(-factor, a) if factor < 0.0 else _node("+", *_sorted(self, other))

    __radd__ = __add__

    def __sub__(self, other: Value) -> Value:
        if not isinstance(other, Scalar):
            return _node("-", self, other) if other else self
        (factor, a), (second, b) = _factor(self), _factor(other)
        if a is b:
            return _scaled(factor - second, a)
        if second < 0.0:
            return self + _scaled(-second, b)
        return -(_scaled(-factor, a) + other) if factor < 0.0 else _node("-", self, other)

    def __rsub__(self, other: float) -> Value:
        return _node("-", other, self) if other else -self

    def __mul__(self, other: Value) -> Value:
        if isinstance(other, tuple):  # a vector or a matrix
            return NotImplemented
        if not isinstance(other, Scalar):
            return _scaled(float(other), self)
        factor, a = _factor(self)
        second, b = _factor(other)
        return _scaled(factor * second, _node("*", *_sorted(a, b)))

    __rmul__ = __mul__

    def __truediv__(self, other: Value) -> Value:
        if not isinstance(other, Scalar):
            return _scaled(1.0 / other, self)
        if self is other:
            return 1.0
        factor, a = _factor(self)
        second, b = _factor(other)
        return _scaled(factor / second, _node("/", a, b))

    def __rtruediv__(self, other: float) -> Value:
        if other == 0.0:
            return 0.0
        factor, a = _factor(self)
        return _node("/", other / factor, a)

    def __pow__(self, exponent: float) -> Value:
        return power(self, exponent)

    def __neg__(self) -> Value:
        if self.operation == "-":
            return self.operands[1] - self.operands[0]
        return _scaled(-1.0, self)

    def __repr__(self) -> str:
        return self.text or f"{self.operation}{self.operands!r}"


def name(text: str) -> Scalar:
    """Return the formula that consists of a name."""
    return _node("name", text=text)


# --- one node for each formula ------------------------------------------------------------------------------------
class _Graph:
    """The nodes of a graph, and a counter of nodes."""

    def __init__(self) -> None:
        self.known: WeakValueDictionary[Any, Scalar] = WeakValueDictionary()
        self.counter = itertools.count()


_GRAPHS = [_Graph()]
"""Stack of graphs; new nodes belong to the last one."""


@contextmanager
def fresh_graph() -> Iterator[None]:
    """Create formulas in a new graph inside a `with` statement, so that their text does not depend on earlier formulas.

    Formulas of different graphs must not be combined.
    """
    _GRAPHS.append(_Graph())
    try:
        yield
    finally:
        _GRAPHS.pop()


def _node(operation: str, *operands: Value, text: str = "") -> Scalar:
    key, graph = (operation, operands, text), _GRAPHS[-1]
    found = graph.known.get(key)
    if found is None:
        for operand in operands:
            if not isinstance(operand, Scalar):
                finite(operand)
        found = Scalar()
        found.operation, found.operands, found.text, found.order = operation, operands, text, next(graph.counter)
        graph.known[key] = found
    return found


def finite(constant: float) -> float:
    """Return a constant if it is finite.

    Raises
    ------
    OverflowError
        If it is not finite.
    """
    if not math.isfinite(constant):
        raise OverflowError("overflow in the arithmetic of constants")
    return constant


def _sorted(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """Return the operands of a sum or product in order of creation."""
    return (a, b) if a.order <= b.order else (b, a)


def _factor(value: Scalar) -> tuple[float, Scalar]:
    """Split a constant factor off."""
    if value.operation == "neg":
        return -1.0, value.operands[0]  # type: ignore[return-value]
    if value.operation == "*" and not isinstance(value.operands[0], Scalar):
        return value.operands[0], value.operands[1]  # type: ignore[return-value]
    return 1.0, value


def _scaled(factor: float, value: Scalar) -> Value:
    own, bare = _factor(value)
    factor *= own
    if factor == 0.0:
        return 0.0
    if factor == 1.0:
        return bare
    return _node("neg", bare) if factor == -1.0 else _node("*", factor, bare)


# --- functions ----------------------------------------------------------------------------------------------------
FUNCTIONS: dict[str, Callable[..., float]] = {
    word: getattr(math, word)
    for word in (
        "acos", "asin", "atan", "atan2", "cos", "cosh", "exp", "floor", "log", "sin", "sinh", "sqrt", "tan", "tanh",
    )
} | {"pow": math.pow}  # fmt: skip
"""Functions of numbers, which formulas support as well."""

TABULATED: dict[str, Callable[..., float]] = {}
"""Functions given by tables, by their names in `tables`."""


def function_named(word: str) -> Callable[..., float] | None:
    """Return a function of numbers; None for other operations."""
    return FUNCTIONS.get(word) or TABULATED.get(word)


def apply(function: str, *operands: Value) -> Value:
    """Apply a function.

    Raises
    ------
    ArithmeticError
        If its value for constant operands is not real.
    """
    if any(isinstance(operand, Scalar) for operand in operands):
        return _node(function, *operands)
    called = function_named(function)
    assert called is not None
    try:
        return called(*operands)
    except ValueError:
        given = ", ".join(f"{operand:g}" for operand in operands)
        raise ArithmeticError(f"{function}({given}) is not a real number") from None


def sin(x: Value) -> Value:
    """Return the sine."""
    return apply("sin", x)


def cos(x: Value) -> Value:
    """Return the cosine."""
    return apply("cos", x)


def sqrt(x: Value) -> Value:
    """Return the square root."""
    return apply("sqrt", x)


def power(base: Value, exponent: Value) -> Value:
    """Raise a value to a power; small integer powers are written as products."""
    if isinstance(exponent, Scalar):
        return apply("pow", base, exponent)
    whole = exponent == int(exponent)
    if not (whole or isinstance(base, Scalar)) and base < 0.0:
        raise ArithmeticError(
            f"({base:g})**{exponent:g} is not a real number; write an odd root of a negative number as -8**(1/3)"
        )
    if not whole or abs(exponent) > 16:
        return apply("pow", base, exponent)
    if exponent < 0:
        return 1.0 / power(base, -exponent)
    half = power(base, exponent // 2) if exponent > 1 else 1.0
    return half * half * base if exponent % 2 else half * half


# --- order --------------------------------------------------------------------------------------------------------
def topological_order(values: Iterable[Value], before: Container[Value] = ()) -> list[Scalar]:
    """Return all nodes of the values, operands first, without the nodes in `before`."""
    done: dict[Scalar, None] = {}
    for value in values:
        waiting = [value]
        while waiting:
            node = waiting[-1]
            if not isinstance(node, Scalar) or node in done or node in before:
                waiting.pop()
                continue
            missing = [
                operand
                for operand in node.operands
                if isinstance(operand, Scalar) and operand not in done and operand not in before
            ]
            if missing:
                waiting.extend(reversed(missing))
            else:
                done[node] = None
                waiting.pop()
    return list(done)
