"""Result of a command: exit code, stdout and stderr."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ending:
    code: int
    stdout: str
    stderr: str


Command = Callable[..., Ending]
