"""Pages of the documentation: fenced blocks, and comparison of shown with actual output."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
_SPEED = re.compile(r"\S+ steps/s")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the name of the file that it is, and its text."""

    language: str
    title: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a `console` block, and the output that the page shows."""

    words: str
    shown: tuple[str, ...]


def blocks_of(page: Path) -> list[Block]:
    """List the fenced blocks of a page."""
    return [Block(*found.groups(default="")) for found in _FENCE.finditer(page.read_text(encoding="utf-8"))]


def commands_of(block: Block) -> Iterator[Command]:
    """List the commands of a `console` block: lines that begin with `$`, each with the output below it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        words, *shown = part.rstrip("\n").split("\n")
        yield Command(words, tuple(shown))


def headings_of(page: Path) -> set[str]:
    """Give the anchors of a page: those of its headings, and those that it sets itself."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    return slugs | set(re.findall(r'<a id="([^"]+)">', text))


def links_of(page: Path) -> list[str]:
    """List where the links of a page lead, but for those that leave the project."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]


def agree(shown: Sequence[str], found: Sequence[str]) -> bool:
    """Whether the output of a program agrees with a page.

    `...` stands for any text, and on a line of its own for any lines; numbers agree to nine digits; how many
    steps a second were taken is not compared.
    """
    if not shown:
        return not found
    if shown[0].strip() == "...":
        return any(agree(shown[1:], found[k:]) for k in range(len(found) + 1))
    return bool(found) and _lines_agree(shown[0], found[0]) and agree(shown[1:], found[1:])


def _lines_agree(shown: str, found: str) -> bool:
    if "..." in shown:
        pattern = ".*".join(re.escape(part) for part in shown.split("..."))
        return re.fullmatch(pattern, found) is not None
    words, others = (_NUMBER.split(_SPEED.sub("steps/s", line)) for line in (shown, found))
    texts_agree = words[::2] == others[::2]
    return texts_agree and all(
        math.isclose(float(a), float(b), rel_tol=1e-9) for a, b in zip(words[1::2], others[1::2], strict=True)
    )
