"""Reader of YAML text.

libyaml reads the text. The tree supports YAML 1.2 without tags, merge keys and non-scalar keys. Nesting is limited to
DEEPEST levels, so that recursion cannot exhaust the stack.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import yaml

from multibody_cli.limits import LimitError, Usage
from multibody_cli.nodes import DEEPEST, UNKNOWN, Mark, Node, NodePath, Problems, mapping, refusal, sequence
from multibody_cli.yaml_values import scalar

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(text: str, shown: str, problems: Problems) -> Node:
    """Read YAML text; see `formats.Reader`."""
    try:
        root = _Composer(shown, problems, yaml.parse(text, Loader=_Loader)).compose()
    except yaml.MarkedYAMLError as error:
        raise refusal(_mark(shown, error.problem_mark), f"not YAML: {_cause(text, error)}") from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise refusal(Mark(shown), f"not YAML: {str(error).splitlines()[0]}") from None
    if root is None:
        raise refusal(Mark(shown, 1, 1), "the file is empty")
    return root


def _mark(file: str, mark: Any) -> Mark:
    return Mark(file, mark.line + 1, mark.column + 1) if mark is not None else Mark(file)


def _cause(text: str, error: yaml.MarkedYAMLError) -> str:
    """Return the cause of an error, and the remedy if it is known."""
    cause = " ".join(filter(None, (error.context, error.problem)))
    place, opened = error.problem_mark, error.context_mark
    if _is_indent(text, place):
        return "a tab cannot indent a line: use spaces"
    if opened is not None and "flow" in cause:
        bracket = "{" if "flow mapping" in cause else "["
        return f"{cause}: the `{bracket}` of line {opened.line + 1}, column {opened.column + 1}, is not closed before"
    if place is None or ("block" not in cause and "mapping values" not in cause):
        return cause
    if "mapping values" in cause and ": " in text.splitlines()[place.line][: place.column]:
        return f"{cause}: the line has a second `:`; write entries of one line as in {{a: 1, b: 2}}, and quote a text"
    indents = [(k, len(line) - len(line.lstrip(" "))) for k, line in enumerate(text.splitlines()) if line.strip()]
    own = dict(indents).get(place.line)
    above = [(k, indent) for k, indent in indents if k < place.line]
    if own is None or not above or above[-1][1] == own:
        return cause
    inner = list(itertools.takewhile(lambda one: one[1] > own, reversed(above))) or above[-1:]
    line, other = min(reversed(inner), key=lambda one: one[1])
    return f"{cause}: the line is indented by {own} and line {line + 1} by {other}; entries of one mapping begin alike"


def _is_indent(text: str, mark: Any) -> bool:
    """Whether a tab at the start of a line is at a position."""
    line = text.splitlines()[mark.line : mark.line + 1] if mark is not None else []
    start = line[0][: mark.column + 1] if line else ""
    return start.endswith("\t") and not start.strip()


class _Composer:
    """Composes the tree from the events of the parser."""

    def __init__(self, file: str, problems: Problems, events: Iterator[Any]) -> None:
        self._file = file
        self._problems = problems
        self._events = events
        self._anchors: dict[str, Node] = {}
        self._usage = Usage()

    def compose(self) -> Node | None:
        """Return the root; None if the text is empty."""
        root = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    mark = _mark(self._file, event.start_mark)
                    raise refusal(mark, "expected a single document, found a second one (`---`)")
                root = self._node(next(self._events), ())
        return root

    def _node(self, event: Any, path: NodePath) -> Node:
        mark = _mark(self._file, event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise refusal(mark, f"undefined alias: no anchor `&{event.anchor}` precedes it")
            node = self._anchors[event.anchor]
            self._count_values(node.size, mark)
            return node
        self._check_tag(event, mark, path)
        if isinstance(event, yaml.ScalarEvent):
            value = scalar(event.value) if event.implicit[0] else event.value
            node = Node(value, mark, template=isinstance(value, str) and "${" in value)
            self._count_values(1, mark)
        elif len(path) >= DEEPEST:
            raise refusal(mark, f"nested more than {DEEPEST} deep")
        else:
            compose = self._mapping if isinstance(event, yaml.MappingStartEvent) else self._sequence
            node = compose(mark, path)
            self._count_values(1, mark)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _count_values(self, number: int, mark: Mark) -> None:
        """Refuse a text with too many values before they are in memory; those of an alias are counted each time."""
        try:
            self._usage.add("values", number)
        except LimitError as error:
            raise refusal(mark, str(error)) from None

    def _sequence(self, mark: Mark, path: NodePath) -> Node:
        entries: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            entries.append(self._node(event, (*path, len(entries))))
        return sequence(entries, mark)

    def _mapping(self, mark: Mark, path: NodePath) -> Node:
        fields: dict[str, Node] = {}
        keys: dict[str, Mark] = {}
        merges = False
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key, key_mark = self._key(event, path)
            node = self._node(next(self._events), (*path, key))
            if key == "<<":
                merges = True
            elif key in fields:
                message = f"duplicate key, first defined in line {keys[key].line}"
                self._problems.add(key_mark, (*path, key), message)
            else:
                fields[key], keys[key] = node, key_mark
        return Node(UNKNOWN, mark) if merges else mapping(fields, mark, keys)

    def _key(self, event: Any, path: NodePath) -> tuple[str, Mark]:
        mark = _mark(self._file, event.start_mark)
        if not isinstance(event, yaml.AliasEvent):
            self._check_tag(event, mark, (*path, ""))
        if not isinstance(event, yaml.ScalarEvent):
            raise refusal(mark, "expected a scalar key")
        if event.value == "<<":
            message = "merge keys (`<<`) are not part of YAML 1.2: use `vars`, `repeat` or an alias"
            self._problems.add(mark, path, message)
        return event.value, mark

    def _check_tag(self, event: Any, mark: Mark, path: NodePath) -> None:
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self._problems.add(mark, path, f"expected a value without a tag, found `{tag}`")
