"""Text of files for terminals, logs and reports."""

from __future__ import annotations

import re

_ASCII = re.compile(r"[ -~\n]*")


def escaped(text: str) -> str:
    r"""Return a text in which characters that a terminal would obey, or not show, are written as `\u001b`.

    These are all characters that `str.isprintable` excludes, except the line feed: control characters, escape
    sequences, marks of the writing direction, invisible characters, and bytes that are not text. Characters beyond
    U+FFFF become two escapes as in JSON, so that JSON stays JSON.
    """
    if _ASCII.fullmatch(text):
        return text
    return "".join(char if char.isprintable() or char == "\n" else _escape(char) for char in text)


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[k : k + 4]}" for k in range(0, len(units), 4))
