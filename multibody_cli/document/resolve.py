"""Resolution of a scene: includes, variables, repeats, overrides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from multibody_cli.document.nodes import Node, mapping
from multibody_cli.document.overrides import apply_override, read_override
from multibody_cli.document.parameters import fill_parameters
from multibody_cli.document.problems import Problems
from multibody_cli.document.repeat import ELEMENTS, expand, number_of_elements
from multibody_cli.document.source import RESOLVED_KEYS, SceneSource, file_of, read_root
from multibody_cli.document.tables import read_tables
from multibody_cli.document.templates import substitute
from multibody_cli.document.variables import resolve_variables
from multibody_cli.limits import LimitError


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
    """

    tree: Node
    written: Node
    variables: frozenset[str]


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
    folder = str(file_of(source).parent)
    replaced = [override for text in overrides if (override := read_override(text, problems, folder)) is not None]
    for override in replaced:
        if override.is_variable:
            root = apply_override(root, override, problems)
    scope = resolve_variables(root.value.get("vars"), problems, usage)
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
        if override.path[0] in RESOLVED_KEYS and not override.is_variable:
            problems.add(
                override.mark, (), f"`{override.path[0]}` cannot be set by an option: set `vars` or the entries"
            )
        elif not override.is_variable:
            filled = substitute(apply_override(filled, override, problems), scope, (), problems)
    filled = fill_parameters(filled, scope.values, problems)
    read_tables(filled, problems, usage)
    return Resolved(filled, written, frozenset(scope.values))
