"""Sources of a scene: a file, the text of a file, the scene in a result file, or a file that is read already."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from multibody_cli.document.document import read_document
from multibody_cli.foreign import is_foreign
from multibody_cli.immutable import Immutable
from multibody_cli.limits import Usage
from multibody_cli.nodes import DEEPEST, Mark, Node, Problems, mapping, sequence

# --- the key `include:` of a scene: sections of other files, merged by name -------------------------------------------
OWN = frozenset({"mbsim", "name", "description", "include"})
"""Keys that describe a single file and are not merged."""


SETTINGS = frozenset({"gravity", "contacts", "simulation", "output"})
"""Sections of settings; those of an included model of another program are defaults."""


def read_with_includes(path: Path, problems: Problems, usage: Usage, text: str | None = None) -> Node:
    """Read a file, or its content `text`, and its includes; included entries come first."""
    return _Reader(problems, usage).read(path, str(path), (), text)


def require_sections(root: Node, problems: Problems) -> None:
    """Refuse a scene that is not a mapping."""
    if type(root.value) is not dict:
        problems.add(root.mark, (), "expected a mapping of sections: `mbsim: 1`, `bodies:`, `joints:`, ...")
        problems.raise_any()


@dataclass
class _Reader:
    problems: Problems
    usage: Usage
    done: set[str] = field(default_factory=set)

    def read(self, path: Path, shown: str, open_files: tuple[str, ...], text: str | None = None) -> Node:
        """Read a file; `open_files` are the files that include it."""
        root = read_document(path, shown, self.problems, self.usage, text, is_alone=not open_files)
        identity = os.path.realpath(path)
        self.done.add(identity)
        require_sections(root, self.problems)
        entries: dict[str, Node] = {}
        keys: dict[str, Mark] = {}
        for included in self._included(root, path, shown, (*open_files, identity)):
            self._merge(entries, keys, included, own=False)
        self._merge(entries, keys, root, own=True)
        return mapping(entries, root.mark, keys)

    def _included(self, root: Node, path: Path, shown: str, open_files: tuple[str, ...]) -> list[Node]:
        node = root.value.get("include")
        if node is None:
            return []
        if type(node.value) is not list:
            self.problems.add(node.mark, ("include",), "expected a list of files")
            return []
        found = []
        for index, entry in enumerate(node.value):
            where = ("include", index)
            if not isinstance(entry.value, str) or entry.template or "\0" in entry.value:
                self.problems.add(entry.mark, where, "expected the name of a file, without `${...}`")
                continue
            target = path.parent / entry.value
            identity = os.path.realpath(target)
            name = os.path.normpath(os.path.join(os.path.dirname(shown), entry.value))
            if identity in open_files:
                self.problems.add(
                    entry.mark, where, f"circular include: `{entry.value}` includes itself through {shown}"
                )
            elif len(open_files) > DEEPEST:
                self.problems.add(entry.mark, where, f"nested more than {DEEPEST} files deep")
            elif not target.is_file():
                self.problems.add(entry.mark, where, f"file not found: {name}")
            elif identity not in self.done:
                found.append(self.read(target, name, open_files))
        return found

    def _merge(self, entries: dict[str, Node], keys: dict[str, Mark], root: Node, own: bool) -> None:
        assert root.keys is not None
        for key, node in root.value.items():
            if key == "include" or (key in OWN and not own):
                continue
            if key not in entries:
                entries[key], keys[key] = node, root.keys[key]
            elif key in SETTINGS and is_foreign(keys[key].file):
                entries[key], keys[key] = _replaced(entries[key], node), root.keys[key]
            else:
                entries[key] = self._merge_section(key, entries[key], keys[key], node, root.keys[key])

    def _merge_section(self, key: str, first: Node, first_mark: Mark, second: Node, second_mark: Mark) -> Node:
        if type(first.value) is list and type(second.value) is list:
            return sequence(first.value + second.value, second.mark)
        if type(first.value) is dict and type(second.value) is dict:
            assert first.keys is not None
            assert second.keys is not None
            entries = {**first.value, **second.value}
            for name in first.value.keys() & second.value.keys():
                one, other = first.value[name], second.value[name]
                if type(one.value) is list and type(other.value) is list:  # as `world.shapes`
                    entries[name] = sequence(one.value + other.value, other.mark)
                else:
                    self._report_clash((key, name), second.keys[name], first.keys[name])
            return mapping(entries, second.mark, {**first.keys, **second.keys})
        self._report_clash((key,), second_mark, first_mark)
        return second

    def _report_clash(self, path: tuple[str, ...], second: Mark, first: Mark) -> None:
        self.problems.add(second, path, f"already defined in {first}: leave out one of them")


def _replaced(default: Node, node: Node) -> Node:
    """Return the values of a section, and those of its default that it lacks."""
    if type(default.value) is not dict or type(node.value) is not dict:
        return node
    assert default.keys is not None
    assert node.keys is not None
    return mapping({**default.value, **node.value}, node.mark, {**default.keys, **node.keys})


RESOLVED_KEYS = frozenset({"vars", "include", "repeat"})
"""Keys of a scene file that the resolved scene does not contain."""

FILE = "file"
"""Key that names a file, of a mesh or a table."""


class StoredScene(Immutable):
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


class SceneText(Immutable):
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
    warnings
        Warnings of the reader.
    """

    source: UnreadScene
    root: Node
    usage: Usage
    warnings: tuple[str, ...] = ()

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
    return ReadScene(source, root, usage, tuple(problems.warnings))


def read_root(source: SceneSource, problems: Problems) -> tuple[Node, Usage]:
    """Read a scene, unless it is read already; return its tree and the counts of the limits."""
    if isinstance(source, ReadScene):
        problems.warnings += source.warnings
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
    root = read_document(Path(scene.file), str(scene), problems, usage, scene.text)
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
