"""Names of scenes and of their elements."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

NAME = r"^[^\W\d][\w-]*$"
"""Pattern of the names of scenes, which are those of their result files."""

LONGEST = 100
"""Largest number of characters."""

_RESERVED = frozenset('*?[]"=\\')
"""Characters of patterns and of keys on the command line."""

_COORDINATE = re.compile(r".+/\d+", re.DOTALL)


def read_name(name: str) -> str:
    """Read the name of an element, which may have characters such as those of `left.hip` and `model::link 1`."""
    if not name or name != name.strip() or not name.isprintable() or not _RESERVED.isdisjoint(name):
        raise ValueError(
            'expected a name of visible characters other than `*`, `?`, `[`, `]`, `=`, `"` and `\\`, without spaces at '
            "its ends"
        )
    if _COORDINATE.fullmatch(name):
        raise ValueError("expected a name that does not end as that of a coordinate of a joint, such as `wrist/1`")
    return name


def nearest_name(name: str) -> str:
    """Return the name itself if an element can have it, or else one with underscores for forbidden characters."""
    own = name.strip().replace("${", "_{")  # no expression
    whole = "".join("_" if char in _RESERVED or not char.isprintable() else char for char in own)[:LONGEST]
    if _COORDINATE.fullmatch(whole):
        whole = "_".join(whole.rsplit("/", 1))
    return whole or "_"


Name = Annotated[str, StringConstraints(max_length=LONGEST), AfterValidator(read_name)]
