"""Sources of a scene: a file, the text of a file, the scene in a result file, or a file that is read already."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from multibody_cli.document.document import read_stored
from multibody_cli.document.include import read_with_includes, require_sections
from multibody_cli.document.nodes import Node
from multibody_cli.document.problems import Problems
from multibody_cli.limits import Usage

RESOLVED_KEYS = frozenset({"vars", "include", "repeat"})
"""Keys of a scene file that the resolved scene does not contain."""

FILE = "file"
"""Key that names a file, of a mesh or a table."""


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


@dataclass(frozen=True)
class SceneText:
    """The content of a scene file that need not exist: messages name it, and its folder is that of other files."""

    text: str
    file: Path

    def __str__(self) -> str:
        return str(self.file)


UnreadScene = str | Path | SceneText | StoredScene
"""A scene file, its content, or the scene in a result file."""


class ReadScene(NamedTuple):
    """A scene with its includes, read once for several sets of overrides.

    Parameters
    ----------
    source
        The scene.
    root
        Its tree.
    usage
        Counts of the limits after reading.
    """

    source: UnreadScene
    root: Node
    usage: Usage

    def __str__(self) -> str:
        return str(self.source)


SceneSource = UnreadScene | ReadScene
"""Any source of a scene."""


def file_of(source: SceneSource) -> Path:
    """Return the file of a source: its name is the default name of the scene."""
    if isinstance(source, ReadScene):
        source = source.source
    return Path(source) if isinstance(source, str | Path) else Path(source.file)


def read_scene(source: UnreadScene) -> ReadScene:
    """Read a scene and its includes.

    Raises
    ------
    SceneError
        A file cannot be read, or is not YAML.
    """
    problems = Problems()
    root, usage = read_root(source, problems)
    problems.raise_any()
    return ReadScene(source, root, usage)


def read_root(source: SceneSource, problems: Problems) -> tuple[Node, Usage]:
    """Read a scene, unless it is read already; return its tree and the counts of the limits."""
    if isinstance(source, ReadScene):
        return source.root, source.usage.copy()
    usage = Usage()
    if isinstance(source, StoredScene):
        return _read_stored(source, problems, usage), usage
    if isinstance(source, SceneText):
        return read_with_includes(source.file, problems, usage, source.text), usage
    return read_with_includes(Path(source), problems, usage), usage


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
