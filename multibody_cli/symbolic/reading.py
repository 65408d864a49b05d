"""Conversion of expressions of a scene file to formulas."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import CONSTANTS, Expression
from multibody_cli.symbolic.scalar import Scalar, Value, apply, finite, power
from multibody_cli.symbolic.tables import Piecewise, table

_NOT_SMOOTH = frozenset({"abs", "ceil", "floor", "max", "min", "sign"})


def formula_of(
    expression: Expression, values: Mapping[str, Value], functions: Mapping[str, Piecewise] = MappingProxyType({})
) -> Value:
    """Convert an expression to a formula of the values of its names; `functions` are those that it may call as well.

    Raises
    ------
    ExpressionError
        If it contains a function that is not twice differentiable everywhere, or constants with an invalid result.
    """
    try:
        return _Reader(values, functions).read(expression.body)
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


class _Reader(NamedTuple):
    values: Mapping[str, Value]
    functions: Mapping[str, Piecewise]

    def read(self, node: ast.AST) -> Value:
        match node:
            case ast.Constant(value=int() | float() as number):
                value: Value = float(number)
            case ast.Name(id=word):
                value = self.values[word] if word in self.values else CONSTANTS[word]
            case ast.BinOp(left=left, op=operator, right=right):
                value = _OPERATORS[type(operator)](self.read(left), self.read(right))
            case ast.UnaryOp(op=operator, operand=operand):
                value = -self.read(operand) if isinstance(operator, ast.USub) else self.read(operand)
            case ast.Call(func=ast.Name(id=word), args=arguments):
                value = self._call(word, [self.read(argument) for argument in arguments])
            case _:
                raise TypeError(ast.dump(node))
        return value if isinstance(value, Scalar) else finite(value)

    def _call(self, word: str, arguments: Sequence[Value]) -> Value:
        if word in self.functions:
            return table(self.functions[word], *arguments)
        if word in _NOT_SMOOTH:
            raise ExpressionError(f"`{word}` is not twice differentiable everywhere, as joints and couplings require")
        return apply(word, *arguments)


_OPERATORS: dict[type[ast.AST], Callable[[Value, Value], Value]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: power,
}
