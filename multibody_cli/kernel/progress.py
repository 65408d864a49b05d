"""Progress of compilation, for observers such as a progress bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class CompilationProgress:
    """Progress of compilation.

    `done` functions of `known` ones are compiled; `most` is an upper bound of their final number.  `title` names the
    last one.
    """

    done: int = 0
    known: int = 0
    most: int = 0
    title: str = ""


observers: list[Callable[[CompilationProgress], None]] = []
"""Functions that are called at each change of progress."""
