"""Values of formulas at numbers, or at arrays of them: for checks and tables, before anything is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from multibody_cli.symbolic.scalar import Scalar, Value, in_order

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
    """Work formulas out; where they are not defined, the result is not finite."""
    found: dict[Value, Any] = {}
    with np.errstate(all="ignore"):
        for node in in_order(values):
            if node.operation == "name":
                found[node] = names[node.text]
            else:
                found[node] = _OPERATIONS[node.operation](*(found.get(one, one) for one in node.operands))
    return [found[value] if isinstance(value, Scalar) else value for value in values]
