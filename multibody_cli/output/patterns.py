"""How a user names several channels at once."""

from __future__ import annotations

from fnmatch import fnmatchcase


def fits(path: str, pattern: str) -> bool:
    """Whether a path is meant: by its name, by a group it lies in, or by a text with `*` for anything."""
    return path == pattern or path.startswith(pattern + "/") or fnmatchcase(path, pattern)
