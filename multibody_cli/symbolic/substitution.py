"""Formulas in which names are replaced by what they stand for."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from multibody_cli.symbolic.scalar import Scalar, Value, apply, in_order, power

_OPERATIONS: dict[str, Callable[..., Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "neg": operator.neg,
    "pow": power,
}
"""Operations that fold constants by rules of their own."""


def substitute(values: Sequence[Value], known: Mapping[Scalar, Value]) -> list[Value]:
    """Replace names in formulas.

    Parameters
    ----------
    values
        Formulas and constants.
    known
        What stands in place of a name; all others stay.
    """
    made: dict[Scalar, Value] = dict(known)
    for node in in_order(values, known):
        operands = [made[one] if isinstance(one, Scalar) else one for one in node.operands]
        if node.operation == "name":
            made[node] = node
        elif node.operation in _OPERATIONS:
            made[node] = _OPERATIONS[node.operation](*operands)
        else:
            made[node] = apply(node.operation, *operands)
    return [made[value] if isinstance(value, Scalar) else value for value in values]
