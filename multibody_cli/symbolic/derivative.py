"""Exact derivatives of formulas, by forward differentiation of the expression graph.

Each node is differentiated once, however often it is used.  The size of a derivative is therefore at most a few times
the size of its formula (Si and Guenter use D* for the same purpose).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from multibody_cli.symbolic.scalar import Scalar, Value, apply, cos, power, sin, sqrt, topological_order
from multibody_cli.symbolic.tables import table, table_named

Partials = Callable[..., tuple[Value, ...]]


def _of_power(a: Value, b: Value) -> tuple[Value, ...]:
    by_base = b * power(a, b - 1.0)
    return (by_base, power(a, b) * apply("log", a)) if isinstance(b, Scalar) else (by_base, 0.0)


_PARTIALS: dict[str, Partials] = {
    "+": lambda a, b: (1.0, 1.0),
    "-": lambda a, b: (1.0, -1.0),
    "*": lambda a, b: (b, a),
    "/": lambda a, b: (1.0 / b, -(a / b) / b),
    "neg": lambda a: (-1.0,),
    "pow": _of_power,
    "sin": lambda a: (cos(a),),
    "cos": lambda a: (-sin(a),),
    "tan": lambda a: (1.0 + apply("tan", a) * apply("tan", a),),
    "asin": lambda a: (1.0 / sqrt(1.0 - a * a),),
    "acos": lambda a: (-1.0 / sqrt(1.0 - a * a),),
    "atan": lambda a: (1.0 / (1.0 + a * a),),
    "atan2": lambda a, b: (b / (a * a + b * b), -a / (a * a + b * b)),
    "exp": lambda a: (apply("exp", a),),
    "log": lambda a: (1.0 / a,),
    "sqrt": lambda a: (0.5 / sqrt(a),),
    "sinh": lambda a: (apply("cosh", a),),
    "cosh": lambda a: (apply("sinh", a),),
    "tanh": lambda a: (1.0 - apply("tanh", a) * apply("tanh", a),),
    "floor": lambda a: (0.0,),
}
"""Partial derivatives of an operation by each of its operands."""


def partials(operation: str, *operands: Value) -> tuple[Value, ...] | None:
    """Return the partial derivatives of an operation by its operands; None if it is unknown."""
    if (piecewise := table_named(operation)) is not None:
        return (table(piecewise.derivative, *operands),)
    rule = _PARTIALS.get(operation)
    return None if rule is None else rule(*operands)


def differentiate(values: Sequence[Value], rates: Mapping[Scalar, Value]) -> list[Value]:
    """Differentiate values along a direction.

    Parameters
    ----------
    values
        Formulas and constants.
    rates
        Derivatives of the names; names that are absent are constant.
    """
    tangents: dict[Scalar, Value] = {}
    for node in topological_order(values):
        tangents[node] = rates.get(node, 0.0) if node.operation == "name" else _chained(node, tangents)
    return [tangents[value] if isinstance(value, Scalar) else 0.0 for value in values]


def _chained(node: Scalar, tangents: Mapping[Scalar, Value]) -> Value:
    moving = [isinstance(operand, Scalar) and tangents[operand] != 0.0 for operand in node.operands]
    if not any(moving):
        return 0.0
    slopes = partials(node.operation, *node.operands)
    assert slopes is not None
    parts: Iterable[Value] = (
        slope * tangents[operand]  # type: ignore[index]
        for slope, operand, moves in zip(slopes, node.operands, moving, strict=True)
        if moves
    )
    return sum(parts, 0.0)
