"""Resolution of a scene: includes, variables, repeats, overrides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from multibody_cli.document.document import read_stored
from multibody_cli.document.include import read_with_includes, require_sections
from multibody_cli.document.nodes import Node, mapping
from multibody_cli.document.overrides import apply_override, read_override
from multibody_cli.document.problems import Problems
from multibody_cli.document.repeat import ELEMENTS, expand, number_of_elements
from multibody_cli.document.tables import read_tables
from multibody_cli.document.templates import substitute
from multibody_cli.document.variables import resolve_variables
from multibody_cli.limits import LimitError, Usage

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


@dataclass(frozen=True)
class StoredScene:
    """The scene in a result file: it is resolved, and names no other file.

    Parameters
    ----------
    text
        The scene as YAML.
    file, dataset
        The result file, and the dataset in it; messages name both.
    """

    text: str
    file: str
    dataset: str = "scene/yaml"

    def __str__(self) -> str:
        return f"{self.file}:/{self.dataset}"


SceneSource = str | Path | StoredScene
"""A scene file, or the scene in a result file."""


def _read_stored(scene: StoredScene, problems: Problems, usage: Usage) -> Node:
    """Read the scene in a result file; refuse one that is not resolved, or that names other files.

    Raises
    ------
    SceneError
        The scene has `vars`, `include`, `repeat` or `${...}`, names a file, or is not YAML.
    """
    root = read_stored(scene.text, str(scene), problems, usage)
    require_sections(root, problems)
    rule = "the scene in a result file is complete by itself"
    if root.template:
        problems.add(root.mark, (), f"{rule}: it has no `${{...}}`; run the scene file instead")
    assert root.keys is not None
    for key in sorted(RESOLVED_KEYS & root.keys.keys()):
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
    return root


def resolve(source: SceneSource, overrides: Sequence[str], problems: Problems) -> Resolved:
    """Read a scene and resolve it to plain data.

    Parameters
    ----------
    source
        The scene file, or the scene in a result file.
    overrides
        `KEY=VALUE` each; variables are replaced before evaluation, all other values after it.
    problems
        Collects problems.
    """
    usage = Usage()
    if isinstance(source, StoredScene):
        root = _read_stored(source, problems, usage)
    else:
        root = read_with_includes(Path(source), problems, usage)
    replaced = [override for text in overrides if (override := read_override(text, problems)) is not None]
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
    read_tables(filled, problems, usage)
    return Resolved(filled, written)
