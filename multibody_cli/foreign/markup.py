"""Reader of XML: elements with their places in the file, within limits and without other files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from multibody_cli.errors import SceneError, unreadable
from multibody_cli.limits import LimitError, Usage
from multibody_cli.nodes import Mark, refusal

DEEPEST = 200
"""Largest depth of nested elements."""


_OPENING = re.compile(rb"<!--|<!\[CDATA\[")
_DECLARATION = re.compile(rb"\s+<\?xml\s[^>]*\?>")


@dataclass(slots=True, eq=False)
class Element:
    """An element of an XML file.

    Parameters
    ----------
    tag
        Its name.
    attributes
        Texts of its attributes by name, in the order of the file.
    mark
        Position of its start.
    children
        The elements in it, in the order of the file.
    text
        The text directly in it.
    """

    tag: str
    attributes: dict[str, str]
    mark: Mark
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> list[Element]:
        """Return the children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def walk(self) -> Iterator[Element]:
        """Yield the element and all elements in it, in the order of the file."""
        left = [self]
        while left:
            element = left.pop()
            yield element
            left += reversed(element.children)

    def __str__(self) -> str:
        name = self.attributes.get("name")
        return f"<{self.tag}>" if name is None else f'<{self.tag} name="{name}">'


@dataclass
class Document:
    """An XML file: its root element, and remarks on its form."""

    root: Element
    remarks: list[tuple[Mark, str]]


def read_content(path: Path, usage: Usage) -> bytes:
    """Return the content of a file, and count its bytes; a `SceneError` if it cannot be read or is too large."""
    mark = Mark(str(path))
    try:
        with path.open("rb") as file:
            content = file.read(usage.left("bytes") + 1)
        usage.add("bytes", len(content))
    except LimitError as error:
        raise refusal(mark, str(error)) from None
    except (OSError, ValueError) as error:
        raise refusal(mark, unreadable(error)) from None
    return content


def parse(content: bytes, shown: str, usage: Usage) -> Document:
    """Read the content of an XML file.

    Parameters
    ----------
    content
        The bytes; an encoding other than UTF-8 is declared in them.
    shown
        Name of the file in messages and marks.
    usage
        Counts elements and attributes as values.

    Raises
    ------
    SceneError
        The content is not XML, is nested too deeply, has too many elements, or declares entities, whose expansion could
        exceed any memory.
    """
    parser = expat.ParserCreate()
    builder = _Builder(parser, shown, usage)
    try:
        parser.Parse(_lenient(content), True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code) or "invalid"
        raise refusal(Mark(shown, error.lineno, error.offset + 1), f"not XML: {message}") from None
    except (LookupError, ValueError) as error:
        raise refusal(Mark(shown), f"not XML: {error}") from None
    assert builder.root is not None
    return Document(builder.root, builder.remarks)


def _lenient(content: bytes) -> bytes:
    """Return the content with blanks in place of comments, and of a declaration behind blanks.

    Both are no XML where other programs accept them: comments with `--` in them, a declaration after a comment.
    """
    pieces, end = [], 0
    while opening := _OPENING.search(content, end):
        is_comment = opening[0] == b"<!--"
        close = content.find(b"-->" if is_comment else b"]]>", opening.end())
        if close < 0:
            break
        pieces.append(content[end : opening.start()])
        pieces.append((_blank if is_comment else bytes)(content[opening.start() : close + 3]))
        end = close + 3
    found = b"".join([*pieces, content[end:]])
    declaration = _DECLARATION.match(found)
    return found if declaration is None else _blank(declaration[0]) + found[declaration.end() :]


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\n]", b" ", text)


class _Builder:
    """Builds the tree from the events of the parser."""

    def __init__(self, parser: expat.XMLParserType, shown: str, usage: Usage) -> None:
        self._parser, self._shown, self._usage = parser, shown, usage
        self._open: list[Element] = []
        self.root: Element | None = None
        self.remarks: list[tuple[Mark, str]] = []
        parser.buffer_text = True
        parser.XmlDeclHandler = self._declaration
        parser.EntityDeclHandler = self._entity
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text

    @property
    def _mark(self) -> Mark:
        return Mark(self._shown, self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)

    def _declaration(self, version: str, _encoding: str | None, _standalone: int) -> None:
        if version != "1.0":
            self.remarks.append((self._mark, f'`version="{version}"` is not a version of XML; read as 1.0'))

    def _entity(self, *declared: object) -> None:
        raise self._refusal(f"the entity `{declared[0]}` is declared: entities are not read")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        own = {name: value for name, value in attributes.items() if not name.startswith("xmlns")}  # no namespaces
        element = Element(tag, own, self._mark)
        if len(self._open) >= DEEPEST:
            raise self._refusal(f"elements are nested more than {DEEPEST} deep")
        try:
            self._usage.add("values", 1 + len(attributes))
        except LimitError as error:
            raise self._refusal(str(error)) from None
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _tag: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        self._open[-1].text += text

    def _refusal(self, message: str) -> SceneError:
        return refusal(self._mark, message)
