"""Resolution of a scene: includes, variables, repeats, overrides."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from multibody_cli.document.document import read_document
from multibody_cli.document.include import read_with_includes
from multibody_cli.document.nodes import Node, mapping
from multibody_cli.document.overrides import apply_override, read_override
from multibody_cli.document.parameters import fill_parameters
from multibody_cli.document.problems import Problems
from multibody_cli.document.repeat import expand
from multibody_cli.document.tables import read_tables
from multibody_cli.document.templates import substitute
from multibody_cli.document.variables import resolve_variables
from multibody_cli.limits import Usage

RESOLVED_KEYS = frozenset({"vars", "include", "repeat"})
"""Keys of a scene file that the resolved scene does not contain."""

FILE = "file"
"""Key that names a file, of a mesh or a table."""


class Resolved(NamedTuple):
    """A scene as plain data, a mapping without `vars`, `include` and `repeat`, and without `${...}`.

    Parameters
    ----------
    tree
        The scene.
    written
        The scene as its files write it: before the overrides, except those of variables.
    """

    tree: Node
    written: Node


def require_resolved(path: Path, shown: str) -> None:
    """Refuse a scene that is not resolved, or that names other files: the scene in a result file is complete by itself.

    Parameters
    ----------
    path
        The file.
    shown
        Its name in messages.

    Raises
    ------
    SceneError
        The scene has `vars`, `include`, `repeat` or `${...}`, names a file, or is not YAML.
    """
    problems = Problems()
    root = read_document(path, shown, problems, Usage())
    rule = "the scene in a result file is complete by itself"
    if root.template:
        problems.add(root.mark, (), f"{rule}: it has no `${{...}}`; run the scene file instead")
    for key in sorted(RESOLVED_KEYS & (root.keys or {}).keys()):
        assert root.keys is not None
        problems.add(root.keys[key], (key,), f"{rule}: it has no `{key}`; run the scene file instead")
    left: list[Node] = [root]
    while left:
        node = left.pop()
        if isinstance(node.value, dict) and node.keys is not None:
            left += node.value.values()
            if isinstance(getattr(node.value.get(FILE), "value", None), str):
                where = node.value[FILE]
                problems.add(where.mark, (FILE,), f"{rule}: it reads no `{where.value}`; run the scene file instead")
        elif isinstance(node.value, list):
            left += node.value
    problems.raise_any()


def resolve(path: Path, overrides: Sequence[str], problems: Problems) -> Resolved:
    """Read a scene and resolve it to plain data.

    Parameters
    ----------
    path
        The scene file.
    overrides
        `KEY=VALUE` each; variables are replaced before evaluation, all other values after it.
    problems
        Collects problems.
    """
    usage = Usage()
    root = read_with_includes(path, problems, usage)
    replaced = [override for text in overrides if (override := read_override(text, problems)) is not None]
    for override in replaced:
        if override.is_variable:
            root = apply_override(root, override, problems)
    scope = resolve_variables(root.value.get("vars"), problems, usage)
    assert root.keys is not None
    sections = {key: node for key, node in root.value.items() if key not in RESOLVED_KEYS}
    plain_sections = mapping(sections, root.mark, {key: root.keys[key] for key in sections})
    filled = substitute(plain_sections, scope, (), problems)
    if "repeat" in root.value:
        filled = expand(filled, root.value["repeat"], scope, problems)
    filled = fill_parameters(filled, scope.values)
    written = filled
    for override in replaced:
        if override.path[0] in RESOLVED_KEYS and not override.is_variable:
            problems.add(
                override.mark, (), f"`{override.path[0]}` cannot be set by an option: set `vars` or the entries"
            )
        elif not override.is_variable:
            filled = substitute(apply_override(filled, override, problems), scope, (), problems)
            filled = fill_parameters(filled, scope.values)
    read_tables(filled, problems, usage)
    return Resolved(filled, written)
