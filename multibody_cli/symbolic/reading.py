"""Conversion of expressions of a scene file to formulas."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import CONSTANTS, Expression
from multibody_cli.symbolic.scalar import FUNCTIONS, Scalar, Value, apply, finite, power

_NOT_SMOOTH = frozenset({"abs", "ceil", "floor", "max", "min", "sign"})


def formula_of(expression: Expression, values: Mapping[str, Value]) -> Value:
    """Convert an expression to a formula of the values of its names.

    Raises
    ------
    ExpressionError
        If it contains a function that is not twice differentiable everywhere, or constants with an invalid result.
    """
    try:
        return _read(expression.body, values)
    except ZeroDivisionError:
        raise ExpressionError(f"`{expression.text}`: division by zero") from None
    except OverflowError:
        raise ExpressionError(f"`{expression.text}`: overflow in the arithmetic of its constants") from None
    except (ExpressionError, ArithmeticError) as error:
        raise ExpressionError(f"`{expression.text}`: {error}") from None


def names_in(expression: Expression) -> set[str]:
    """Return all names of an expression, including constants such as `pi`."""
    return _names_below(expression.body)


def names_in_exponents(expression: Expression) -> set[str]:
    """Return the names that occur in exponents."""
    nodes = ast.walk(expression.body)
    powers = (node.right for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow))
    return {word for exponent in powers for word in _names_below(exponent)}


def _names_below(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _read(node: ast.AST, values: Mapping[str, Value]) -> Value:
    value = _READERS[type(node)](node, values)
    return value if isinstance(value, Scalar) else finite(value)


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
    if word in _NOT_SMOOTH:
        raise ExpressionError(f"`{word}` is not twice differentiable everywhere, as joints require")
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
