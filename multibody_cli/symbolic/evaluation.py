"""Numerical evaluation of formulas for numbers or arrays, without compilation: for checks and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from multibody_cli.symbolic.scalar import Scalar, Value, topological_order

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "neg": np.negative,
    "pow": np.float_power,
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}


def evaluate(values: Sequence[Value], names: Mapping[str, Any]) -> list[Any]:
    """Evaluate formulas; where a formula is undefined, its value is not finite."""
    found: dict[Value, Any] = {}
    with np.errstate(all="ignore"):
        for node in topological_order(values):
            if node.operation == "name":
                found[node] = names[node.text]
            else:
                found[node] = _OPERATIONS[node.operation](*(found.get(one, one) for one in node.operands))
    return [found[value] if isinstance(value, Scalar) else value for value in values]
