"""Variables of a scene as parameters of expressions: `force: "-k*q"` reads the variable `k` without `${k}`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TypeGuard

from multibody_cli.document.nodes import UNKNOWN, Node, Path, Unknown, mapping, node_from_value, sequence
from multibody_cli.document.problems import Problems
from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import STATE, parse, require_names, with_values
from multibody_cli.spec import units
from multibody_cli.spec.quantities import format_value

FIELDS = frozenset({"force", "torque", "activation", "target", "command", "expression"})
"""Fields of elements that may hold an expression of time and state."""

OWN_NAMES = frozenset({"t", "q", "v"})
"""Names that an expression has without variables."""


def fill_parameters(
    node: Node, values: Mapping[str, object], problems: Problems, path: Path = (), remark: str = ""
) -> Node:
    """Return the tree with the variables in its expressions replaced by their values.

    Parameters
    ----------
    node
        The resolved scene, or a part of it.
    values
        The variables; only numbers are parameters.
    problems
        Collects names that are neither those of variables nor of time and state.
    path, remark
        Path of the node, and the entry of a `repeat` that it belongs to.
    """
    if not values:
        return node
    remark = node.origin or remark
    if type(node.value) is dict:
        assert node.keys is not None
        entries = {
            key: fill_parameters(entry, values, problems, (*path, key), remark) for key, entry in node.value.items()
        }
        same = all(entries[key] is entry for key, entry in node.value.items())
        return node if same else mapping(entries, node.mark, node.keys)
    if type(node.value) is list:
        parts = [fill_parameters(entry, values, problems, (*path, i), remark) for i, entry in enumerate(node.value)]
        return node if all(a is b for a, b in zip(parts, node.value, strict=True)) else sequence(parts, node.mark)
    if not isinstance(node.value, str) or _field(path) not in FIELDS:
        return node
    try:
        filled = _filled(node.value, values)
    except ExpressionError as error:
        problems.add(node.mark, path, str(error), remark)
        filled = UNKNOWN
    return node if filled == node.value else node_from_value(filled, node.mark)


def _field(path: Path) -> str:
    """Return the last name of a path, without the indices of components."""
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def _filled(text: str, values: Mapping[str, object]) -> str | Unknown:
    if units.split_quantity(text) is not None:
        return text
    try:
        expression = parse(text, STATE)
    except ExpressionError:
        return text  # reported where the field is read
    constants: dict[str, ast.expr] = {}
    for name in sorted(expression.names - OWN_NAMES):
        value = values.get(name)
        if value is UNKNOWN:
            return UNKNOWN
        if _is_number(value):
            constants[name] = _constant(float(value))
        elif name in values:
            raise ExpressionError(f"`{text}`: the variable `{name}` is not a number, but {format_value(value)}")
        else:
            require_names(expression, OWN_NAMES.union(name for name, value in values.items() if _is_number(value)))
    return ast.unparse(with_values(expression.body, constants)) if constants else text


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _constant(value: float) -> ast.expr:
    number = ast.Constant(abs(value))
    return ast.UnaryOp(ast.USub(), number) if value < 0.0 else number
