"""Resolution of a scene: includes, variables, repeats, overrides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from multibody_cli.document.overrides import apply_override, fill_parameters, read_override
from multibody_cli.document.repeat import ELEMENTS, expand, number_of_elements
from multibody_cli.document.source import RESOLVED_KEYS, SceneSource, file_of, read_root
from multibody_cli.document.states import with_state
from multibody_cli.document.table_file import read_tables
from multibody_cli.document.templates import Scope, names_in, substitute
from multibody_cli.errors import QuantityError
from multibody_cli.expressions import CONSTANTS, FUNCTIONS
from multibody_cli.foreign import is_foreign
from multibody_cli.limits import LimitError, Usage
from multibody_cli.nodes import UNKNOWN, Node, Problems, find, mapping, plain
from multibody_cli.spec import units

# --- the section `vars:` of a scene: named values, which may refer to each other in any order -------------------------
RESERVED = (*CONSTANTS, *FUNCTIONS)
"""Names that no variable may have."""


def resolve_variables(node: Node | None, problems: Problems, usage: Usage) -> Scope:
    """Evaluate all variables.

    Parameters
    ----------
    node
        The section `vars`.
    problems
        Collects invalid names, cycles, and failing expressions.
    usage
        Counts the values and texts that expressions generate, here and in the other sections.
    """
    if node is None or node.value is None:
        return Scope(usage)
    if type(node.value) is not dict:
        problems.add(node.mark, ("vars",), "expected a mapping of names to values")
        return Scope(usage)
    values: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for name in _in_order(node, problems):
        _require_usable(node, name, problems)
        scope = Scope(usage, values, texts)
        value = plain(substitute(node.value[name], scope, ("vars", name), problems))
        values[name] = UNKNOWN if _has_unknown(value) else _in_si(value)
        if (number := next(_not_finite(values[name]), None)) is not None:
            place = find(node, (name,)).mark
            problems.add(
                place,
                ("vars", name),
                f"expected a finite number, found `{number}`: write null for a bound that is absent",
            )
            values[name] = UNKNOWN
        if isinstance(value, str) and values[name] is not value:
            texts[name] = value
    return Scope(usage, values, texts)


def _require_usable(node: Node, name: str, problems: Problems) -> None:
    assert node.keys is not None
    if name in RESERVED:
        problems.add(
            node.keys[name],
            ("vars", name),
            f"`{name}` is a constant or function of expressions: use another name than {', '.join(RESERVED)}",
        )
    elif not name.isidentifier():
        problems.add(
            node.keys[name],
            ("vars", name),
            "expected a name of letters, digits and `_`, to be used in `${...}`",
        )


def _unused(root: Node, overrides: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each variable whose name stands in no text of the scene nor of the overrides.

    Those of included files do not count, because other scenes may use them.
    """
    section = root.value.get("vars")
    if section is None or not section.keys:
        return
    nodes = (*section.value.values(), *(node for key, node in root.value.items() if key != "vars"))
    texts = (*overrides, *(text for node in nodes for text in _texts(node)))
    words = {word for text in texts for word in re.findall(r"\w+", text)}
    for name, mark in section.keys.items():
        if name not in words and mark.file == root.mark.file:
            yield f"{mark}: vars.{name}: nothing uses this variable; is its name misspelt here or where it is used?"


def _texts(node: Node) -> Iterator[str]:
    """Yield the keys and the texts below a node."""
    if isinstance(node.value, str):
        yield node.value
    elif type(node.value) is dict:
        for key, entry in node.value.items():
            yield key
            yield from _texts(entry)
    elif type(node.value) is list:
        for entry in node.value:
            yield from _texts(entry)


def _in_order(node: Node, problems: Problems) -> list[str]:
    """Sort the variables topologically."""
    uses = {name: set(names_in(entry)) & node.value.keys() for name, entry in node.value.items()}
    try:
        return list(TopologicalSorter(uses).static_order())
    except CycleError as error:
        cycle = error.args[1]
        assert node.keys is not None
        problems.stop(node.keys[cycle[0]], ("vars", cycle[0]), "circular definition: " + " -> ".join(reversed(cycle)))


def _has_unknown(value: Any) -> bool:
    return value is UNKNOWN or (isinstance(value, list) and any(map(_has_unknown, value)))


def _not_finite(value: Any) -> Iterator[Any]:
    """Yield the numbers of a value that are infinite or no numbers, also as words of other languages."""
    if isinstance(value, list):
        for entry in value:
            yield from _not_finite(entry)
    elif isinstance(value, float | str) and str(value).lower() in ("nan", "inf", "-inf", "+inf", "infinity"):
        yield value


def _in_si(value: Any) -> Any:
    if isinstance(value, list):
        return [_in_si(entry) for entry in value]
    if not isinstance(value, str):
        return value
    try:
        found = units.quantity(value)
    except QuantityError:
        return value
    return value if found is None else found[0]


class Resolved(NamedTuple):
    """A scene as plain data, a mapping without `vars`, `include` and `repeat`, and without `${...}`.

    Parameters
    ----------
    tree
        The scene.
    written
        The scene as its files write it: before the overrides, except those of variables.
    variables
        The names of `vars`.
    states
        The section `states`; None if the scene has none.
    """

    tree: Node
    written: Node
    variables: frozenset[str]
    states: Node | None


def resolve(source: SceneSource, overrides: Sequence[str], problems: Problems) -> Resolved:
    """Read a scene and resolve it to plain data.

    Parameters
    ----------
    source
        The scene.
    overrides
        `KEY=VALUE` each; variables are replaced before evaluation, all other values after it.
    problems
        Collects problems.
    """
    root, usage = read_root(source, problems)
    if is_foreign(root.mark.file) and "bodies" not in root.value:
        problems.stop(root.mark, (), "the model has no body that moves: a scene may name it in `include`")
    folder = str(file_of(source).parent)
    replaced = [override for text in overrides if (override := read_override(text, problems, folder)) is not None]
    for override in replaced:
        if override.is_variable:
            root = apply_override(root, override, problems)
    scope = resolve_variables(root.value.get("vars"), problems, usage)
    problems.warnings += _unused(root, overrides)
    assert root.keys is not None
    sections = {key: node for key, node in root.value.items() if key not in RESOLVED_KEYS}
    try:
        usage.add("elements", number_of_elements(sections))
    except LimitError as error:
        problems.stop(root.keys[ELEMENTS[0]], (ELEMENTS[0],), str(error))
    plain_sections = mapping(sections, root.mark, {key: root.keys[key] for key in sections})
    filled = substitute(plain_sections, scope, (), problems)
    if "repeat" in root.value:
        filled = expand(filled, root.value["repeat"], scope, problems)
    written = filled
    for override in replaced:
        if override.is_of_states:
            filled = substitute(apply_override(filled, override, problems), scope, (), problems)
    filled, states = with_state(filled, problems)
    for override in replaced:
        if override.is_of_states:
            continue
        if override.path[0] in RESOLVED_KEYS and not override.is_variable:
            problems.add(
                override.mark, (), f"`{override.path[0]}` cannot be set by an option: set `vars` or the entries"
            )
        elif not override.is_variable:
            filled = substitute(apply_override(filled, override, problems), scope, (), problems)
    filled = fill_parameters(filled, scope.values, problems)
    read_tables(filled, problems, usage)
    return Resolved(filled, written, frozenset(scope.values), states)
