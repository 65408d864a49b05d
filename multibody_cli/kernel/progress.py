"""How far compiling has come, for whoever wants to show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Progress:
    """How far compiling has come.

    `done` functions are compiled of the `known` ones, of which there may be up to `most`; `title` names the last one.
    """

    done: int = 0
    known: int = 0
    most: int = 0
    title: str = ""


observers: list[Callable[[Progress], None]] = []
"""Called whenever compiling comes further."""
