"""Functions of OpenSim: as expressions, with tables where they are given by points."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from multibody_cli.expressions import Reference
from multibody_cli.foreign.ledger import TEXT
from multibody_cli.foreign.markup import Element
from multibody_cli.foreign.osim_model import Osim
from multibody_cli.foreign.rounding import number

SPLINES = ("SimmSpline", "NaturalCubicSpline", "natCubicSpline")
"""Names that the cubic splines of OpenSim have had."""

TABLE = "table"
"""Name of the table of a function of time while it is read."""

ROUNDED = 0.01
"""Part of the smallest distance of points over which a corner of lines is rounded."""

APPROXIMATED = {"GCVSpline": "a smoothing spline"}
"""Other functions by points, which a natural cubic spline through the points replaces."""


class Expression(NamedTuple):
    """A function of coordinates.

    Parameters
    ----------
    text
        Its expression, with the names of the coordinates.
    tables
        Tables that the expression calls, by name.
    linear
        The function as factors of the coordinates and an offset; None if it is not linear.
    """

    text: str
    tables: dict[str, dict[str, Any]]
    linear: tuple[tuple[float, ...], float] | None = None

    @property
    def constant(self) -> float | None:
        """Its value, if it is constant."""
        return self.linear[1] if self.linear is not None and not any(self.linear[0]) else None


def constant(value: float) -> Expression:
    """Return a function without arguments."""
    return Expression(repr(value), {}, ((), value))


def function_in(model: Osim, element: Element) -> Element | None:
    """Return the function that a property holds, and claim it."""
    for one in element.children:
        model.reading.ledger.keep(one, "name")
        return one
    return None


def property_named(model: Osim, element: Element, name: str) -> Element | None:
    """Return a property that holds one object: an element with this tag, or the object itself with this name."""
    found = next((one for one in element.children if name in (one.tag, one.attributes.get("name"))), None)
    if found is not None:
        model.reading.ledger.keep(found, "name")
    return found


def read_function(model: Osim, element: Element, names: Sequence[str], table: str) -> Expression:
    """Read a function.

    Parameters
    ----------
    model
        The model.
    element
        The function, as `<SimmSpline>`.
    names
        Names of its arguments.
    table
        Name of its table, if it is given by points.
    """
    reading = model.reading
    reading.ledger.keep(element, "name")
    kind = element.tag
    if kind == "Constant":
        return constant(model.number(element, "value", 0.0))
    if kind == "LinearFunction":
        return _linear(_coefficients(model, element), names)
    if kind == "PolynomialFunction":
        return _polynomial(_coefficients(model, element), names)
    if kind == "MultiplierFunction":
        return _scaled(model, element, names, table)
    if kind in SPLINES or kind in APPROXIMATED or kind == "PiecewiseLinearFunction":
        return _table(model, element, names, table)
    reading.refuse(element, f"functions <{kind}> are not read")
    return constant(0.0)


def read_call(model: Osim, element: Element, argument: str, name: str) -> Expression:
    """Read a function of one argument, an expression; one by points is a function of the scene with this name."""
    found = read_function(model, element, (argument,), str(Reference(("functions", name))))
    for table in found.tables.values():
        model.draft.add("functions", name, element, **table)
    return found


def read_signal(model: Osim, element: Element, name: str = "") -> Any:
    """Return a function of time as a signal of the scene.

    One that no table of a signal holds is a function of the scene with this name; without a name, it is approximated.
    """
    found = read_function(model, element, ("t",), TABLE)
    if found.constant is not None:
        return found.constant
    if not found.tables:
        return found.text
    table, is_plain = found.tables[TABLE], found.text == f"{TABLE}(t)"
    if is_plain and table["interpolation"] != "simm":
        return {"times": table["x"], "values": table["y"], "interpolation": table["interpolation"]}
    if name:
        return read_call(model, element, "t", name).text
    if is_plain:
        model.reading.ledger.approximate(element, "by a cubic spline with other conditions at its ends")
        return {"times": table["x"], "values": table["y"], "interpolation": "cubic"}
    model.reading.refuse(element, "a multiple of a function by points; multiply the points instead")
    return 0.0


def _coefficients(model: Osim, element: Element) -> tuple[float, ...]:
    found = model.property(element, "coefficients")
    return (0.0,) if found is None else model.reading.numbers(found, TEXT, None) or (0.0,)


def _linear(coefficients: tuple[float, ...], names: Sequence[str]) -> Expression:
    *slopes, offset = coefficients
    factors = (*slopes, *[0.0] * len(names))[: len(names)]
    terms = [(factor, name) for factor, name in zip(factors, names, strict=True)]
    return Expression(added([*terms, (offset, "")]), {}, (factors, offset))


def _polynomial(coefficients: tuple[float, ...], names: Sequence[str]) -> Expression:
    """Return a polynomial of one argument; the first coefficient is that of the highest power."""
    if len(coefficients) <= 2 or not names:
        return _linear((0.0, *coefficients)[-2:], names)
    powers = range(len(coefficients) - 1, -1, -1)
    words = [f"{names[0]}**{power}" if power > 1 else names[0] * power for power in powers]
    return Expression(added(list(zip(coefficients, words, strict=True))), {})


def added(terms: Sequence[tuple[float, str]]) -> str:
    """Return the sum of factors times words, which may be empty, as an expression."""
    found = ""
    for factor, word in terms:
        if factor == 0.0:
            continue
        size = number(abs(factor))
        text = f"{size}" if not word else word if abs(factor) == 1.0 else f"{size}*{word}"
        sign = (" - " if found else "-") if factor < 0.0 else " + " if found else ""
        found += sign + text
    return found or "0.0"


def _scaled(model: Osim, element: Element, names: Sequence[str], table: str) -> Expression:
    scale = model.number(element, "scale", 1.0)
    holder = model.property(element, "function")
    inner = None if holder is None else function_in(model, holder)
    if inner is None:
        model.reading.refuse(element, "expected a function")
        return constant(0.0)
    found = read_function(model, inner, names, table)
    if found.linear is not None:
        factors, offset = found.linear
        return _linear((*[scale * factor for factor in factors], scale * offset), names)
    return Expression(added([(scale, in_product(found.text))]), found.tables)


def in_product(text: str) -> str:
    """Return an expression as a factor: in parentheses, if it is a sum."""
    return f"({text})" if " " in text or text.startswith("-") else text


def _table(model: Osim, element: Element, names: Sequence[str], table: str) -> Expression:
    reading = model.reading
    x, y = (_points(model, element, tag) for tag in "xy")
    if len(x) != len(y) or len(x) < 2:
        reading.refuse(element, f"expected two or more points, found {len(x)} values x and {len(y)} values y")
        return constant(0.0)
    if len(set(y)) == 1:
        return constant(y[0])
    if not names:
        reading.refuse(element, "expected a coordinate on which it depends")
        return constant(0.0)
    if element.tag in APPROXIMATED:
        reading.ledger.approximate(element, f"by a natural cubic spline in place of {APPROXIMATED[element.tag]}")
        model.drop(element, dict.fromkeys(("half_order", "error_variance", "weights", "coefficients"), "of the fit"))
    lines = "linear" if element.tag == "PiecewiseLinearFunction" else "natural"
    interpolation = "simm" if element.tag in SPLINES else lines
    points: dict[str, Any] = {"x": list(x), "y": list(y), "interpolation": interpolation}
    if lines == "linear" and len(x) > 2 and table != TABLE:
        width = ROUNDED * min(after - before for before, after in itertools.pairwise(x))
        points["smoothing"] = width
        reading.ledger.approximate(element, "with rounded corners", f"over {number(width)} of its argument")
    return Expression(f"{table}({names[0]})", {table: points})


def _points(model: Osim, element: Element, tag: str) -> tuple[float, ...]:
    found = model.property(element, tag)
    return () if found is None else model.reading.numbers(found, TEXT, None)
