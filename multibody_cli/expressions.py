"""Arithmetic that is safe to take from a scene file.

An expression is read with Python's own grammar and then checked against a list of what is allowed, so that
nothing but arithmetic can be said.  There are two dialects:

`SIGNAL`
    Functions of time, such as ``0.5*sin(2*pi*t)``: numbers, names, ``+ - * / **`` and the functions below.
`TEMPLATE`
    What stands in ``${...}`` and is worked out once, when a scene is loaded.  It adds ``// %``, comparisons,
    ``and or not``, ``a if c else b``, texts, lists, indexing (``axes[i % 2]``) and ``concat('link', i - 1)``.
"""

from __future__ import annotations

import ast
import math
import operator
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from multibody_cli.errors import ExpressionError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

LONGEST = 2000
DEEPEST = 50
LARGEST_WHOLE = 2**53

CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau}


def _sign(x: float) -> float:
    return (x > 0) - (x < 0)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(math, name)
        for name in "sqrt exp log sin cos tan asin acos atan atan2 sinh cosh tanh floor ceil".split()
    },
    "abs": abs,
    "min": min,
    "max": max,
    "sign": _sign,
}
"""Functions of both dialects by name."""

ARITIES = {name: (1, 1) for name in FUNCTIONS} | {"atan2": (2, 2), "min": (2, 99), "max": (2, 99)}
"""Least and largest number of arguments of each function."""


def _concat(*pieces: Any) -> str:
    return "".join(str(piece) for piece in pieces)


def _power(base: float, exponent: float) -> float:
    # in floating point: a tower of whole powers would never end
    result = float(base) ** float(exponent)
    if isinstance(result, complex):
        raise ExpressionError(f"{base} ** {exponent} is not a real number")
    whole = isinstance(base, int) and isinstance(exponent, int) and exponent >= 0
    return int(result) if whole and abs(result) < LARGEST_WHOLE else result


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

_ARITHMETIC = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Constant, ast.Name, ast.Load,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd,
)  # fmt: skip
_CHOICES = (
    ast.FloorDiv, ast.Mod, ast.Not, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
    ast.Compare, ast.BoolOp, ast.And, ast.Or, ast.IfExp, ast.List, ast.Subscript,
)  # fmt: skip


@dataclass(frozen=True)
class Dialect:
    """What may be said in an expression: kinds of nodes, kinds of constants, functions."""

    nodes: tuple[type[ast.AST], ...]
    constants: tuple[type, ...]
    functions: Mapping[str, Callable[..., Any]] = field(hash=False)


SIGNAL = Dialect(_ARITHMETIC, (int, float), FUNCTIONS)
TEMPLATE = Dialect(_ARITHMETIC + _CHOICES, (int, float, str, bool), {**FUNCTIONS, "concat": _concat})


@dataclass(frozen=True)
class Expression:
    """An expression that was read and found to be plain arithmetic.

    Parameters
    ----------
    text
        As it was written.
    names
        The names that it needs, constants such as `pi` apart.
    body
        Its syntax tree, which holds only what its dialect allows.
    """

    text: str
    names: frozenset[str]
    body: ast.expr = field(compare=False, repr=False)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Work the expression out.

        Raises
        ------
        ExpressionError
            For a name that `values` lacks, and where arithmetic fails: division by zero, logarithm of a
            negative number, a result too large.
        """
        try:
            return _value(self.body, values)
        except ExpressionError as error:
            raise ExpressionError(f"`{self.text}`: {error}") from None
        except ZeroDivisionError:
            raise ExpressionError(f"`{self.text}`: division by zero") from None
        except OverflowError:
            raise ExpressionError(f"`{self.text}`: the result is too large") from None
        except (TypeError, ValueError, IndexError) as error:
            raise ExpressionError(f"`{self.text}`: {error}") from None


@lru_cache(maxsize=4096)
def parse(text: str, dialect: Dialect = SIGNAL) -> Expression:
    """Read an expression.

    Raises
    ------
    ExpressionError
        If it is no expression, or says what its dialect does not allow.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"an expression may have at most {LONGEST} characters, this has {len(text)}")
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"`{text}` is not an expression") from None
    names: set[str] = set()
    try:
        _check(body, dialect, names, 0)
    except ExpressionError as error:
        raise ExpressionError(f"`{text}`: {error}") from None
    return Expression(text, frozenset(names), body)


def require_names(expression: Expression, valid: Collection[str]) -> None:
    """Raise an `ExpressionError` that suggests a valid name where the expression needs one that is unknown."""
    for name in sorted(expression.names.difference(valid)):
        raise ExpressionError(f"`{expression.text}`: unknown name `{name}`; {nearest(name, valid)}")


def _check(node: ast.AST, dialect: Dialect, names: set[str], depth: int) -> None:
    if depth > DEEPEST:
        raise ExpressionError("nested too deeply")
    if isinstance(node, ast.Call):
        _check_call(node, dialect)
        for argument in node.args:
            _check(argument, dialect, names, depth + 1)
        return
    if not isinstance(node, dialect.nodes):
        raise ExpressionError(f"{_WORDS.get(type(node), 'this')} cannot be used here")
    if isinstance(node, ast.Constant):
        if type(node.value) not in dialect.constants:
            raise ExpressionError(f"{node.value!r} cannot be used here")
        if isinstance(node.value, int | float) and abs(node.value) > sys.float_info.max:
            raise ExpressionError("a number is too large")
    if isinstance(node, ast.Name):
        if node.id in dialect.functions:
            raise ExpressionError(f"`{node.id}` is a function: write `{node.id}(...)`")
        if node.id not in CONSTANTS:
            names.add(node.id)
    for child in ast.iter_child_nodes(node):
        _check(child, dialect, names, depth + 1)


_WORDS: dict[type[ast.AST], str] = {
    ast.Attribute: "attribute access",
    ast.Subscript: "indexing",
    ast.Compare: "a comparison",
    ast.IfExp: "a condition",
    ast.BoolOp: "`and`, `or`",
    ast.List: "a list",
    ast.Tuple: "a tuple",
    ast.Lambda: "a lambda",
    ast.Mod: "`%`",
    ast.FloorDiv: "`//`",
    ast.BitXor: "`^` (a power is `**`)",
}


def _check_call(node: ast.Call, dialect: Dialect) -> None:
    if not isinstance(node.func, ast.Name):
        raise ExpressionError("only functions can be called, by their names")
    name = node.func.id
    if name not in dialect.functions:
        raise ExpressionError(f"unknown function `{name}`; {nearest(name, dialect.functions)}")
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise ExpressionError(f"`{name}` takes plain arguments only")
    least, most = ARITIES.get(name, (1, 99))
    if not least <= len(node.args) <= most:
        count = f"{least}" if least == most else f"{least} or more"
        raise ExpressionError(f"`{name}` takes {count} argument(s), {len(node.args)} given")


def _value(node: ast.AST, values: Mapping[str, Any]) -> Any:
    return _EVALUATORS[type(node)](node, values)


def _bounded(number: Any) -> Any:
    """Turn whole numbers that have grown out of hand into floating point, and refuse what is not finite."""
    if isinstance(number, int) and abs(number) > LARGEST_WHOLE:
        number = float(number)
    if isinstance(number, float) and not math.isfinite(number):
        raise ExpressionError("the result is not a finite number")
    return number


def _number(node: ast.AST, values: Mapping[str, Any]) -> Any:
    value = _value(node, values)
    if isinstance(value, bool) or not isinstance(value, int | float):
        remedy = " (texts are joined by `concat(...)`)" if isinstance(value, str) else ""
        raise ExpressionError(f"arithmetic needs numbers, found {value!r}{remedy}")
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
    operand = _value(node.operand, values) if isinstance(node.op, ast.Not) else _number(node.operand, values)
    return _OPERATORS[type(node.op)](operand)


def _call(node: ast.Call, values: Mapping[str, Any]) -> Any:
    assert isinstance(node.func, ast.Name)
    if node.func.id == "concat":
        return _concat(*(_value(argument, values) for argument in node.args))
    return _bounded(FUNCTIONS[node.func.id](*(_number(argument, values) for argument in node.args)))


def _compare(node: ast.Compare, values: Mapping[str, Any]) -> bool:
    operands = [_value(operand, values) for operand in (node.left, *node.comparators)]
    pairs = zip(node.ops, operands, operands[1:], strict=False)
    return all(_OPERATORS[type(op)](left, right) for op, left, right in pairs)


def _logic(node: ast.BoolOp, values: Mapping[str, Any]) -> bool:
    decide = all if isinstance(node.op, ast.And) else any
    return decide(bool(_value(operand, values)) for operand in node.values)


def _choice(node: ast.IfExp, values: Mapping[str, Any]) -> Any:
    return _value(node.body if _value(node.test, values) else node.orelse, values)


def _list(node: ast.List, values: Mapping[str, Any]) -> list[Any]:
    return [_value(element, values) for element in node.elts]


def _item(node: ast.Subscript, values: Mapping[str, Any]) -> Any:
    container, index = _value(node.value, values), _value(node.slice, values)
    if not isinstance(container, list):
        raise ExpressionError(f"only lists can be indexed, found {container!r}")
    if isinstance(index, bool) or not isinstance(index, int):
        raise ExpressionError(f"an index must be a whole number, found {index!r}")
    if not 0 <= index < len(container):
        raise ExpressionError(f"index {index} is outside a list of {len(container)}")
    return container[index]


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
