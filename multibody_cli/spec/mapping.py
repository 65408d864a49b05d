"""The base of every mapping of the scene format."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """A mapping of a scene file: frozen, and closed to keys that it does not know.

    Attributes
    ----------
    LATER
        Keys that the format knows and this version does not support; they are refused by name.
    BEFORE
        Keys that may be written and are worked out before the mapping is validated.
    EXAMPLE
        How the mapping may be written, for whoever wrote something else.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    LATER: ClassVar[frozenset[str]] = frozenset()
    BEFORE: ClassVar[frozenset[str]] = frozenset()
    EXAMPLE: ClassVar[str] = ""
