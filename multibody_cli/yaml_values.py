"""Values of a scene on one line of YAML: plain scalars, and values in flow style."""

from __future__ import annotations

import json
import re
from typing import Any

# --- plain scalars of YAML 1.2 (core schema): `1e-3` is a number, `no` and `12:30` are strings ------------------------
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **{sign + word: float(sign + "inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
}
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")

LARGEST_WHOLE = 2**53


def scalar(text: str) -> Any:
    """Return the value of a plain scalar: a string, a number, a boolean, or None."""
    if text in _WORDS:
        return _WORDS[text]
    if not text.isascii() or (text[0] not in "+-." and not text[0].isdigit()):
        return text
    if _DECIMAL.fullmatch(text) and len(text) <= 18:
        return _whole(int(text))
    if _BASED.fullmatch(text):
        return _whole(int(text, 0))
    return float(text) if _FLOAT.fullmatch(text) else text


def _whole(number: int) -> int | float:
    """Convert integers that a float cannot represent exactly to floats."""
    if abs(number) <= LARGEST_WHOLE:
        return number
    return float(number) if number.bit_length() < 1024 else float("inf")


# --- values in flow style, unique for a value -------------------------------------------------------------------------
_PLAIN = re.compile(r"[A-Za-z_][\w./+*-]*( [\w./+*-]+)*|-?\d+(\.\d+)? [A-Za-z]\w*", re.ASCII)
"""Words, and numbers with a unit: `90 deg`."""

_UNPRINTABLE = "[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
"""Expression of characters that YAML escapes; it takes 3 ms to compile."""


def flow(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{word(key)}: {flow(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return word(value)
    if value is None or isinstance(value, bool):
        return _KEYWORDS[value]
    return repr(value).replace("inf", ".inf").replace("nan", ".nan")


_KEYWORDS = {None: "null", True: "true", False: "false"}


def word(text: str) -> str:
    """Return a string on one line, in quotes where it is no plain scalar."""
    if _PLAIN.fullmatch(text) and isinstance(scalar(text), str):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    if quoted.isascii() and quoted.isprintable():
        return quoted
    return re.sub(_UNPRINTABLE, lambda match: f"\\U{ord(match[0]):08x}", quoted)
