"""Formulas as text that a reader follows and a compiler takes: one line for each value that is used again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

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
    writer = Writer(values, prefix)
    shared = [line for value in values for line in writer.share(value)]
    return shared + [f"{target} = {writer.text(value)}" for target, value in results]


class Writer:
    """The text of values that stand in one program.

    Parameters
    ----------
    values
        All that will be written.
    prefix
        Of the names of shared values.
    """

    def __init__(self, values: Sequence[Value], prefix: str = "t") -> None:
        self._uses = Counter(operand for node in in_order(values) for operand in node.operands)
        self._uses.update(values)
        self._texts: dict[Scalar, tuple[str, int]] = {}
        self._prefix = prefix
        self._count = 0

    def share(self, value: Value) -> list[str]:
        """Write the lines that a value needs before it, as far as none before it needed them."""
        lines = []
        for node in in_order([value], self._texts):
            text, rank = self._written(node)
            costly = rank < _ATOM or node.operation in FUNCTIONS
            if costly and (self._uses[node] > 1 or len(text) > _LONGEST):
                self._count += 1
                shared = f"{self._prefix}{self._count}"
                lines.append(f"{shared} = {text}")
                text, rank = shared, _ATOM
            self._texts[node] = text, rank
        return lines

    def name(self, word: str, value: Scalar) -> list[str]:
        """Write the lines that give a value a name, by which it goes from there on."""
        lines = [line for operand in value.operands for line in self.share(operand)]
        lines.append(f"{word} = {self._texts[value][0] if value in self._texts else self._written(value)[0]}")
        self._texts[value] = word, _ATOM
        return lines

    def text(self, value: Value) -> str:
        """Write a value, whose lines stand before it."""
        return self._ranked(value)[0]

    def _ranked(self, value: Value) -> tuple[str, int]:
        if isinstance(value, Scalar):
            return self._texts[value]
        return repr(float(value)), _ATOM if value >= 0.0 else _SIGN

    def _written(self, node: Scalar) -> tuple[str, int]:
        """Write one node, and how tightly the text holds together."""
        if node.operation == "name":
            return node.text, _ATOM
        parts = [self._ranked(operand) for operand in node.operands]
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
