"""Operators of values: named tuples of numbers that kernels add, subtract and multiply."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

operand_classes: list[type] = []
"""Named tuples whose `+`, `-`, unary `-` and product with a number operate component by component, at any depth."""

COMPONENTWISE = (operator.add, operator.sub, operator.mul, operator.neg)
"""Operators that operate component by component."""

operator_formulas: dict[tuple[Any, Any, Any], Any] = {}
"""Other operators: formulas by operator and the classes of both operands, None for a number."""

OPERATORS = "multibody_cli.spatial.products"
"""The module that defines the operators of all value classes."""


def operand_class(operand: Any) -> type | None:
    """Return the value class of a value or of its type in compiled code; None for a number."""
    found: type = getattr(operand, "instance_class", type(operand))
    return found if found in operand_classes else None


def operand_pairs(a: Any, b: Any) -> Iterator[tuple[Any, Any]]:
    """Pair the components of two values, or one number with each component of a value."""
    return zip(a, b, strict=True) if operand_class(a) else ((a, component) for component in b)
