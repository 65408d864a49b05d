"""Formulas in few words, as text and as LaTeX; what has no short form is written by way of intermediate quantities."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sympy

from multibody_cli.equations.normal_form import NEGLIGIBLE, Polynomial, Ring, TooLarge, beyond, constant, powers_of
from multibody_cli.equations.shortest import Angle, Product, Term, operations, shortest
from multibody_cli.expressions import Expression
from multibody_cli.symbolic.scalar import Scalar, Value, in_order

DIGITS = 10
"""Digits of numbers in the text."""

LONG = 400
"""Operations in a formula, above which it is written by way of intermediate quantities."""

SHORT = 10
"""Operations, up to which a part of a long formula is written as a formula of names."""

_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "neg": lambda a: -a,
    "pow": lambda a, b: a**b,
    "inverse": lambda a: 1 / a,
    **{
        word: getattr(sympy, word)
        for word in (
            "acos", "asin", "atan", "atan2", "cos", "cosh", "exp", "floor", "log", "sin", "sinh", "sqrt", "tan", "tanh",
        )
    },
}  # fmt: skip

_WORDS: Mapping[str, Any] = {
    **{word: function for word, function in _OPERATIONS.items() if word.isalnum()},
    "t": sympy.Symbol("t", real=True),
    **{"abs": sympy.Abs, "ceil": sympy.ceiling, "max": sympy.Max, "min": sympy.Min, "sign": sympy.sign},
    **{"pi": sympy.pi, "e": sympy.E, "tau": 2 * sympy.pi},
}
"""What the words of expressions of time mean."""


class Formulas(NamedTuple):
    """Formulas of SymPy, and the intermediate quantities that stand in them: in their order, each with its symbol."""

    formulas: list[Any]
    intermediate: list[tuple[Any, Any]]


def simplified(
    values: Sequence[Value], units: Iterable[Sequence[str]] = (), origins: Mapping[str, float] | None = None
) -> Formulas:
    """Give formulas in short forms.

    Parameters
    ----------
    values
        The formulas.
    units, origins
        What is known of names, as in `Ring`.
    """
    writer = _Writer(values, Ring(units, origins))
    for word, origin in (origins or {}).items():
        writer.intermediate.append((sympy.Symbol(beyond(word)), sympy.Symbol(word) - number(origin)))
    found = {value: writer.written(value, LONG) for value in dict.fromkeys(values)}
    writer.write_long([value for value in found if isinstance(value, Scalar) and found[value] is None])
    formulas = [_rounded(writer.formula(value) if found[value] is None else found[value]) for value in values]
    return Formulas(formulas, [(z, _rounded(one)) for z, one in writer.intermediate])


class _Writer(Container[Scalar]):
    """Formulas as SymPy has them; it contains what can be written in few words."""

    def __init__(self, values: Sequence[Value], ring: Ring) -> None:
        self.intermediate: list[tuple[Any, Any]] = []
        self._count = itertools.count(1)
        self._ring = ring
        self._forms = self._ring.forms_of(values)
        self._generators: dict[int, Any] = {}
        self._parts: dict[Value, Any] = {}

    def __contains__(self, value: Any) -> bool:
        if value not in self._parts:
            self._parts[value] = self.written(value, SHORT)
        return self._parts[value] is not None

    def formula(self, value: Value) -> Any:
        """Give a part that was written."""
        return self._parts[value] if isinstance(value, Scalar) else number(value)

    def written(self, value: Value, longest: int) -> Any:
        """Write a value by its polynomial, if that is not longer than so many operations."""
        form = self._forms.get(value) if isinstance(value, Scalar) else constant(value)
        if form is None or len(form.terms) > longest or self._ring.loses_digits(form):
            return None
        try:
            product = shortest(self._ring, form)
            return self._product(product) if operations(self._ring, product) <= longest else None
        except TooLarge:
            return None

    def write_long(self, values: Sequence[Scalar]) -> None:
        """Write formulas as they are built, with a symbol for each part that is used again."""
        nodes = in_order(values, self)
        uses = Counter(operand for node in nodes for operand in node.operands)
        for node in nodes:
            written = _OPERATIONS[node.operation](*map(self.formula, node.operands))
            if uses[node] > 1 and not written.is_Atom:
                symbol = sympy.Symbol(f"z{next(self._count)}", real=True)
                self.intermediate.append((symbol, written))
                written = symbol
            self._parts[node] = written

    def _product(self, product: Product) -> Any:
        return self._monomial(product.monomial) * sympy.Add(*map(self._term, product.terms))

    def _term(self, term: Term) -> Any:
        found = number(term.number) * self._monomial(term.monomial)
        return found * _OPERATIONS[term.function](self._angle(term.angle)) if term.function else found

    def _angle(self, angle: Angle) -> Any:
        found = constant(0.0)
        for c, count in angle:
            found = self._ring.add(found, self._ring.generators[c].operands[0], float(count))
        return self._polynomial(found)

    def _monomial(self, monomial: int) -> Any:
        return sympy.Mul(*(self._generator(k) ** power for k, power in powers_of(monomial)))

    def _generator(self, k: int) -> Any:
        if k not in self._generators:
            function, operands, name, _ = self._ring.generators[k]
            made = [self._polynomial(one) for one in operands]
            self._generators[k] = _OPERATIONS[function](*made) if made else sympy.Symbol(name, real=True)
        return self._generators[k]

    def _polynomial(self, form: Polynomial) -> Any:
        return self._product(shortest(self._ring, form))


def number(value: float) -> Any:
    """Give a number; whole ones as such."""
    return sympy.Integer(value) if float(value).is_integer() and abs(value) < 10**DIGITS else sympy.Float(value)


def as_written(expression: Expression) -> Any:
    """Give an expression of a scene file as SymPy has it."""
    return _rounded(sympy.sympify(expression.text, locals=_WORDS))


def _rounded(formula: Any) -> Any:
    """Leave out what is round-off in sums, and give numbers the digits that a reader wants; whole ones stay whole."""
    if formula.is_Float:
        return number(float(f"{float(formula):.{DIGITS}g}"))
    if formula.is_Atom:
        return formula
    operands = formula.args
    if formula.is_Add:
        sizes = [abs(float(one.as_coeff_Mul()[0])) for one in operands]
        operands = [one for one, size in zip(operands, sizes, strict=True) if size > NEGLIGIBLE * max(sizes)]
    return formula.func(*map(_rounded, operands))


def text_of(formula: Any) -> str:
    """Write a formula, or a text, in one line."""
    return f"({formula})" if isinstance(formula, str) else str(sympy.sstr(formula, full_prec=False))


def latex_of(formula: Any) -> str:
    """Write a formula, or a text, in LaTeX."""
    if isinstance(formula, str):
        return f"\\text{{{formula}}}".replace("_", "\\_").replace("^", "\\^{}")
    return str(sympy.latex(formula))


def sum_of(summands: Sequence[str]) -> str:
    """Write a sum of what is written already."""
    first, *others = summands or ["0"]
    return first + "".join(f" - {one[1:].lstrip()}" if one[0] == "-" else f" + {one}" for one in others)
