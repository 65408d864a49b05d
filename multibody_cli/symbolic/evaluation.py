"""Evaluation of formulas without compilation, for checks and tables, and substitution of values for names."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from multibody_cli.symbolic.scalar import Scalar, Value, apply, power, topological_order
from multibody_cli.symbolic.tables import table_named

_NUMERICAL: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "neg": np.negative,
    "pow": np.float_power,
    **{f"a{word}": getattr(np, f"arc{word}") for word in ("cos", "sin", "tan", "tan2")},
    **{
        word: getattr(np, word) for word in ("cos", "cosh", "exp", "floor", "log", "sin", "sinh", "sqrt", "tan", "tanh")
    },
}

_FOLDING: dict[str, Callable[..., Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": operator.neg,
    "pow": power,
}
"""Operations that have rules for constant folding."""


def evaluate(values: Sequence[Value], names: Mapping[str, Any]) -> list[Any]:
    """Evaluate formulas; where a formula is undefined, its value is not finite."""
    with np.errstate(all="ignore"):
        return _carried_through(values, {}, lambda one: names[one.text], _numerical)


def _numerical(operation: str) -> Callable[..., Any]:
    piecewise = table_named(operation)
    return _NUMERICAL[operation] if piecewise is None else piecewise.value


def substitute(values: Sequence[Value], known: Mapping[Scalar, Value]) -> list[Value]:
    """Replace names in formulas.

    Parameters
    ----------
    values
        Formulas and constants.
    known
        The value of each replaced name; other names are unchanged.
    """
    return _carried_through(values, known, lambda one: one, lambda word: _FOLDING.get(word) or partial(apply, word))


def _carried_through(
    values: Sequence[Value],
    known: Mapping[Any, Any],
    of_name: Callable[[Scalar], Any],
    operation: Callable[[str], Callable[..., Any]],
) -> list[Any]:
    """Return the results of operations on formulas, from the known nodes and the names on."""
    found = dict(known)
    for node in topological_order(values, known):
        operands = (found.get(one, one) for one in node.operands)
        found[node] = of_name(node) if node.operation == "name" else operation(node.operation)(*operands)
    return [found.get(value, value) for value in values]
