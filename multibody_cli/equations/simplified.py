"""Short forms of formulas, as text and as LaTeX; long ones are written with intermediate quantities."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import sympy

from multibody_cli.equations.normal_form import (
    NEGLIGIBLE,
    NoPolynomial,
    Polynomial,
    Ring,
    constant,
    offset_name,
    powers_of,
)
from multibody_cli.equations.shortest import Angle, Product, Term, operations, shortest_form
from multibody_cli.expressions import Expression
from multibody_cli.symbolic.scalar import Scalar, Value, topological_order
from multibody_cli.symbolic.tables import Piecewise, table_named

DIGITS = 10
"""Digits of printed numbers."""

MAX_OPERATIONS = 400
"""Operations in a formula, above which it is written with intermediate quantities."""

MAX_PART_OPERATIONS = 10
"""Operations, up to which a part of a long formula is written in terms of names."""

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


def _operation(word: str) -> Callable[..., Any]:
    """Return an operation on SymPy expressions."""
    piecewise = table_named(word)
    return _OPERATIONS[word] if piecewise is None else partial(_pieces, piecewise)


def _pieces(piecewise: Piecewise, x: Any) -> Any:
    ends = [x < sympy.Float(knot) for knot in piecewise.knots[1:]]
    rows = zip(piecewise.knots, piecewise.coefficients, strict=True)
    values = (sum(c * (x - knot) ** k for k, c in enumerate(row)) for knot, row in rows)
    return sympy.Piecewise(*zip(values, [*ends, True], strict=True))


_WORDS: Mapping[str, Any] = {
    **{word: function for word, function in _OPERATIONS.items() if word.isalnum()},
    "t": sympy.Symbol("t", real=True),
    **{"abs": sympy.Abs, "ceil": sympy.ceiling, "max": sympy.Max, "min": sympy.Min, "sign": sympy.sign},
    **{"pi": sympy.pi, "e": sympy.E, "tau": 2 * sympy.pi},
}
"""SymPy's equivalents of the names in expressions of time."""


class Formulas(NamedTuple):
    """SymPy formulas, and their intermediate quantities in order, each with its symbol."""

    formulas: list[Any]
    intermediate: list[tuple[Any, Any]]


def simplified(
    values: Sequence[Value], units: Iterable[Sequence[str]] = (), origins: Mapping[str, float] | None = None
) -> Formulas:
    """Return formulas in short forms.

    Parameters
    ----------
    values
        The formulas.
    units, origins
        Properties of names, as in `Ring`.
    """
    writer = _Writer(values, Ring(units, origins))
    for word, origin in (origins or {}).items():
        writer.intermediate.append((sympy.Symbol(offset_name(word)), sympy.Symbol(word) - number(origin)))
    found = {value: writer.written(value, MAX_OPERATIONS) for value in dict.fromkeys(values)}
    writer.write_with_intermediates([value for value in found if isinstance(value, Scalar) and found[value] is None])
    formulas = [_rounded(writer.formula(value) if found[value] is None else found[value]) for value in values]
    return Formulas(formulas, [(z, _rounded(one)) for z, one in writer.intermediate])


class _Writer(Container[Scalar]):
    """Formulas as SymPy expressions; it contains the values that have a short form."""

    def __init__(self, values: Sequence[Value], ring: Ring) -> None:
        self.intermediate: list[tuple[Any, Any]] = []
        self._count = itertools.count(1)
        self._ring = ring
        self._forms = self._ring.forms_of(values)
        self._generators: dict[int, Any] = {}
        self._parts: dict[Value, Any] = {}

    def __contains__(self, value: Any) -> bool:
        if value not in self._parts:
            self._parts[value] = self.written(value, MAX_PART_OPERATIONS)
        return self._parts[value] is not None

    def formula(self, value: Value) -> Any:
        """Return a part that was written."""
        return self._parts[value] if isinstance(value, Scalar) else number(value)

    def written(self, value: Value, longest: int) -> Any:
        """Return a value by its polynomial, if this takes at most `longest` operations; None otherwise."""
        form = self._forms.get(value) if isinstance(value, Scalar) else constant(value)
        if form is None or len(form.terms) > longest or self._ring.loses_digits(form):
            return None
        try:
            product = shortest_form(self._ring, form)
            return self._product(product) if operations(self._ring, product) <= longest else None
        except NoPolynomial:
            return None

    def write_with_intermediates(self, values: Sequence[Scalar]) -> None:
        """Write formulas as they were built, with a symbol for each common subexpression."""
        nodes = topological_order(values, self)
        uses = Counter(operand for node in nodes for operand in node.operands)
        for node in nodes:
            written = _operation(node.operation)(*map(self.formula, node.operands))
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
            self._generators[k] = _operation(function)(*made) if made else sympy.Symbol(name, real=True)
        return self._generators[k]

    def _polynomial(self, form: Polynomial) -> Any:
        return self._product(shortest_form(self._ring, form))


def number(value: float) -> Any:
    """Return a number; integers are exact."""
    return sympy.Integer(value) if float(value).is_integer() and abs(value) < 10**DIGITS else sympy.Float(value)


def as_written(expression: Expression) -> Any:
    """Return an expression of a scene file as a SymPy expression."""
    return _rounded(sympy.sympify(expression.text, locals=_WORDS))


def _rounded(formula: Any) -> Any:
    """Remove round-off terms of sums, and round numbers to the printed digits; integers stay exact."""
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
    """Return a formula, or a text, in one line."""
    return f"({formula})" if isinstance(formula, str) else str(sympy.sstr(formula, full_prec=False))


def latex_of(formula: Any) -> str:
    """Return a formula, or a text, in LaTeX."""
    if isinstance(formula, str):
        return f"\\text{{{formula}}}".replace("_", "\\_").replace("^", "\\^{}")
    return str(sympy.latex(formula))


def sum_of(summands: Sequence[str]) -> str:
    """Return the text of a sum of texts."""
    first, *others = summands or ["0"]
    return first + "".join(f" - {one[1:].lstrip()}" if one[0] == "-" else f" + {one}" for one in others)
