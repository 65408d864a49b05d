"""Parsing and checking of expressions, according to their dialect."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from multibody_cli.errors import ExpressionError, closest, nearest
from multibody_cli.expressions.evaluation import value_of
from multibody_cli.expressions.references import FUNCTIONS as SECTION
from multibody_cli.expressions.references import Reference, extract
from multibody_cli.expressions.words import ARITIES, CONSTANTS, FUNCTIONS, concat
from multibody_cli.limits import LimitError

MAX_LENGTH = 2000
MAX_DEPTH = 50

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
    """Syntax that an expression may contain.

    Types of nodes, types of constants, functions, references to the state, and functions of one number by other names.
    """

    nodes: tuple[type[ast.AST], ...]
    constants: tuple[type, ...]
    functions: Mapping[str, Callable[..., Any]] = field(hash=False)
    references: bool = False
    named_functions: bool = False


SIGNAL = Dialect(_ARITHMETIC, (int, float), FUNCTIONS)
FORMULA = Dialect(_ARITHMETIC, (int, float), FUNCTIONS, named_functions=True)
STATE = Dialect(_ARITHMETIC, (int, float), FUNCTIONS, references=True, named_functions=True)
TEMPLATE = Dialect(_ARITHMETIC + _CHOICES, (int, float, str, bool), {**FUNCTIONS, "concat": concat})


@dataclass(frozen=True)
class Expression:
    """An expression that contains arithmetic only.

    Parameters
    ----------
    text
        Its source.
    names
        The names that it uses, without constants such as `pi`.
    body
        Its syntax tree, which contains only nodes of its dialect; a reference is a name.
    references
        The references to the state, by that name.
    functions
        The functions that it calls and that are not those of all expressions; `functions.f` for one of the scene.
    """

    text: str
    names: frozenset[str]
    body: ast.expr = field(compare=False, repr=False)
    references: Mapping[str, Reference] = field(default_factory=dict, compare=False, repr=False)
    functions: frozenset[str] = frozenset()

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Evaluate the expression for the values of its names, and for its functions by their names.

        Raises
        ------
        ExpressionError
            For a name that is not in `values`, and for failed arithmetic: division by zero, logarithm of a negative
            number, overflow.
        LimitError
            For a text that is too long.
        """
        try:
            return value_of(self.body, values)
        except LimitError:
            raise
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
    """Parse an expression.

    Raises
    ------
    ExpressionError
        If the text is not an expression, or contains syntax outside the dialect.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"an expression may have at most {MAX_LENGTH} characters, this has {len(text)}")
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"`{text}` is not an expression{_hint_on_units(text)}") from None
    names: set[str] = set()
    functions: set[str] = set()
    references: dict[str, Reference] = {}
    try:
        _refuse_prefixes(body)
        if dialect.references:
            body, references = extract(body)
        _check(body, dialect, names, functions, 0)
        for name in sorted(functions.difference(references) if dialect.references else ()):
            raise ExpressionError(_unknown_function(name, ()))
    except ExpressionError as error:
        raise ExpressionError(f"`{text}`: {error}") from None
    return Expression(text, frozenset(names.difference(references)), body, references, frozenset(functions))


_NUMBER_WITH_WORD = re.compile(r"(?<![\w.])\d+\.?\d*\s*(?!(?:and|or|if|else|in|not|e[+-]?\d+)\b)[a-zA-Z]+")


def _hint_on_units(text: str) -> str:
    """Return advice on a number that is followed by a word, as in `sin(20 deg)`."""
    found = _NUMBER_WITH_WORD.search(text)
    if found is None:
        return ""
    return (
        f": `{found.group()}` is a number with a word; numbers are in SI units, as `20*pi/180` for 20 deg, or have a "
        "name in `vars`, and products have a `*`"
    )


def require_names(expression: Expression, valid: Collection[str]) -> None:
    """Raise an `ExpressionError` with a suggestion for each unknown name."""
    for name in sorted(expression.names.difference(valid)):
        raise ExpressionError(f"`{expression.text}`: unknown name `{name}`; {nearest(name, valid)}")


def require_functions(expression: Expression, valid: Collection[str]) -> None:
    """Raise an `ExpressionError` with a suggestion for each unknown function."""
    for name in sorted(expression.functions.difference(valid)):
        raise ExpressionError(f"`{expression.text}`: {_unknown_function(name, valid)}")


def _unknown_function(name: str, valid: Collection[str]) -> str:
    return f"unknown function `{name}`; {nearest(name, [*valid, *FUNCTIONS])}"


def _refuse_prefixes(body: ast.expr) -> None:
    """Raise an `ExpressionError` with a suggestion for functions of modules of Python, as in `np.sin(t)`."""
    for node in ast.walk(body):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=prefix), attr=name)):
                if prefix != SECTION and (close := closest(name, FUNCTIONS)):
                    raise ExpressionError(f"`{prefix}.{name}`: functions have no prefix: did you mean `{close}`?")


def _check(node: ast.AST, dialect: Dialect, names: set[str], functions: set[str], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ExpressionError("nested too deeply")
    if isinstance(node, ast.Call):
        _check_call(node, dialect, functions)
        for argument in node.args:
            _check(argument, dialect, names, functions, depth + 1)
        return
    if not isinstance(node, dialect.nodes):
        raise ExpressionError(f"{_DESCRIPTIONS.get(type(node), 'this')} cannot be used here")
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
        _check(child, dialect, names, functions, depth + 1)


_DESCRIPTIONS: dict[type[ast.AST], str] = {
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


def _check_call(node: ast.Call, dialect: Dialect, functions: set[str]) -> None:
    if not isinstance(node.func, ast.Name):
        raise ExpressionError("only functions can be called, by their names")
    name = node.func.id
    if name not in dialect.functions:
        if not dialect.named_functions:
            raise ExpressionError(_unknown_function(name, dialect.functions))
        functions.add(name)
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise ExpressionError(f"`{name}` takes plain arguments only")
    least, most = (1, 1) if name in functions else ARITIES.get(name, (1, 99))
    if not least <= len(node.args) <= most:
        count = f"{least}" if least == most else f"{least} or more"
        raise ExpressionError(f"`{name}` takes {count} argument(s), {len(node.args)} given")
