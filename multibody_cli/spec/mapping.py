"""Base class of all mappings of the scene format."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """A mapping of a scene file: immutable, and without unknown keys.

    Attributes
    ----------
    LATER
        Keys of the format that this version does not support; they are rejected by name.
    BEFORE
        Keys that are resolved before the mapping is validated.
    EXAMPLE
        Example of the mapping for error messages.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    UNSUPPORTED: ClassVar[frozenset[str]] = frozenset()
    PREPROCESSED: ClassVar[frozenset[str]] = frozenset()
    EXAMPLE: ClassVar[str] = ""
