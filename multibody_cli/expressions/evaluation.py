"""Evaluation of expressions: one function for each node type of the syntax tree."""

from __future__ import annotations

import ast
import math
import operator
import reprlib
from collections.abc import Callable, Mapping
from typing import Any

from multibody_cli.errors import ExpressionError, nearest
from multibody_cli.expressions.words import CONSTANTS, FUNCTIONS, concat

MAX_INTEGER = 2**53


def value_of(node: ast.AST, values: Mapping[str, Any]) -> Any:
    """Evaluate a node that `reading` has checked."""
    return _EVALUATORS[type(node)](node, values)


def _bounded(number: Any) -> Any:
    """Convert large integers to floating point, and refuse numbers that are not finite."""
    if isinstance(number, int) and abs(number) > MAX_INTEGER:
        number = float(number)
    if isinstance(number, float) and not math.isfinite(number):
        raise ExpressionError("the result is not a finite number")
    return number


def _number(node: ast.AST, values: Mapping[str, Any]) -> Any:
    value = value_of(node, values)
    if isinstance(value, bool) or not isinstance(value, int | float):
        remedy = " (texts are joined by `concat(...)`)" if isinstance(value, str) else ""
        raise ExpressionError(f"arithmetic needs numbers, found {_described(value)}{remedy}")
    return value


def _constant(node: ast.Constant, values: Mapping[str, Any]) -> Any:
    return _bounded(node.value)


def _name(node: ast.Name, values: Mapping[str, Any]) -> Any:
    if node.id in values:
        return values[node.id]
    if node.id in CONSTANTS:
        return CONSTANTS[node.id]
    raise ExpressionError(f"unknown name `{node.id}`; {nearest(node.id, values)}")


def _binary(node: ast.BinOp, values: Mapping[str, Any]) -> Any:
    return _bounded(_OPERATORS[type(node.op)](_number(node.left, values), _number(node.right, values)))


def _unary(node: ast.UnaryOp, values: Mapping[str, Any]) -> Any:
    operand = value_of(node.operand, values) if isinstance(node.op, ast.Not) else _number(node.operand, values)
    return _OPERATORS[type(node.op)](operand)


def _call(node: ast.Call, values: Mapping[str, Any]) -> Any:
    assert isinstance(node.func, ast.Name)
    if node.func.id == "concat":
        return concat(*(value_of(argument, values) for argument in node.args))
    function = FUNCTIONS.get(node.func.id) or values[node.func.id]
    return _bounded(function(*(_number(argument, values) for argument in node.args)))


def _compare(node: ast.Compare, values: Mapping[str, Any]) -> bool:
    operands = [value_of(operand, values) for operand in (node.left, *node.comparators)]
    for operand in operands:
        if isinstance(operand, list):
            raise ExpressionError(f"a comparison needs numbers or texts, found {_described(operand)}")
    pairs = zip(node.ops, operands, operands[1:], strict=False)
    return all(_OPERATORS[type(op)](left, right) for op, left, right in pairs)


def _logic(node: ast.BoolOp, values: Mapping[str, Any]) -> bool:
    decide = all if isinstance(node.op, ast.And) else any
    return decide(bool(value_of(operand, values)) for operand in node.values)


def _choice(node: ast.IfExp, values: Mapping[str, Any]) -> Any:
    return value_of(node.body if value_of(node.test, values) else node.orelse, values)


def _list(node: ast.List, values: Mapping[str, Any]) -> list[Any]:
    return [value_of(element, values) for element in node.elts]


def _item(node: ast.Subscript, values: Mapping[str, Any]) -> Any:
    container, index = value_of(node.value, values), value_of(node.slice, values)
    if not isinstance(container, list):
        raise ExpressionError(f"only lists can be indexed, found {_described(container)}")
    if isinstance(index, bool) or not isinstance(index, int):
        raise ExpressionError(f"an index must be a whole number, found {_described(index)}")
    if not 0 <= index < len(container):
        raise ExpressionError(f"index {index} is outside a list of {len(container)}")
    return container[index]


def _described(value: Any) -> str:
    """Return a value for a message: lists may be large, and texts long."""
    return f"a list of {len(value)}" if isinstance(value, list) else reprlib.repr(value)


def _power(base: float, exponent: float) -> float:
    # in floating point: nested integer powers would not terminate
    result = float(base) ** float(exponent)
    if isinstance(result, complex):
        raise ExpressionError(f"{base} ** {exponent} is not a real number")
    whole = isinstance(base, int) and isinstance(exponent, int) and exponent >= 0
    return int(result) if whole and abs(result) < MAX_INTEGER else result


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: _power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}

_EVALUATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.IfExp: _choice,
    ast.List: _list,
    ast.Subscript: _item,
}
