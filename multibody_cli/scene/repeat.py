"""`repeat:` of a scene: entries that are written once for each value of an index."""

from __future__ import annotations

from typing import Any

from multibody_cli.errors import nearest
from multibody_cli.scene.nodes import UNKNOWN, Mark, Node, Path, mapping, sequence
from multibody_cli.scene.problems import Problems
from multibody_cli.scene.templates import Scope, substitute

MAPPINGS = ("bodies", "joints", "forces")
LISTS = ("expect",)
WORDS = frozenset({"count", "index", *MAPPINGS, *LISTS})
MOST_VALUES = 10_000_000


def expand(root: Node, blocks: Node, scope: Scope, problems: Problems) -> Node:
    """Give the tree with the entries of every block written out, after those that stand in the sections."""
    if blocks.value is None:
        return root
    if type(blocks.value) is not list:
        problems.add(blocks.mark, ("repeat",), "expected a list of blocks {count, index, bodies, joints, ...}")
        return root
    growing = _Growing(root, problems)
    for number, block in enumerate(blocks.value):
        _expand_block(block, ("repeat", number), scope, growing, problems)
    return growing.finished()


class _Growing:
    """The sections of a scene, to which entries are added."""

    def __init__(self, root: Node, problems: Problems) -> None:
        assert root.keys is not None
        self._root = root
        self._problems = problems
        self._keys = dict(root.keys)
        self._sections: dict[str, Any] = {}
        self._marks: dict[str, dict[str, Mark]] = {}

    def add(self, section: str, name: str, entry: Node, mark: Mark, remark: str) -> None:
        """Add an entry to a section that is a mapping."""
        entries, marks = self._section(section, mark)
        if name in entries:
            self._problems.add(
                mark,
                (section, name),
                f"`{name}` is defined already, in {marks[name]}; `${{...}}` in the name makes it differ",
                remark,
            )
            return
        entry.origin = remark
        entries[name], marks[name] = entry, mark

    def append(self, section: str, entry: Node, mark: Mark, remark: str) -> None:
        """Add an entry to a section that is a list."""
        if section not in self._sections:
            present = self._root.value.get(section)
            self._sections[section] = list(present.value) if present and type(present.value) is list else []
            self._keys.setdefault(section, mark)
        entry.origin = remark
        self._sections[section].append(entry)

    def finished(self) -> Node:
        """Give the tree."""
        entries = dict(self._root.value)
        for section, content in self._sections.items():
            start = entries[section].mark if section in entries else self._keys[section]
            if isinstance(content, dict):
                entries[section] = mapping(content, start, self._marks[section])
            else:
                entries[section] = sequence(content, start)
        return mapping(entries, self._root.mark, self._keys)

    def _section(self, section: str, mark: Mark) -> tuple[dict[str, Node], dict[str, Mark]]:
        if section not in self._sections:
            present = self._root.value.get(section)
            known = present is not None and type(present.value) is dict
            self._sections[section] = dict(present.value) if known else {}
            self._marks[section] = dict(present.keys) if known else {}
            self._keys.setdefault(section, mark)
        return self._sections[section], self._marks[section]


def _expand_block(block: Node, path: Path, scope: Scope, growing: _Growing, problems: Problems) -> None:
    if type(block.value) is not dict:
        problems.add(block.mark, path, "expected a block {count, index, bodies, joints, ...}")
        return
    assert block.keys is not None
    for key in block.value.keys() - WORDS:
        problems.add(block.keys[key], (*path, key), f"unknown key `{key}`; {nearest(key, WORDS)}")
    count = _count(block, path, scope, problems)
    index = _index(block, path, scope, problems)
    if count * block.size > MOST_VALUES:
        problems.add(block.mark, path, f"more than {MOST_VALUES} values in all: {count} times {block.size}")
        count = 0
    for number in range(count):
        inner, remark = scope.with_index(index, number), f"{_written(path)}, {index} = {number}"
        for section in MAPPINGS:
            _add_mapping(block, section, path, inner, remark, growing, problems, tell=number == 0)
        for section in LISTS:
            _add_list(block, section, path, inner, remark, growing, problems, tell=number == 0)


def _add_mapping(
    block: Node, section: str, path: Path, scope: Scope, remark: str, growing: _Growing, problems: Problems, tell: bool
) -> None:
    node = block.value.get(section)
    if node is None:
        return
    if type(node.value) is not dict:
        if tell:
            problems.add(node.mark, (*path, section), "expected a mapping of names to entries")
        return
    filled = substitute(node, scope, (section,), problems, remark)
    assert filled.keys is not None
    for name, entry in filled.value.items():
        growing.add(section, name, _copy(entry), filled.keys[name], remark)


def _add_list(
    block: Node, section: str, path: Path, scope: Scope, remark: str, growing: _Growing, problems: Problems, tell: bool
) -> None:
    node = block.value.get(section)
    if node is None:
        return
    if type(node.value) is not list:
        if tell:
            problems.add(node.mark, (*path, section), "expected a list of entries")
        return
    for entry in substitute(node, scope, (section,), problems, remark).value:
        growing.append(section, _copy(entry), entry.mark, remark)


def _copy(node: Node) -> Node:
    """Copy the top of a tree, which may be shared with others, so that it can carry a remark of its own."""
    return Node(node.value, node.mark, node.keys, node.template, node.size)


def _count(block: Node, path: Path, scope: Scope, problems: Problems) -> int:
    node = block.value.get("count")
    if node is None:
        problems.add(block.mark, path, "expected a `count`: how many times the entries are written")
        return 0
    value = substitute(node, scope, (*path, "count"), problems).value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is UNKNOWN:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        problems.add(node.mark, (*path, "count"), f"expected a whole number, 0 or more, found `{value}`")
        return 0
    return value


def _index(block: Node, path: Path, scope: Scope, problems: Problems) -> str:
    node = block.value.get("index")
    if node is None:
        return "i"
    name = node.value
    if not isinstance(name, str) or not name.isidentifier():
        problems.add(node.mark, (*path, "index"), "expected a name of letters, digits and `_`")
        return "i"
    if name in scope.values:
        problems.add(node.mark, (*path, "index"), f"`{name}` is the name of a variable already")
    return name


def _written(path: Path) -> str:
    return f"{path[0]}[{path[1]}]"
