"""Text of files for terminals, logs and reports, and names as components of the paths of channels."""

from __future__ import annotations

import re

_ASCII = re.compile(r"[ -~\n]*")
_SPECIAL = re.compile(r"[^\w-]")
_ENCODED = re.compile(r"(?:%[0-9A-F]{2})+")


def path_component(name: str) -> str:
    """Return a name as one component of the path of a channel, and of a group of a result file.

    Letters, digits, `_` and `-` stay; the bytes of other characters in UTF-8 are written as `%2E`, as in an URL.
    """
    return _SPECIAL.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name)


def decoded(path: str) -> str:
    """Return a component of a path, or a path for display, with the characters that `path_component` encoded."""
    return _ENCODED.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode(errors="replace"), path)


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
