"""How far compiling has come, for whoever wants to show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def observed(observer: Callable[[Progress], None]) -> Iterator[None]:
    """Call an observer whenever compiling comes further, inside a `with` statement."""
    observers.append(observer)
    try:
        yield
    finally:
        observers.remove(observer)
