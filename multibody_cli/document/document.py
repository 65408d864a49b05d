"""Parser of YAML text into a tree with line and column numbers.

libyaml reads the text. The tree supports YAML 1.2 without tags, merge keys and non-scalar keys. The parser is not
recursive, so deep nesting cannot exhaust the stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

import yaml

from multibody_cli.document.nodes import UNKNOWN, Mark, Node, mapping, sequence
from multibody_cli.document.problems import Problems
from multibody_cli.document.scalars import scalar
from multibody_cli.errors import Problem, SceneError

DEEPEST = 50
LARGEST = 5_000_000
"""Maximum number of values in a file; values repeated by aliases are counted each time."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_document(path: FilePath, shown: str, problems: Problems) -> Node:
    """Read a file.

    Parameters
    ----------
    path
        The file.
    shown
        Its name in messages.
    problems
        Collects problems that do not stop the parser, such as duplicate keys.

    Raises
    ------
    SceneError
        The file cannot be read or is not YAML.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refusal(Mark(shown), f"the file is not UTF-8 text (byte {error.start})") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _refusal(Mark(shown), f"cannot read the file: {reason}") from None
    return parse_document(text, shown, problems)


def parse_document(text: str, shown: str, problems: Problems) -> Node:
    """Parse YAML text; see `read_document`."""
    composer = _Composer(shown, problems)
    try:
        for event in yaml.parse(text, Loader=_Loader):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        what = " ".join(filter(None, (error.context, error.problem)))
        raise _refusal(_mark(shown, error.problem_mark), f"not YAML: {what}") from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise _refusal(Mark(shown), f"not YAML: {str(error).splitlines()[0]}") from None
    if composer.root is None:
        raise _refusal(Mark(shown, 1, 1), "the file is empty")
    return composer.root


def _refusal(mark: Mark, message: str) -> SceneError:
    return SceneError([Problem(str(mark), "", message)])


def _mark(file: str, mark: Any) -> Mark:
    return Mark(file, mark.line + 1, mark.column + 1) if mark is not None else Mark(file)


def _short(tag: str) -> str:
    """Return the short form of a tag: `!!str`."""
    return tag.replace("tag:yaml.org,2002:", "!!")


@dataclass
class _Frame:
    """A list or mapping that is being parsed."""

    is_mapping: bool
    mark: Mark
    anchor: str | None
    entries: list[Node] = field(default_factory=list)
    fields: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, Mark] = field(default_factory=dict)
    merges: bool = False
    key: str | None = None
    key_mark: Mark | None = None

    def path_step(self) -> str | int:
        return (self.key or "") if self.is_mapping else len(self.entries)


class _Composer:
    def __init__(self, file: str, problems: Problems) -> None:
        self.root: Node | None = None
        self._file = file
        self._problems = problems
        self._frames: list[_Frame] = []
        self._anchors: dict[str, Node] = {}
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(self, event)

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise _refusal(
                _mark(self._file, event.start_mark), "expected a single document, found a second one (`---`)"
            )

    def _open(self, event: Any) -> None:
        mark = self._checked(event)
        self._require_value(mark)
        if len(self._frames) >= DEEPEST:
            raise _refusal(mark, f"nested more than {DEEPEST} deep")
        self._frames.append(_Frame(isinstance(event, yaml.MappingStartEvent), mark, event.anchor))

    def _close(self, event: Any) -> None:
        frame = self._frames.pop()
        if frame.merges:
            node = Node(UNKNOWN, frame.mark)
        elif frame.is_mapping:
            node = mapping(frame.fields, frame.mark, frame.keys)
        else:
            node = sequence(frame.entries, frame.mark)
        if node.size > LARGEST:
            raise _refusal(frame.mark, f"more than {LARGEST} values, including those repeated by aliases")
        self._put(node, frame.anchor)

    def _scalar(self, event: Any) -> None:
        mark = self._checked(event)
        if self._expects_key():
            self._take_key(event.value, mark)
            return
        value = scalar(event.value) if event.implicit[0] else event.value
        self._put(Node(value, mark, template=isinstance(value, str) and "${" in value), event.anchor)

    def _alias(self, event: Any) -> None:
        mark = _mark(self._file, event.start_mark)
        self._require_value(mark)
        node = self._anchors.get(event.anchor)
        if node is None:
            raise _refusal(mark, f"undefined alias: no anchor `&{event.anchor}` precedes it")
        self._put(node, None)

    def _checked(self, event: Any) -> Mark:
        mark = _mark(self._file, event.start_mark)
        if event.tag is not None:
            self._problems.add(mark, self._path(), f"expected a value without a tag, found `{_short(event.tag)}`")
        return mark

    def _require_value(self, mark: Mark) -> None:
        if self._expects_key():
            raise _refusal(mark, "expected a scalar key")

    def _expects_key(self) -> bool:
        return bool(self._frames) and self._frames[-1].is_mapping and self._frames[-1].key is None

    def _take_key(self, key: str, mark: Mark) -> None:
        frame = self._frames[-1]
        frame.key, frame.key_mark = key, mark
        if key == "<<":
            frame.merges = True
            self._problems.add(
                mark,
                self._path()[:-1],
                "merge keys (`<<`) are not part of YAML 1.2: use `vars`, `repeat` or an alias",
            )

    def _put(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._frames:
            self.root = node
            return
        frame = self._frames[-1]
        if not frame.is_mapping:
            frame.entries.append(node)
            return
        assert frame.key is not None
        assert frame.key_mark is not None
        if frame.key in frame.fields:
            first = frame.keys[frame.key]
            self._problems.add(frame.key_mark, self._path(), f"duplicate key, first defined in line {first.line}")
        elif frame.key != "<<":
            frame.fields[frame.key], frame.keys[frame.key] = node, frame.key_mark
        frame.key = None

    def _path(self) -> list[str | int]:
        return [frame.path_step() for frame in self._frames]


_HANDLERS: dict[type, Any] = {
    yaml.DocumentStartEvent: _Composer._document,
    yaml.MappingStartEvent: _Composer._open,
    yaml.SequenceStartEvent: _Composer._open,
    yaml.MappingEndEvent: _Composer._close,
    yaml.SequenceEndEvent: _Composer._close,
    yaml.ScalarEvent: _Composer._scalar,
    yaml.AliasEvent: _Composer._alias,
}
