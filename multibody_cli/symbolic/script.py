"""Programs of formulas: statements in their order, of which only those are written that something comes of.

A formula grows as it is built; a script cuts it into named steps, as a person would who writes it down.  What is known
to be constant gets no name, so that zeros fold on; and what nobody asks for in the end is never written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from multibody_cli.symbolic.program import Writer
from multibody_cli.symbolic.scalar import Scalar, Value, in_order, name

Place = Hashable
"""Where a number lies: text that stands for itself, or a key whose text is known when the script is written."""


class Say(NamedTuple):
    """A comment on what follows."""

    text: str


class Fetch(NamedTuple):
    """A number that is read; `operands` are names in the text of its place."""

    word: Scalar
    place: Place
    operands: tuple[Value, ...] = ()


class Let(NamedTuple):
    """A named value."""

    word: Scalar
    value: Scalar


class Call(NamedTuple):
    """Several named values that a function gives at once."""

    words: tuple[Scalar, ...]
    function: str
    operands: tuple[Value, ...]


class Put(NamedTuple):
    """A value that is written."""

    place: Place
    value: Value


class Lines(NamedTuple):
    """Text as it stands, and the names that it makes."""

    words: tuple[Scalar, ...]
    lines: tuple[str, ...]
    operands: tuple[Value, ...]


Statement = Say | Fetch | Let | Call | Put | Lines


class Script:
    """Statements, as they are said one after the other."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self._stems: Counter[str] = Counter()

    def say(self, text: str) -> None:
        """Comment on what follows."""
        self.statements.append(Say(text))

    def fetch(self, stem: str, place: Place, *operands: Value) -> Scalar:
        """Read a number, from a place whose text has these names in it."""
        word = name(self._numbered(stem))
        self.statements.append(Fetch(word, place, operands))
        return word

    def let(self, stem: str, value: Any) -> Any:
        """Name a value, or every component of a value that is a named tuple; constants and names stay what they are."""
        return self._let(self._numbered(stem), (), value)

    def call(self, stems: Sequence[str], function: str, *operands: Value) -> tuple[Scalar, ...]:
        """Name what a function gives."""
        words = tuple(name(self._numbered(stem)) for stem in stems)
        self.statements.append(Call(words, function, operands))
        return words

    def lines(self, stems: Sequence[str], write: Callable[..., Iterable[str]], *operands: Value) -> tuple[Scalar, ...]:
        """Name what lines of text give, which are written from the names that they are to make."""
        words = tuple(name(self._numbered(stem)) for stem in stems)
        text = tuple(write(*(word.text for word in words)))
        self.statements.append(Lines(words, text, operands))
        return words

    def put(self, place: Place, value: Value) -> None:
        """Write a number."""
        self.statements.append(Put(place, value))

    def _numbered(self, stem: str) -> str:
        self._stems[stem] += 1
        return stem if self._stems[stem] == 1 else f"{stem}{self._stems[stem]}"

    def _let(self, stem: str, path: tuple[str, ...], value: Any) -> Any:
        if isinstance(value, tuple):
            fields: tuple[str, ...] = getattr(value, "_fields", ())
            return type(value)(*(self._let(stem, (*path, f), v) for f, v in zip(fields, value, strict=True)))
        if not isinstance(value, Scalar) or _is_plain(value):
            return value
        word = name(f"{stem}_{''.join(reversed(path))}" if path else stem)  # a matrix is held by its columns
        self.statements.append(Let(word, value))
        return word

    def alive(self, wanted: Callable[[Place], bool]) -> list[Statement]:
        """Give the statements that something comes of, if numbers are wanted at these places."""
        needed: set[Scalar] = set()
        alive: list[Statement] = []
        for statement in reversed(self.statements):
            if isinstance(statement, Say):
                if alive and not isinstance(alive[-1], Say):
                    alive.append(statement)
            elif wanted(statement.place) if isinstance(statement, Put) else needed.intersection(made_by(statement)):
                alive.append(statement)
                needed.update(node for node in in_order(taken_by(statement)) if node.operation == "name")
        return alive[::-1]


def _is_plain(value: Scalar) -> bool:
    bare = value.operands[0] if value.operation == "neg" else value
    return isinstance(bare, Scalar) and bare.operation == "name"


def made_by(statement: Statement) -> tuple[Scalar, ...]:
    """Give the names that a statement makes."""
    if isinstance(statement, Call | Lines):
        return statement.words
    return (statement.word,) if isinstance(statement, Let | Fetch) else ()


def taken_by(statement: Statement) -> tuple[Value, ...]:
    """Give the values that a statement takes."""
    if isinstance(statement, Call | Lines | Fetch):
        return statement.operands
    return (statement.value,) if isinstance(statement, Let | Put) else ()


def names_in(statements: Iterable[Statement]) -> set[Scalar]:
    """Give every name that statements take."""
    values = [value for statement in statements for value in taken_by(statement)]
    return {node for node in in_order(values) if node.operation == "name"}


def write(statements: Sequence[Statement], places: Mapping[Place, str]) -> list[str]:
    """Write statements as lines of a program; `places` are the texts of keys."""
    writer = Writer([value for statement in statements for value in taken_by(statement)], "x")
    lines: list[str] = []
    for statement in statements:
        if isinstance(statement, Let):
            lines += writer.name(statement.word.text, statement.value)
            continue
        for value in taken_by(statement):
            lines += writer.share(value)
        if isinstance(statement, Say):
            lines.append(f"# {statement.text}")
        elif isinstance(statement, Fetch):
            lines.append(f"{statement.word.text} = {places.get(statement.place, statement.place)}")
        elif isinstance(statement, Call):
            made = ", ".join(word.text for word in statement.words)
            lines.append(f"{made} = {statement.function}({', '.join(map(writer.text, statement.operands))})")
        elif isinstance(statement, Lines):
            lines += statement.lines
        else:
            lines.append(f"{places.get(statement.place, statement.place)} = {writer.text(statement.value)}")
    return lines
