"""Typed values of XML elements; values that are read are claimed as kept in the ledger."""

from __future__ import annotations

import math
import re
from pathlib import Path

from multibody_cli.errors import SceneError
from multibody_cli.foreign.ledger import TEXT, Ledger
from multibody_cli.foreign.markup import Element, parse, read_content
from multibody_cli.foreign.options import Options
from multibody_cli.immutable import Immutable
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)


class Reading(Immutable):
    """The tools of the reader of a format.

    Parameters
    ----------
    path
        The source file.
    options
        Choices of the user.
    problems
        Collects errors, each at the place of its element, so that all are reported together.
    ledger
        Collects the fate of each element and attribute.
    usage
        Counts the bytes of all files, and their values.
    """

    path: Path
    options: Options
    problems: Problems
    ledger: Ledger
    usage: Usage

    def refuse(self, element: Element, message: str) -> None:
        """Report an error of an element."""
        self.problems.add(element.mark, (), f"{element}: {message}")

    def parse(self, path: Path, element: Element) -> Element:
        """Return the root element of another file that an element of the source names."""
        try:
            return parse(read_content(path, self.usage), str(path), self.usage).root
        except SceneError as error:
            self.problems.stop(element.mark, (), str(error))

    def child(self, parent: Element, tag: str) -> Element | None:
        """Return the first child with a tag, and claim it; others with this tag are dropped."""
        first: Element | None = None
        for element in parent.all(tag):
            if first is None:
                first = element
                self.ledger.keep(element)
            else:
                self.ledger.drop(element, f"only the first <{tag}> of {parent} counts")
        return first

    def children(self, parent: Element, tag: str) -> list[Element]:
        """Return the children with a tag, and claim them."""
        found = parent.all(tag)
        for element in found:
            self.ledger.keep(element)
        return found

    def text(self, element: Element, attribute: str, default: str | None = None) -> str:
        """Return an attribute, or the text of the element for `TEXT`.

        Without `default`, a missing one is an error, and the value is empty.
        """
        found = element.text.strip() if attribute == TEXT else element.attributes.get(attribute)
        if found is not None:
            self.ledger.keep(element, attribute)
            return found
        if default is None:
            self.refuse(element, f"expected an attribute `{attribute}`")
        return default or ""

    def numbers(
        self, element: Element, attribute: str, count: int | None, default: tuple[float, ...] | None = None
    ) -> tuple[float, ...]:
        """Return the numbers of an attribute, or of the text, separated by blanks; `count` None accepts any number.

        Blanks at both ends are accepted.  Other values are errors, replaced by `default` or zeros.
        """
        instead = default if default is not None else (0.0,) * (count or 0)
        if default is not None and attribute != TEXT and attribute not in element.attributes:
            return default
        text = self.text(element, attribute)
        if not text and attribute != TEXT and attribute not in element.attributes:
            return instead
        words = text.split()
        if count is not None and len(words) != count:
            expected = "a number" if count == 1 else f"{count} numbers separated by blanks"
            hint = ": write a decimal point" if "," in text else ""
            self._refuse_value(element, attribute, f"expected {expected}, found `{text}`{hint}")
            return instead
        found = tuple([_number(word) for word in words])
        if None in found:
            word = words[found.index(None)]
            self._refuse_value(element, attribute, f"expected a finite number with a decimal point, found `{word}`")
            return instead
        return tuple([value for value in found if value is not None])

    def number(self, element: Element, attribute: str, default: float | None = None) -> float:
        """Return one number; see `numbers`."""
        return self.numbers(element, attribute, 1, None if default is None else (default,))[0]

    def _refuse_value(self, element: Element, attribute: str, message: str) -> None:
        where = "" if attribute == TEXT else f"`{attribute}`: "
        self.refuse(element, where + message)


def _number(word: str) -> float | None:
    value = float(word) if _NUMBER.fullmatch(word) else math.inf
    return value if math.isfinite(value) else None
