"""Templates `${...}` of a scene: expressions of `vars`, evaluated when the scene is loaded.

A string that is one `${...}` is replaced by the value of the expression, of any type; in a longer string the value is
inserted as text. A variable with a unit is its SI value in expressions, and its text where it stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import TEMPLATE, parse, require_names
from multibody_cli.immutable import Immutable, replace
from multibody_cli.limits import LimitError, Usage
from multibody_cli.nodes import DEEPEST, UNKNOWN, Node, NodePath, Problems, mapping, node_from_value, sequence

_TEMPLATE = re.compile(r"\$\{([^{}]*)\}")


class _NotEvaluated(Exception):
    """The expression uses a variable that could not be evaluated, whose problem is reported there."""


class Scope(Immutable):
    """The names that an expression may use.

    Parameters
    ----------
    usage
        Counts the values and characters that expressions generate.
    values
        Value of each name; quantities are in SI units.
    texts
        Text of each name that has a unit.
    parameters
        Names of the parameters of the enclosing element.
    """

    usage: Usage
    values: Mapping[str, Any] = {}
    texts: Mapping[str, str] = {}
    parameters: frozenset[str] = frozenset()

    def with_index(self, name: str, index: int) -> Scope:
        """Add the index of a `repeat`."""
        return replace(self, values={**self.values, name: index})


def fill(text: str, scope: Scope) -> Any:
    """Evaluate all templates of a string.

    Raises
    ------
    ExpressionError
        A template is not closed, is not an expression, or cannot be evaluated.
    LimitError
        The value, together with those evaluated before, is too large.
    """
    whole = _TEMPLATE.fullmatch(text)
    if whole is None:
        return _filled(text, scope)
    name = whole[1].strip()
    value = scope.texts[name] if name in scope.texts else _evaluate(whole[1], scope)
    extent = _extent(value, {})
    scope.usage.add("values", extent.values - 1)
    scope.usage.add("characters", extent.characters)
    if extent.depth > DEEPEST:
        raise ExpressionError(f"`{text}`: lists are nested more than {DEEPEST} deep")
    return value


def _filled(text: str, scope: Scope) -> str:
    """Evaluate the templates of a longer text; its length is checked before it is assembled."""
    pieces: list[str] = []
    end = 0
    for match in _TEMPLATE.finditer(text):
        piece = _embedded(match, scope)
        scope.usage.add("characters", len(piece))
        pieces += (text[end : match.start()], piece)
        end = match.end()
    filled = "".join((*pieces, text[end:]))
    if "${" in filled:
        raise ExpressionError(f"`{text}`: unclosed `${{`")
    return filled


class _Extent(NamedTuple):
    """Number of values and characters of a value, and its depth of nested lists."""

    values: int
    characters: int
    depth: int


def _extent(value: Any, known: dict[int, _Extent]) -> _Extent:
    """Return the extent of a value; a list that occurs several times is counted each time, but examined once."""
    if not isinstance(value, list):
        return _Extent(1, len(value) if isinstance(value, str) else 0, 0)
    if id(value) not in known:
        values, characters, depths = zip(*(_extent(entry, known) for entry in value), (0, 0, 0), strict=True)
        known[id(value)] = _Extent(1 + sum(values), sum(characters), 1 + max(depths))
    return known[id(value)]


def names_in(node: Node) -> Iterator[str]:
    """Yield the names in the expressions below a node; invalid expressions are skipped."""
    if type(node.value) is dict:
        for key, entry in node.value.items():
            yield from _names_of(key)
            yield from names_in(entry)
    elif type(node.value) is list:
        for entry in node.value:
            yield from names_in(entry)
    elif isinstance(node.value, str):
        yield from _names_of(node.value)


def substitute(node: Node, scope: Scope, path: NodePath, problems: Problems, remark: str = "") -> Node:
    """Return the tree with all templates evaluated; subtrees without templates are shared."""
    if not node.template:
        return node
    value = node.value
    if type(value) is list:
        entries = [substitute(entry, scope, (*path, i), problems, remark) for i, entry in enumerate(value)]
        return sequence(entries, node.mark)
    if type(value) is dict:
        return _substitute_mapping(node, scope, path, problems, remark)
    try:
        filled = fill(value, scope)
    except ExpressionError as error:
        problems.add(node.mark, path, str(error), remark)
        filled = UNKNOWN
    except _NotEvaluated:
        filled = UNKNOWN
    except LimitError as error:
        problems.stop(node.mark, path, str(error), remark)
    return node_from_value(filled, node.mark)


def _substitute_mapping(node: Node, scope: Scope, path: NodePath, problems: Problems, remark: str) -> Node:
    entries, keys = {}, {}
    own = node.value["parameters"].value if "parameters" in node.value else None
    inner = replace(scope, parameters=frozenset(own)) if type(own) is dict else scope
    for key, entry in node.value.items():
        assert node.keys is not None
        mark = node.keys[key]
        try:
            name = str(fill(key, scope)) if "${" in key else key
        except ExpressionError as error:
            problems.add(mark, path, str(error), remark)
            continue
        except _NotEvaluated:
            continue
        except LimitError as error:
            problems.stop(mark, path, str(error), remark)
        if name in entries:
            problems.add(mark, (*path, name), "duplicate key after evaluation of `${...}`", remark)
            continue
        around = scope if key == "parameters" else inner
        entries[name], keys[name] = substitute(entry, around, (*path, name), problems, remark), mark
    return mapping(entries, node.mark, keys)


def _evaluate(text: str, scope: Scope) -> Any:
    expression = parse(text, TEMPLATE)
    for name in sorted(scope.parameters.intersection(expression.names).difference(scope.values)):
        raise ExpressionError(f"`{name}` is one of `parameters`, which are used without `${{}}`")
    require_names(expression, scope.values)
    if any(scope.values[name] is UNKNOWN for name in expression.names):
        raise _NotEvaluated
    value = expression.evaluate(scope.values)
    if isinstance(value, str) and "${" in value:
        raise ExpressionError(f"`{text}`: the result contains another `${{`")
    return value


def _embedded(match: re.Match[str], scope: Scope) -> str:
    value = _evaluate(match[1], scope)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ExpressionError(f"`{match[0]}` inside a longer string must be a number or a string")
    # a negative base keeps its sign: (-2)**2
    is_base = match.string[match.end() :].lstrip().startswith("**")
    return f"({value})" if is_base and not isinstance(value, str) and value < 0 else str(value)


def _names_of(text: str) -> Iterator[str]:
    for match in _TEMPLATE.finditer(text):
        try:
            yield from parse(match[1], TEMPLATE).names
        except ExpressionError:
            continue
