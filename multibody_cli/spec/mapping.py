"""Base class of all mappings of the scene format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """A mapping of a scene file: immutable, and without unknown keys.

    Attributes
    ----------
    UNSUPPORTED
        Keys of the format that this mapping does not support, each with the reason; they are rejected by name.
    PREPROCESSED
        Keys that are resolved before the mapping is validated.
    EXAMPLE
        Example of the mapping for error messages.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    UNSUPPORTED: ClassVar[Mapping[str, str]] = {}
    PREPROCESSED: ClassVar[frozenset[str]] = frozenset()
    EXAMPLE: ClassVar[str] = ""
