"""References of expressions to quantities of the state: `joints.elbow.q`, `bodies.tip.position.z`, `q[1]`.

A reference is a name with fields, as in Python.  Its last part may be a component: an index, or one of x, y, z, w.  A
name that is not an identifier stands in brackets: `joints["upper-arm"].q`.  `bodies.tip.point(0, 0, 0.1).position`
refers to a point of a body, in the body frame.  `functions.stretch(x)` calls a function of one number.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

from multibody_cli.errors import ExpressionError
from multibody_cli.immutable import Immutable

FUNCTIONS = "functions"
"""The section of a scene with functions that expressions call."""

_LETTERS = ("x", "y", "z", "w")


class Reference(Immutable):
    """A quantity that an expression refers to.

    Parameters
    ----------
    path
        Its parts, `("joints", "elbow", "q")`; `("q",)` with a component is a coordinate of the own joint.
    component
        Index or letter of the component; None for the whole quantity.
    point
        Point of a body in its body frame, m; None for the origin.
    """

    path: tuple[str, ...]
    component: int | str | None = None
    point: tuple[float, float, float] | None = None

    def __str__(self) -> str:
        """Return the reference as it is written."""
        head, *rest = self.path
        words = [head, *(f".{part}" if part.isidentifier() else f'["{part}"]' for part in rest)]
        if self.point is not None:
            words.insert(2, f".point({', '.join(f'{x:g}' for x in self.point)})")
        if self.component is not None:
            words.append(f".{self.component}" if isinstance(self.component, str) else f"[{self.component}]")
        return "".join(words)


def extract(body: ast.expr) -> tuple[ast.expr, dict[str, Reference]]:
    """Replace each reference of an expression by a name, its text; also return the references by these names.

    Raises
    ------
    ExpressionError
        A reference is malformed.
    """
    extractor = _Extractor()
    replaced: ast.expr = extractor.visit(body)
    return replaced, extractor.found


class _Extractor(ast.NodeTransformer):
    def __init__(self) -> None:
        self.found: dict[str, Reference] = {}

    def _replace(self, node: ast.expr) -> ast.expr:
        reference = _reference(node)
        if _is_function(reference):
            raise ExpressionError(f"`{reference}` is a function: write `{reference}(...)`")
        self.found[str(reference)] = reference
        return ast.copy_location(ast.Name(id=str(reference), ctx=ast.Load()), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute | ast.Subscript):
            reference = _reference(node.func)
            if _is_function(reference):
                self.found[str(reference)] = reference
                called = ast.copy_location(ast.Name(id=str(reference), ctx=ast.Load()), node.func)
                node = ast.copy_location(ast.Call(called, node.args, node.keywords), node)
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._replace(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self._replace(node)


def _reference(node: ast.expr) -> Reference:
    parts, points = _parts(node)
    if len(points) > 1:
        raise ExpressionError("a reference has one `point(x, y, z)`")
    component: int | str | None = None
    if isinstance(parts[-1], int) or (len(parts) > 2 and parts[-1] in _LETTERS):
        component = parts.pop()
    if not all(isinstance(part, str) for part in parts):
        raise ExpressionError(f"`{ast.unparse(node)}`: a component is the last part of a reference")
    return Reference(tuple(map(str, parts)), component, points[0] if points else None)


def _is_function(reference: Reference) -> bool:
    return reference.path[0] == FUNCTIONS and len(reference.path) == 2


def _parts(node: ast.expr) -> tuple[list[str | int], list[tuple[float, float, float]]]:
    """Return the parts of a reference, and the points in it."""
    match node:
        case ast.Name(id=name):
            return [name], []
        case ast.Attribute(value=value, attr=name):
            parts, points = _parts(value)
            return [*parts, name], points
        case ast.Subscript(value=value, slice=ast.Constant(value=str() | int() as part)) if part is not True:
            parts, points = _parts(value)
            return [*parts, part], points
        case ast.Call(func=ast.Attribute(value=value, attr="point"), args=[_, _, _] as args, keywords=[]):
            parts, points = _parts(value)
            return parts, [*points, (_number(args[0]), _number(args[1]), _number(args[2]))]
    raise ExpressionError(
        f"`{ast.unparse(node)}` cannot be used here: expected a quantity such as `joints.elbow.q`, "
        "`bodies.tip.position.z` or `bodies.tip.point(0, 0, 0.1).position.z`"
    )


def _number(node: ast.expr) -> float:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        value = None
    if type(value) not in (int, float):
        raise ExpressionError(f"expected a number in `point(x, y, z)`, found `{ast.unparse(node)}`")
    return float(value)


def constant(value: float) -> ast.expr:
    """Return a number as an expression."""
    number = ast.Constant(abs(value))
    return ast.UnaryOp(ast.USub(), number) if value < 0.0 else number


def with_values(body: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """Return an expression with some of its names replaced by other expressions."""
    replaced: ast.expr = _Replacement(values).visit(copy.deepcopy(body))
    return replaced


class _Replacement(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node)
