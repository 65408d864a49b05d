"""The key `include:` of a scene: sections of other files, merged by name."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from multibody_cli.document.document import read_document
from multibody_cli.document.nodes import DEEPEST, Mark, Node, mapping, sequence
from multibody_cli.document.problems import Problems
from multibody_cli.limits import Usage

OWN = frozenset({"mbsim", "name", "description", "include"})
"""Keys that describe a single file and are not merged."""


def read_with_includes(path: FilePath, problems: Problems, usage: Usage, text: str | None = None) -> Node:
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

    def read(self, path: FilePath, shown: str, open_files: tuple[str, ...], text: str | None = None) -> Node:
        """Read a file; `open_files` are the files that include it."""
        root = read_document(path, shown, self.problems, self.usage, text)
        identity = os.path.realpath(path)
        self.done.add(identity)
        require_sections(root, self.problems)
        entries: dict[str, Node] = {}
        keys: dict[str, Mark] = {}
        for included in self._included(root, path, shown, (*open_files, identity)):
            self._merge(entries, keys, included, own=False)
        self._merge(entries, keys, root, own=True)
        return mapping(entries, root.mark, keys)

    def _included(self, root: Node, path: FilePath, shown: str, open_files: tuple[str, ...]) -> list[Node]:
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
            else:
                entries[key] = self._merge_section(key, entries[key], keys[key], node, root.keys[key])

    def _merge_section(self, key: str, first: Node, first_mark: Mark, second: Node, second_mark: Mark) -> Node:
        if type(first.value) is list and type(second.value) is list:
            return sequence(first.value + second.value, second.mark)
        if type(first.value) is dict and type(second.value) is dict:
            assert first.keys is not None
            assert second.keys is not None
            for name in first.value.keys() & second.value.keys():
                self._report_clash((key, name), second.keys[name], first.keys[name])
            return mapping({**first.value, **second.value}, second.mark, {**first.keys, **second.keys})
        self._report_clash((key,), second_mark, first_mark)
        return second

    def _report_clash(self, path: tuple[str, ...], second: Mark, first: Mark) -> None:
        self.problems.add(second, path, f"already defined in {first}")
