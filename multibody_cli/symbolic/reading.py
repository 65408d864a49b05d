"""Expressions of a scene file as formulas."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import CONSTANTS, Expression
from multibody_cli.symbolic.scalar import FUNCTIONS, Value, apply, power

_WITH_CORNERS = frozenset({"abs", "ceil", "floor", "max", "min", "sign"})


def formula_of(expression: Expression, values: Mapping[str, Value]) -> Value:
    """Read an expression as a formula of the values that its names stand for.

    Raises
    ------
    ExpressionError
        If it has a function without two derivatives everywhere.
    """
    try:
        return _READERS[type(expression.body)](expression.body, values)
    except ExpressionError as error:
        raise ExpressionError(f"`{expression.text}`: {error}") from None
    except (ArithmeticError, ValueError) as error:
        raise ExpressionError(f"`{expression.text}`: {error}") from None


def _read(node: ast.AST, values: Mapping[str, Value]) -> Value:
    return _READERS[type(node)](node, values)


def _name(node: ast.Name, values: Mapping[str, Value]) -> Value:
    return values[node.id] if node.id in values else CONSTANTS[node.id]


def _binary(node: ast.BinOp, values: Mapping[str, Value]) -> Value:
    return _OPERATORS[type(node.op)](_read(node.left, values), _read(node.right, values))


def _unary(node: ast.UnaryOp, values: Mapping[str, Value]) -> Value:
    operand = _read(node.operand, values)
    return -operand if isinstance(node.op, ast.USub) else operand


def _call(node: ast.Call, values: Mapping[str, Value]) -> Value:
    assert isinstance(node.func, ast.Name)
    word = node.func.id
    if word in _WITH_CORNERS:
        raise ExpressionError(f"`{word}` has corners or jumps, and a joint needs two derivatives everywhere")
    assert word in FUNCTIONS
    return apply(word, *(_read(argument, values) for argument in node.args))


_OPERATORS: dict[type[ast.AST], Callable[[Value, Value], Value]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: power,
}

_READERS: dict[type[ast.AST], Callable[..., Value]] = {
    ast.Constant: lambda node, _: float(node.value),
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Call: _call,
}
