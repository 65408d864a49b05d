"""Constants and functions of expressions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from multibody_cli.errors import ExpressionError
from multibody_cli.limits import require_within

CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau}


def _sign(x: float) -> float:
    return (x > 0) - (x < 0)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "acos": math.acos,
    "asin": math.asin,
    "atan": math.atan,
    "atan2": math.atan2,
    "ceil": math.ceil,
    "cos": math.cos,
    "cosh": math.cosh,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "max": max,
    "min": min,
    "sign": _sign,
    "sin": math.sin,
    "sinh": math.sinh,
    "sqrt": math.sqrt,
    "tan": math.tan,
    "tanh": math.tanh,
}
"""Functions of numbers by name."""

ARITIES = {name: (1, 1) for name in FUNCTIONS} | {"atan2": (2, 2), "min": (2, 99), "max": (2, 99)}
"""Minimum and maximum number of arguments of each function."""


def concat(*pieces: Any) -> str:
    """Concatenate strings and numbers.

    Raises
    ------
    ExpressionError
        A piece is a list.
    LimitError
        The result is too long; it is not assembled.
    """
    if any(isinstance(piece, list) for piece in pieces):
        raise ExpressionError("`concat` joins numbers and texts, found a list")
    texts = [str(piece) for piece in pieces]
    require_within("characters", sum(map(len, texts)))
    return "".join(texts)
