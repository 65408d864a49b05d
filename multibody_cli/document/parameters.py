"""Variables of a scene as parameters of expressions: `force: "-k*q"` reads the variable `k` without `${k}`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from multibody_cli.document.nodes import UNKNOWN, Node, Unknown, mapping, node_from_value, sequence
from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import STATE, parse, with_values
from multibody_cli.spec import units

FIELDS = frozenset({"force", "torque", "activation", "target", "command", "expression"})
"""Fields of elements that may hold an expression of time and state."""

OWN_NAMES = frozenset({"t", "q", "v"})
"""Names that an expression has without variables."""


def fill_parameters(node: Node, values: Mapping[str, object], inside: bool = False) -> Node:
    """Return the tree with the variables in its expressions replaced by their values.

    Parameters
    ----------
    node
        The resolved scene.
    values
        The variables; only numbers are parameters.
    inside
        Whether the node belongs to a field with expressions.
    """
    if type(node.value) is dict:
        assert node.keys is not None
        entries = {key: fill_parameters(entry, values, key in FIELDS) for key, entry in node.value.items()}
        same = all(entries[key] is entry for key, entry in node.value.items())
        return node if same else mapping(entries, node.mark, node.keys)
    if type(node.value) is list:
        parts = [fill_parameters(entry, values, inside) for entry in node.value]
        return node if all(a is b for a, b in zip(parts, node.value, strict=True)) else sequence(parts, node.mark)
    if not inside or not isinstance(node.value, str):
        return node
    filled = _filled(node.value, values)
    return node if filled == node.value else node_from_value(filled, node.mark)


def _filled(text: str, values: Mapping[str, object]) -> str | Unknown:
    if units.split_quantity(text) is not None:
        return text
    try:
        expression = parse(text, STATE)
    except ExpressionError:
        return text  # reported where the field is read
    if any(values.get(name) is UNKNOWN for name in expression.names):
        return UNKNOWN
    numbers = {
        name: _constant(float(value))
        for name in expression.names - OWN_NAMES
        if isinstance(value := values.get(name), int | float) and not isinstance(value, bool)
    }
    return ast.unparse(with_values(expression.body, numbers)) if numbers else text


def _constant(value: float) -> ast.expr:
    number = ast.Constant(abs(value))
    return ast.UnaryOp(ast.USub(), number) if value < 0.0 else number
