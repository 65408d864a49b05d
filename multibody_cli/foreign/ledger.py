"""The ledger of an import: each element and each attribute of the source, with its fate.

The fate of an item is `kept`, `approximated` with its effect, `dropped` with the reason, or `unknown` if no code
claimed it.  A dropped or unknown element covers all that is in it; each other element and attribute has a fate of its
own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from multibody_cli.errors import listed
from multibody_cli.foreign.markup import Element
from multibody_cli.nodes import Mark

Fate = Literal["kept", "approximated", "dropped", "unknown"]

TEXT = "text()"
"""Name of the text in an element, in place of that of an attribute."""


class LedgerEntry(NamedTuple):
    """An item of the source and its fate.

    Parameters
    ----------
    fate
        The fate.
    element
        The element.
    attribute
        The attribute, `TEXT`, or empty for the element itself.
    reason
        How it is approximated, or why it is dropped.
    effect
        The change that this makes, in numbers where they are known.
    """

    fate: Fate
    element: Element
    attribute: str = ""
    reason: str = ""
    effect: str = ""

    @property
    def item(self) -> str:
        """The item as the file writes it, without values."""
        if self.attribute == TEXT:
            return f"text of <{self.element.tag}>"
        return f"<{self.element.tag} {self.attribute}>" if self.attribute else f"<{self.element.tag}>"

    @property
    def message(self) -> str:
        """Reason and effect."""
        return f"{self.reason}; {self.effect}" if self.effect else self.reason


class Ledger:
    """Collects the fates of the items of a model, whose `source` may include other files.

    A later fate of an item replaces an earlier one, so that each has one.  `missing` has the names of meshes of which
    there is no file.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._fates: dict[tuple[int, str], LedgerEntry] = {}
        self._roots: list[Element] = []
        self.notes: list[tuple[Mark, str]] = []
        self.missing: list[str] = []

    def add_source(self, root: Element) -> None:
        """Add the root of a file whose items the ledger covers; repeated calls add it once."""
        if not any(root is one for one in self._roots):
            self._roots.append(root)

    def replace_source(self, root: Element, expanded: Element) -> None:
        """Cover the items of an expanded file instead of those of a file with macros."""
        self._roots = [expanded if one is root else one for one in self._roots]

    def keep(self, element: Element, *attributes: str) -> None:
        """Claim an element, and attributes of it, as kept."""
        for attribute in ("", *attributes):
            self._fates.setdefault((id(element), attribute), LedgerEntry("kept", element, attribute))

    def approximate(self, element: Element, reason: str, effect: str = "", attribute: str = "") -> None:
        """Claim an element, or an attribute of it, as approximated."""
        self.keep(element)
        self._fates[id(element), attribute] = LedgerEntry("approximated", element, attribute, reason, effect)

    def add_effect(self, element: Element, effect: str) -> None:
        """State the effect of the approximation of an element, which is known later."""
        self._fates[id(element), ""] = self._fates[id(element), ""]._replace(effect=effect)

    def drop(self, element: Element, reason: str, effect: str = "", attribute: str = "") -> None:
        """Claim an element with all that is in it, or an attribute of it, as dropped."""
        if attribute:
            self.keep(element)
        self._fates[id(element), attribute] = LedgerEntry("dropped", element, attribute, reason, effect)

    def note(self, mark: Mark, text: str) -> None:
        """Add a remark on a choice of the importer that is no loss."""
        self.notes.append((mark, text))

    def entries(self) -> Iterator[LedgerEntry]:
        """Yield each item once, in the order of the files."""
        for root in self._roots:
            yield from self._below(root)

    def _below(self, element: Element) -> Iterator[LedgerEntry]:
        own = self._fates.get((id(element), ""), LedgerEntry("unknown", element, "", NOT_KNOWN))
        yield own
        if own.fate in ("dropped", "unknown"):
            return
        items = [*element.attributes, *([TEXT] if element.text.strip() else [])]
        for attribute in items:
            yield self._fates.get((id(element), attribute), LedgerEntry("unknown", element, attribute, NOT_KNOWN))
        for child in element.children:
            yield from self._below(child)


NOT_KNOWN = "not known to the importer"

TITLES: dict[Fate, str] = {
    "approximated": "approximated",
    "dropped": "dropped",
    "unknown": "not known to the importer, and dropped",
}
"""Headings of the report, by fate."""


class ImportReport:
    """The entries of a ledger, counted and formatted."""

    def __init__(self, ledger: Ledger) -> None:
        self.source = ledger.source
        self.entries = list(ledger.entries())
        self.notes = ledger.notes

    def count(self, *fates: Fate) -> int:
        """Return the number of items with these fates."""
        return sum(entry.fate in fates for entry in self.entries)

    @property
    def losses(self) -> list[LedgerEntry]:
        """The items that are not kept."""
        return [entry for entry in self.entries if entry.fate != "kept"]

    @property
    def summary(self) -> str:
        """The number of approximations and drops; empty if there are none."""
        counts = [
            (self.count("approximated"), "approximation"),
            (self.count("dropped", "unknown"), "drop"),
        ]
        return ", ".join(f"{count} {word}{'s' * (count != 1)}" for count, word in counts if count)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report; items with one message are one line with their places."""
        losses = self.summary or "nothing is lost"
        yield f"{self.source}: {self.count('kept')} elements and attributes are kept; {losses}"
        for fate, title in TITLES.items():
            groups = self._grouped([entry for entry in self.entries if entry.fate == fate])
            if groups:
                yield f"{title}:"
            yield from (f"  {line}" for line in groups)
        if self.notes:
            yield "notes:"
            yield from (f"  {self._place(mark)}{text}" for mark, text in self.notes)

    def _place(self, mark: Mark) -> str:
        """Return the start of a line: the place of an item, with its file if that is not the source."""
        if mark.file != self.source:
            return f"{mark}: "
        return f"line {mark.line}: " if mark.line else ""

    def _grouped(self, entries: Sequence[LedgerEntry]) -> list[str]:
        groups: dict[tuple[str, str, str], list[LedgerEntry]] = {}
        for entry in entries:
            groups.setdefault((entry.element.mark.file, entry.item, entry.message), []).append(entry)
        return [self._line(item, message, group) for (_, item, message), group in groups.items()]

    def _line(self, item: str, message: str, group: Sequence[LedgerEntry]) -> str:
        first, *others = group
        place = self._place(first.element.mark)
        if not others:
            name = first.element.attributes.get("name")
            return place + (f"{item} `{name}`: " if name else f"{item}: ") + message
        lines = listed([str(entry.element.mark.line) for entry in others], 5)
        return f"{place}{item}, {len(group)} times: {message} (also in lines {lines})"

    def data(self) -> dict[str, Any]:
        """Return the report as plain data, for JSON."""
        return {
            "kept": self.count("kept"),
            "losses": [
                {
                    "fate": entry.fate,
                    "file": entry.element.mark.file,
                    "line": entry.element.mark.line,
                    "element": str(entry.element),
                    "attribute": entry.attribute,
                    "reason": entry.reason,
                    "effect": entry.effect,
                }
                for entry in self.losses
            ],
            "notes": [{"file": mark.file, "line": mark.line, "text": text} for mark, text in self.notes],
        }
