"""Options that replace values of a scene: `--set KEY=VALUE`, and `--KEY VALUE` for `--set SECTION.KEY=VALUE`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from multibody_cli.document import states
from multibody_cli.document.formats import yaml
from multibody_cli.errors import ExpressionError, QuantityError, SceneError, closest, nearest
from multibody_cli.expressions import STATE, constant, parse, require_names, with_values
from multibody_cli.immutable import Immutable
from multibody_cli.nodes import (
    UNKNOWN,
    Mark,
    Node,
    NodePath,
    Problems,
    Unknown,
    format_path,
    mapping,
    node_from_value,
    sequence,
)
from multibody_cli.spec import units
from multibody_cli.spec.quantities import format_value

# --- parameters -------------------------------------------------------------------------------------------------------
FIELDS = frozenset({"force", "torque", "tension", "activation", "target", "command", "input", "expression"})
"""Fields of elements that may hold an expression of time and state; besides, `inputs` hold expressions of time."""

OWN_NAMES = frozenset({"t", "q", "v", "activation"})
"""Names that an expression has without variables."""


def fill_parameters(
    node: Node, values: Mapping[str, object], problems: Problems, path: NodePath = (), remark: str = ""
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
        NodePath of the node, and the entry of a `repeat` that it belongs to.
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
    field = next((step for step in reversed(path) if isinstance(step, str)), "")  # without indices of components
    if not isinstance(node.value, str) or not (field in FIELDS or path[:-1] == ("inputs",)):
        return node
    try:
        filled = _filled(node.value, values)
    except ExpressionError as error:
        problems.add(node.mark, path, str(error), remark)
        filled = UNKNOWN
    return node if filled == node.value else node_from_value(filled, node.mark)


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
            constants[name] = constant(float(value))
        elif name in values:
            raise ExpressionError(f"`{text}`: the variable `{name}` is not a number, but {format_value(value)}")
        else:
            known = (OWN_NAMES - {"activation"}) | (OWN_NAMES & expression.names)  # few fields have an activation
            require_names(expression, known.union(name for name, value in values.items() if _is_number(value)))
    return ast.unparse(with_values(expression.body, constants)) if constants else text


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


_STEP = re.compile(r"(?:^|\.)(?:\"([^\"]+)\"|([^.\[\]=\"]+))|\[(\d{1,9})\]")
_SHORT_FORM = re.compile(r"--(\w+)=(.*)", re.DOTALL)
_OPTION = re.compile(r"--\w+ ")
_OPEN_SECTIONS = frozenset({("simulation",), ("simulation", "options"), ("simulation", "alarms"), ("output",)})
"""Sections that an override may create."""

_OPENING = ("contacts", "floor")
"""Entry of a section that an override may create for it: a floor enables contacts."""


class Override(Immutable):
    """A parsed `KEY=VALUE`."""

    path: NodePath
    node: Node
    mark: Mark

    @property
    def is_variable(self) -> bool:
        """Whether the override replaces a variable; variables are replaced before evaluation."""
        return self.path[0] == "vars"

    @property
    def is_of_states(self) -> bool:
        """Whether the override belongs to the initial states or to their choice, which precede all other values."""
        return self.path[0] == states.SECTION or self.path == states.CHOICE

    @property
    def removes(self) -> bool:
        """Whether the override removes an entry; a variable keeps its place with the value null."""
        return self.node.value is None and not self.is_variable


def section_of(key: str) -> str:
    """Return the section of the value that `--KEY` replaces."""
    return "contacts" if key == "floor" else "simulation"


def read_override(text: str, problems: Problems, folder: str) -> Override | None:
    """Parse `KEY=VALUE`, or `--KEY=VALUE` for a key of `simulation` or the floor of `contacts`; the value is YAML.

    Files that it names are relative to `folder`, that of the scene, as those that the scene names.
    """
    short = _SHORT_FORM.fullmatch(text)
    mark = Mark(f"--{short[1]} {short[2]}" if short else f"--set {text}", folder=folder)
    whole = f"{section_of(short[1])}.{short[1]}={short[2]}" if short else text
    key, equals, value = whole.partition("=")
    path = path_of(key)
    if not equals or path is None:
        problems.add(mark, (), "expected KEY=VALUE, as in `vars.n=100` or `simulation.step=2 ms`")
        return None
    node = Node(value if short and path == states.CHOICE else None, mark)  # the name of a state may look like a number
    try:
        node = yaml.read(value, mark.file, problems) if value.strip() and node.value is None else node
    except SceneError:
        problems.add(mark, path, f"`{value}` is not a YAML value")
        return None
    _forget_lines(node, mark)
    return Override(path, node, mark)


def is_override(mark: Mark) -> bool:
    """Whether a value at this position was written in an option instead of a file."""
    return not mark.line and _OPTION.match(mark.file) is not None


def apply_override(root: Node, override: Override, problems: Problems) -> Node:
    """Return the tree with the value replaced, or with the entry of a mapping removed if the value is null.

    A variable with a unit is replaced by a value of the same dimension, or by one without a unit.
    """
    return _replaced(root, override, 0, problems)


def path_of(key: str) -> NodePath | None:
    """Return the path that a key names; None if it is not a key."""
    steps: list[str | int] = []
    position = 0
    while position < len(key):
        match = _STEP.match(key, position)
        if match is None:
            return None
        quoted, word, index = match.groups()
        steps.append(int(index) if index is not None else quoted or word.strip())
        position = match.end()
    return tuple(steps) or None


def _forget_lines(node: Node, mark: Mark) -> None:
    """Remove line numbers, which have no meaning on the command line."""
    node.mark = mark
    entries = node.value.values() if type(node.value) is dict else node.value if type(node.value) is list else ()
    if node.keys is not None:
        node.keys = dict.fromkeys(node.keys, mark)
    for entry in entries:
        _forget_lines(entry, mark)


def _replaced(node: Node, override: Override, depth: int, problems: Problems) -> Node:
    if depth == len(override.path):
        return override.node if _agrees(node.value, override, problems) else node
    step = override.path[depth]
    if type(node.value) is list:
        if not isinstance(step, int) and step.isdecimal():
            step = int(step)
        if not isinstance(step, int) or step >= len(node.value):
            _report(override, depth, f"expected an index below {len(node.value)}", problems)
            return node
        entries = list(node.value)
        entries[step] = _replaced(entries[step], override, depth + 1, problems)
        return sequence(entries, node.mark)
    if type(node.value) is not dict or isinstance(step, int):
        _report(override, depth, "this value has no entries to set", problems)
        return node
    assert node.keys is not None
    present = node.value.get(step)
    if override.removes and depth == len(override.path) - 1 and present is not None:
        return mapping(_without(node.value, step), node.mark, _without(node.keys, step))
    if present is None:
        if override.removes or not _may_be_new(override, depth):
            _report(override, depth, _absent(step, node.value, override, depth), problems)
            return node
        present = mapping({}, override.mark, {})
    entry = _replaced(present, override, depth + 1, problems)
    keys = node.keys | ({step: override.mark} if depth == len(override.path) - 1 else {})
    return mapping({**node.value, step: entry}, node.mark, {step: override.mark} | keys)


def _without(entries: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: entry for name, entry in entries.items() if name != key}


def _absent(step: str, present: dict[str, Node], override: Override, depth: int) -> str:
    """Message for an entry that the scene does not have: a misspelled one, or one that must be set as a whole."""
    if override.is_variable and depth == 0:
        return "the scene has no variables"
    if override.is_variable or closest(step, present):
        return f"unknown key `{step}`; {nearest(step, present)}"
    found = f"the scene has no entry `{step}` here, only {nearest(step, present).removeprefix('valid: ')}"
    if override.removes:
        return found
    return f"{found}; set a new entry as a whole: `{format_path(override.path[: depth + 1])}={{...}}`"


def _agrees(old: Any, override: Override, problems: Problems) -> bool:
    """Whether a variable with a unit keeps its dimension; words are reported as well, expressions are accepted."""
    before, new = _dimension(old), override.node.value
    if not override.is_variable or before is None:
        return True
    after = _dimension(new)
    is_word = isinstance(new, str) and new.isidentifier() and new not in OWN_NAMES
    if not is_word and after in (None, before):
        return True
    wrong = f"found `{new}`" if after is None else f"but `{new}` is {units.kind_of(after)}"
    message = f"expected a number, or a quantity as `{old}` in the scene, {wrong}"
    problems.add(override.mark, override.path, message)
    return False


def _dimension(value: Any) -> units.Dimension | None:
    """Return the dimension of a quantity with a unit; None of any other value."""
    parts = units.split_quantity(value) if isinstance(value, str) else None
    try:
        return units.parse_unit(parts[1]).dimension if parts and parts[1] else None
    except QuantityError:
        return None


def _may_be_new(override: Override, depth: int) -> bool:
    """Whether a key may be new: the last key of the path, unless it is a variable, or an open section."""
    is_last = depth == len(override.path) - 1
    is_open = override.path[: depth + 1] in _OPEN_SECTIONS or override.path == _OPENING
    return (is_last and not override.is_variable) or is_open


def _report(override: Override, depth: int, message: str, problems: Problems) -> None:
    problems.add(override.mark, (), f"`{format_path(override.path[: depth + 1])}`: {message}")
