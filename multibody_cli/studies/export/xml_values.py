"""Numbers and names in attributes."""

from __future__ import annotations

from collections.abc import Iterable


def row(numbers: Iterable[float]) -> str:
    """Return numbers as the shortest decimal forms that read back to the same bits."""
    return " ".join(repr(float(number)) for number in numbers)


def unused(name: str, used: set[str]) -> str:
    """Return a name with underscores behind it if it is used, and add it."""
    while name in used:
        name += "_"
    used.add(name)
    return name
