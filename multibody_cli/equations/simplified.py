"""Formulas in as few words as SymPy finds: as text, and as LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sympy

from multibody_cli.symbolic.scalar import Scalar, Value, in_order

DIGITS = 10
"""Digits of numbers in the text."""

SIMPLIFIED_UP_TO = 4000
"""Operations in a formula, at most, in which shorter forms are looked for."""

LARGE_NUMBER = 10**9
"""A whole number that no scene has."""

_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "neg": lambda a: -a,
    "pow": lambda a, b: a**b,
    "floor": sympy.floor,
} | {
    word: getattr(sympy, word)
    for word in ("acos", "asin", "atan", "atan2", "cos", "cosh", "exp", "log", "sin", "sinh", "sqrt", "tan", "tanh")
}


def simplified(values: Iterable[Value]) -> list[Any]:
    """Give formulas as SymPy has them, numbers as they were written and terms together."""
    values = list(values)
    found: dict[Value, Any] = {}
    for node in in_order(values):
        if node.operation == "name":
            found[node] = sympy.Symbol(node.text, real=True)
        else:
            operands = (found[one] if isinstance(one, Scalar) else _number(one) for one in node.operands)
            found[node] = _OPERATIONS[node.operation](*operands)
    return [_shortest(found[value]) if isinstance(value, Scalar) else _number(value) for value in values]


def _number(value: float) -> Any:
    """A number as the fraction that it was written as, so that SymPy sees what cancels."""
    return sympy.Rational(repr(float(value))) if value == value and abs(value) != float("inf") else sympy.nan


def _shortest(formula: Any) -> Any:
    if sympy.count_ops(formula) > SIMPLIFIED_UP_TO:
        return formula
    expanded = sympy.expand(formula)
    gathered = sympy.expand(sympy.trigsimp(sympy.expand_trig(expanded)))
    forms = (formula, expanded, gathered, sympy.trigsimp(gathered))
    return min(filter(_is_plain, forms), key=sympy.count_ops, default=expanded)


def _is_plain(formula: Any) -> bool:
    """Whether no large number was taken out of others, which a reader would have to put back."""
    return all(abs(one) < LARGE_NUMBER for one in formula.atoms(sympy.Integer))


def text_of(formula: Any) -> str:
    """Write a formula in one line."""
    return str(sympy.sstr(_rounded(formula), full_prec=False))


def latex_of(formula: Any) -> str:
    """Write a formula in LaTeX."""
    return str(sympy.latex(_rounded(formula)))


def _rounded(formula: Any) -> Any:
    """Numbers with the digits that a reader wants; whole ones stay whole."""
    fractions = {one: sympy.Float(one, DIGITS) for one in formula.atoms(sympy.Rational) if not one.is_Integer}
    return formula.xreplace({one: _short(number) for one, number in fractions.items()})


def _short(number: Any) -> Any:
    return sympy.Float(f"{float(number):.{DIGITS}g}")
