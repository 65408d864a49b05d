"""Formulas as readable source: one assignment for each common subexpression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from multibody_cli.symbolic.scalar import Scalar, Value, function_named, topological_order

_SUM, _PRODUCT, _SIGN, _ATOM = range(4)
_MAX_LENGTH = 90
"""Characters up to which the text of a value is written in place."""


def write_lines(results: Sequence[tuple[str, Value]], prefix: str = "t") -> list[str]:
    """Write assignments of values to targets, after assignments of their common subexpressions.

    Parameters
    ----------
    results
        Targets and their formulas or constants, in order.
    prefix
        Prefix of the names of common subexpressions.
    """
    values = [value for _, value in results]
    writer = Writer(values, prefix)
    shared = [line for value in values for line in writer.share(value)]
    return shared + [f"{target} = {writer.text(value)}" for target, value in results]


class Writer:
    """Text of the values of one program.

    Parameters
    ----------
    values
        All values that will be written.
    prefix
        Prefix of the names of common subexpressions.
    """

    def __init__(self, values: Sequence[Value], prefix: str = "t") -> None:
        self._uses = Counter(operand for node in topological_order(values) for operand in node.operands)
        self._uses.update(values)
        self._texts: dict[Scalar, tuple[str, int]] = {}
        self._prefix = prefix
        self._count = 0

    def share(self, value: Value) -> list[str]:
        """Write the assignments of subexpressions that a value needs and that were not written before."""
        lines = []
        for node in topological_order([value], self._texts):
            text, rank = self._written(node)
            costly = rank < _ATOM or function_named(node.operation) is not None
            if costly and (self._uses[node] > 1 or len(text) > _MAX_LENGTH):
                self._count += 1
                shared = f"{self._prefix}{self._count}"
                lines.append(f"{shared} = {text}")
                text, rank = shared, _ATOM
            self._texts[node] = text, rank
        return lines

    def name(self, word: str, value: Scalar) -> list[str]:
        """Write the lines that assign a value to a name; later uses of the value refer to the name."""
        lines = [line for operand in value.operands for line in self.share(operand)]
        lines.append(f"{word} = {self._texts[value][0] if value in self._texts else self._written(value)[0]}")
        self._texts[value] = word, _ATOM
        return lines

    def text(self, value: Value) -> str:
        """Return the text of a value whose subexpressions were written."""
        return self._with_precedence(value)[0]

    def _with_precedence(self, value: Value) -> tuple[str, int]:
        if isinstance(value, Scalar):
            return self._texts[value]
        return repr(float(value)), _ATOM if value >= 0.0 else _SIGN

    def _written(self, node: Scalar) -> tuple[str, int]:
        """Return the text of one node, and its operator precedence."""
        if node.operation == "name":
            return node.text, _ATOM
        parts = [self._with_precedence(operand) for operand in node.operands]
        if function_named(node.operation) is not None:
            return f"{node.operation}({', '.join(text for text, _ in parts)})", _ATOM
        if node.operation == "neg":
            return f"-{_parenthesized(parts[0], _PRODUCT)}", _SIGN if parts[0][1] == _ATOM else _PRODUCT
        rank = _SUM if node.operation in "+-" else _PRODUCT
        left, right = _parenthesized(parts[0], rank), _parenthesized(parts[1], rank + 1)
        return f"{left} {node.operation} {right}", rank


def _parenthesized(part: tuple[str, int], least: int) -> str:
    text, rank = part
    return text if rank >= least else f"({text})"
