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
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    LATER: ClassVar[frozenset[str]] = frozenset()
