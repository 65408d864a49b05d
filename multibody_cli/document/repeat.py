"""The key `repeat:` of a scene: entries that are generated for each value of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from multibody_cli.document.templates import Scope, substitute
from multibody_cli.errors import nearest
from multibody_cli.immutable import Immutable
from multibody_cli.limits import LimitError
from multibody_cli.nodes import UNKNOWN, Mark, Node, NodePath, Problems, format_path, mapping, sequence
from multibody_cli.spec.quantities import format_value

MAPPINGS = (
    "bodies",
    "joints",
    "couplings",
    "combinations",
    "constraints",
    "forces",
    "paths",
    "springs",
    "muscles",
    "strands",
    "sensors",
    "events",
)
LISTS = ("expect",)
ELEMENTS = ("bodies", "joints")
WORDS = frozenset({"count", "index", *MAPPINGS, *LISTS})
_TYPES: dict[str, type] = {**dict.fromkeys(MAPPINGS, dict), **dict.fromkeys(LISTS, list)}
_NAMES: dict[type, str] = {dict: "a mapping of names to entries", list: "a list of entries"}


def number_of_elements(sections: Mapping[str, Node]) -> int:
    """Return the number of bodies and joints that sections write."""
    return sum(len(sections[name].value) for name in ELEMENTS if name in sections and sections[name].keys is not None)


def expand(root: Node, blocks: Node, scope: Scope, problems: Problems) -> Node:
    """Return the tree with the generated entries of all blocks appended to the sections."""
    if blocks.value is None:
        return root
    if type(blocks.value) is not list:
        problems.add(blocks.mark, ("repeat",), "expected a list of blocks {count, index, bodies, joints, ...}")
        return root
    read = [_read_block(block, ("repeat", number), scope, problems) for number, block in enumerate(blocks.value)]
    known = [block for block in read if block is not None]
    _require_within_limits(known, scope, problems)
    growing = _Growing(root, problems)
    for block in known:
        _expand_block(block, scope, growing, problems)
    return growing.finished()


class _Growing:
    """Sections of a scene, to which entries are added."""

    def __init__(self, root: Node, problems: Problems) -> None:
        assert root.keys is not None
        self._root = root
        self._problems = problems
        self._keys = dict(root.keys)
        self._mappings: dict[str, tuple[dict[str, Node], dict[str, Mark]]] = {}
        self._lists: dict[str, list[Node]] = {}

    def add(self, section: str, added: Node, remark: str) -> None:
        """Add the generated entries of a section."""
        self._keys.setdefault(section, added.mark)
        if type(added.value) is list:
            self._list(section).extend(_marked(entry, remark) for entry in added.value)
            return
        assert added.keys is not None
        entries, marks = self._mapping(section)
        for name, entry in added.value.items():
            mark = added.keys[name]
            if name in entries:
                message = (
                    f"`{name}` is already defined in {marks[name]}; use `${{...}}` in the name to distinguish entries"
                )
                self._problems.add(mark, (section, name), message, remark)
            else:
                entries[name], marks[name] = _marked(entry, remark), mark

    def finished(self) -> Node:
        """Return the tree."""
        entries = dict(self._root.value)
        for section, (content, marks) in self._mappings.items():
            entries[section] = mapping(content, self._start(section), marks)
        for section, listed in self._lists.items():
            entries[section] = sequence(listed, self._start(section))
        return mapping(entries, self._root.mark, self._keys)

    def _start(self, section: str) -> Mark:
        present = self._root.value.get(section)
        return self._keys[section] if present is None else present.mark

    def _mapping(self, section: str) -> tuple[dict[str, Node], dict[str, Mark]]:
        if section not in self._mappings:
            present = self._root.value.get(section)
            known = present is not None and type(present.value) is dict
            self._mappings[section] = (dict(present.value), dict(present.keys)) if known else ({}, {})
        return self._mappings[section]

    def _list(self, section: str) -> list[Node]:
        present = self._root.value.get(section)
        known = present is not None and type(present.value) is list
        return self._lists.setdefault(section, list(present.value) if known else [])


def _marked(node: Node, remark: str) -> Node:
    """Copy a node, which other entries may share, and set its remark."""
    return Node(node.value, node.mark, node.keys, node.template, node.size, remark)


class _Block(Immutable):
    """A block that is read; `index` is the name of its index, None if it has no valid one."""

    node: Node
    path: NodePath
    sections: Mapping[str, Node]
    count: int
    index: str | None


def _read_block(node: Node, path: NodePath, scope: Scope, problems: Problems) -> _Block | None:
    if type(node.value) is not dict:
        problems.add(node.mark, path, "expected a block {count, index, bodies, joints, ...}")
        return None
    sections = _sections(node, path, problems)
    return _Block(node, path, sections, _count(node, path, scope, problems), _index(node, path, scope, problems))


def _require_within_limits(blocks: Sequence[_Block], scope: Scope, problems: Problems) -> None:
    """Count the entries of all blocks before any is generated; a problem states their number, at the first excess."""
    exceeded: dict[str, tuple[_Block, str]] = {}
    for block in blocks:
        for name, size in (("values", block.node.size), ("elements", number_of_elements(block.sections))):
            try:
                scope.usage.add(name, block.count * size)
            except LimitError as error:
                first = exceeded[name][0] if name in exceeded else block
                exceeded[name] = first, str(error)
    for block, message in exceeded.values():
        problems.add(block.node.mark, block.path, message)
    if exceeded:
        problems.raise_any()


def _expand_block(block: _Block, scope: Scope, growing: _Growing, problems: Problems) -> None:
    for number in range(block.count if block.index is not None else 0):
        remark = f"{format_path(block.path)}, {block.index} = {number}"
        inner = scope.with_index(str(block.index), number)
        for section, node in block.sections.items():
            growing.add(section, substitute(node, inner, (section,), problems, remark), remark)


def _sections(block: Node, path: NodePath, problems: Problems) -> dict[str, Node]:
    """Return the sections of a block that have the right type."""
    assert block.keys is not None
    sections = {}
    for key, node in block.value.items():
        expected = _TYPES.get(key)
        if key not in WORDS:
            problems.add(block.keys[key], (*path, key), f"unknown key `{key}`; {nearest(key, WORDS)}")
        elif expected is not None and node.value is not None:
            if type(node.value) is expected:
                sections[key] = node
            else:
                problems.add(node.mark, (*path, key), f"expected {_NAMES[expected]}")
    return sections


def _count(block: Node, path: NodePath, scope: Scope, problems: Problems) -> int:
    node = block.value.get("count")
    if node is None:
        problems.add(block.mark, path, "expected a `count`, the number of repetitions")
        return 0
    value = substitute(node, scope, (*path, "count"), problems).value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is UNKNOWN:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        problems.add(node.mark, (*path, "count"), f"expected a nonnegative integer, found {format_value(value)}")
        return 0
    return value


def _index(block: Node, path: NodePath, scope: Scope, problems: Problems) -> str | None:
    node = block.value.get("index")
    if node is None:
        return "i"
    name = node.value
    if not isinstance(name, str) or not name.isidentifier():
        problems.add(node.mark, (*path, "index"), "expected a name of letters, digits and `_`")
        return None
    if name in scope.values:
        problems.add(node.mark, (*path, "index"), f"`{name}` is already the name of a variable")
        return None
    return name
