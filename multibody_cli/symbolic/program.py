"""Formulas as text that a reader follows and a compiler takes: one line for each value that is used again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from multibody_cli.symbolic.scalar import FUNCTIONS, Scalar, Value, in_order

_SUM, _PRODUCT, _SIGN, _ATOM = range(4)
_LONGEST = 90
"""Characters of a value that is still written where it is used."""


def write_lines(results: Sequence[tuple[str, Value]], prefix: str = "t") -> list[str]:
    """Write assignments of values to targets, with lines before them for what these share.

    Parameters
    ----------
    results
        What is assigned to, and the formula or constant for it, in their order.
    prefix
        Of the names of shared values.
    """
    values = [value for _, value in results]
    nodes = in_order(values)
    uses = Counter(operand for node in nodes for operand in node.operands if isinstance(operand, Scalar))
    uses.update(value for value in values if isinstance(value, Scalar))
    texts: dict[Scalar, tuple[str, int]] = {}
    lines = []
    count = 0
    for node in nodes:
        text, rank = _written(node, texts)
        costly = rank < _ATOM or node.operation in FUNCTIONS
        if costly and (uses[node] > 1 or len(text) > _LONGEST):
            count += 1
            lines.append(f"{prefix}{count} = {text}")
            text, rank = f"{prefix}{count}", _ATOM
        texts[node] = text, rank
    return lines + [f"{target} = {_text(value, texts)[0]}" for target, value in results]


def _text(value: Value, texts: Mapping[Scalar, tuple[str, int]]) -> tuple[str, int]:
    if isinstance(value, Scalar):
        return texts[value]
    return repr(float(value)), _ATOM if value >= 0.0 else _SIGN


def _written(node: Scalar, texts: Mapping[Scalar, tuple[str, int]]) -> tuple[str, int]:
    """Write one node, and how tightly the text holds together."""
    if node.operation == "name":
        return node.text, _ATOM
    parts = [_text(operand, texts) for operand in node.operands]
    if node.operation in FUNCTIONS:
        return f"{node.operation}({', '.join(text for text, _ in parts)})", _ATOM
    if node.operation == "neg":
        return f"-{_held(parts[0], _PRODUCT)}", _SIGN if parts[0][1] == _ATOM else _PRODUCT
    rank = _SUM if node.operation in "+-" else _PRODUCT
    left, right = _held(parts[0], rank), _held(parts[1], rank + 1)
    return f"{left} {node.operation} {right}", rank


def _held(part: tuple[str, int], least: int) -> str:
    text, rank = part
    return text if rank >= least else f"({text})"
