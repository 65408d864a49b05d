"""Patterns that select several channels."""

from __future__ import annotations

from fnmatch import fnmatchcase


def matches(path: str, pattern: str) -> bool:
    """Whether a pattern selects a path: the path itself, a group that contains it, or a text with wildcards `*`."""
    return path == pattern or path.startswith(pattern + "/") or fnmatchcase(path, pattern)
