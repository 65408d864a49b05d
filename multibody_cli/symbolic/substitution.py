"""Substitution of values for names in formulas."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from multibody_cli.symbolic.scalar import Scalar, Value, apply, power, topological_order

_OPERATIONS: dict[str, Callable[..., Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": operator.neg,
    "pow": power,
}
"""Operations that have rules for constant folding."""


def substitute(values: Sequence[Value], known: Mapping[Scalar, Value]) -> list[Value]:
    """Replace names in formulas.

    Parameters
    ----------
    values
        Formulas and constants.
    known
        The value of each replaced name; other names are unchanged.
    """
    made: dict[Scalar, Value] = dict(known)
    for node in topological_order(values, known):
        operands = [made[one] if isinstance(one, Scalar) else one for one in node.operands]
        if node.operation == "name":
            made[node] = node
        elif node.operation in _OPERATIONS:
            made[node] = _OPERATIONS[node.operation](*operands)
        else:
            made[node] = apply(node.operation, *operands)
    return [made[value] if isinstance(value, Scalar) else value for value in values]
