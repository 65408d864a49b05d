"""Programs of formulas: ordered statements, of which only live ones are written.

A script divides a large formula into named intermediate values, as in a derivation by hand.  Constants get no name, so
that they continue to fold.  A statement is live if its results are used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from multibody_cli.symbolic.program import Writer
from multibody_cli.symbolic.scalar import Scalar, Value, name, topological_order

Location = Hashable
"""Location of a number: its text, or a key whose text is determined when the script is written."""


class Comment(NamedTuple):
    """A comment on the following statements."""

    text: str


class Load(NamedTuple):
    """A number that is loaded; `operands` are names in the text of its location."""

    word: Scalar
    location: Location
    operands: tuple[Value, ...] = ()


class Let(NamedTuple):
    """A named value."""

    word: Scalar
    value: Scalar


class Call(NamedTuple):
    """Several named values that one function returns."""

    words: tuple[Scalar, ...]
    function: str
    operands: tuple[Value, ...]


class Store(NamedTuple):
    """A value that is stored."""

    location: Location
    value: Value


class Lines(NamedTuple):
    """Lines of text, and the names that they assign."""

    words: tuple[Scalar, ...]
    lines: tuple[str, ...]
    operands: tuple[Value, ...]


Statement = Comment | Load | Let | Call | Store | Lines


class Script:
    """Statements in order of execution."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self._stems: Counter[str] = Counter()

    def comment(self, text: str) -> None:
        """Add a comment on the following statements."""
        self.statements.append(Comment(text))

    def load(self, stem: str, location: Location, *operands: Value) -> Scalar:
        """Load a number from a location whose text contains the names `operands`."""
        word = name(self._numbered(stem))
        self.statements.append(Load(word, location, operands))
        return word

    def let(self, stem: str, value: Any) -> Any:
        """Name a value, or each component of a named tuple; constants and names are returned unchanged."""
        return self._let(self._numbered(stem), (), value)

    def call(self, stems: Sequence[str], function: str, *operands: Value) -> tuple[Scalar, ...]:
        """Name the results of a function."""
        words = tuple(name(self._numbered(stem)) for stem in stems)
        self.statements.append(Call(words, function, operands))
        return words

    def lines(self, stems: Sequence[str], write: Callable[..., Iterable[str]], *operands: Value) -> tuple[Scalar, ...]:
        """Name the results of lines of text, which `write` returns for the names of these results."""
        words = tuple(name(self._numbered(stem)) for stem in stems)
        text = tuple(write(*(word.text for word in words)))
        self.statements.append(Lines(words, text, operands))
        return words

    def store(self, location: Location, value: Value) -> None:
        """Store a number."""
        self.statements.append(Store(location, value))

    def _numbered(self, stem: str) -> str:
        self._stems[stem] += 1
        return stem if self._stems[stem] == 1 else f"{stem}{self._stems[stem]}"

    def _let(self, stem: str, path: tuple[str, ...], value: Any) -> Any:
        if isinstance(value, tuple):
            fields: tuple[str, ...] = getattr(value, "_fields", ())
            return type(value)(*(self._let(stem, (*path, f), v) for f, v in zip(fields, value, strict=True)))
        if not isinstance(value, Scalar) or _is_plain(value):
            return value
        word = name(f"{stem}_{''.join(reversed(path))}" if path else stem)  # a matrix is stored by columns
        self.statements.append(Let(word, value))
        return word

    def live(self, wanted: Callable[[Location], bool]) -> list[Statement]:
        """Return the live statements, if the numbers at `wanted` locations are used."""
        needed: set[Scalar] = set()
        live: list[Statement] = []
        for statement in reversed(self.statements):
            if isinstance(statement, Comment):
                if live and not isinstance(live[-1], Comment):
                    live.append(statement)
                continue
            if isinstance(statement, Store):
                is_live = wanted(statement.location)
            else:
                is_live = not needed.isdisjoint(defined_by(statement))
            if is_live:
                live.append(statement)
                needed.update(node for node in topological_order(used_by(statement)) if node.operation == "name")
        return live[::-1]


def _is_plain(value: Scalar) -> bool:
    bare = value.operands[0] if value.operation == "neg" else value
    return isinstance(bare, Scalar) and bare.operation == "name"


def defined_by(statement: Statement) -> tuple[Scalar, ...]:
    """Return the names that a statement assigns."""
    if isinstance(statement, Call | Lines):
        return statement.words
    return (statement.word,) if isinstance(statement, Let | Load) else ()


def used_by(statement: Statement) -> tuple[Value, ...]:
    """Return the values that a statement uses."""
    if isinstance(statement, Call | Lines | Load):
        return statement.operands
    return (statement.value,) if isinstance(statement, Let | Store) else ()


def names_in(statements: Iterable[Statement]) -> set[Scalar]:
    """Return all names that statements use."""
    values = [value for statement in statements for value in used_by(statement)]
    return {node for node in topological_order(values) if node.operation == "name"}


def write(statements: Sequence[Statement], locations: Mapping[Location, str]) -> list[str]:
    """Write statements as lines of source; `locations` are the texts of keys."""
    writer = Writer([value for statement in statements for value in used_by(statement)], "x")
    lines: list[str] = []
    for statement in statements:
        if isinstance(statement, Let):
            lines += writer.name(statement.word.text, statement.value)
            continue
        for value in used_by(statement):
            lines += writer.share(value)
        if isinstance(statement, Comment):
            lines.append(f"# {statement.text}")
        elif isinstance(statement, Load):
            lines.append(f"{statement.word.text} = {locations.get(statement.location, statement.location)}")
        elif isinstance(statement, Call):
            made = ", ".join(word.text for word in statement.words)
            lines.append(f"{made} = {statement.function}({', '.join(map(writer.text, statement.operands))})")
        elif isinstance(statement, Lines):
            lines += statement.lines
        else:
            lines.append(f"{locations.get(statement.location, statement.location)} = {writer.text(statement.value)}")
    return lines
