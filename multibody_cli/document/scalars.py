"""Plain scalars of YAML 1.2 (core schema): `1e-3` is a number, `no` and `12:30` are strings."""

from __future__ import annotations

import re
from typing import Any

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
