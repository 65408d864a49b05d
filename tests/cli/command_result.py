"""Result of a command: exit code, stdout and stderr; and of an optimization."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ending:
    code: int
    stdout: str
    stderr: str


Command = Callable[..., Ending]


def minimized(mbsim: Command, scene: str, *words: str, code: int = 0) -> dict:
    """Optimize a scene; return the result."""
    Path("scene.yaml").write_text(scene)
    ending = mbsim("optimize", "scene.yaml", *words, "--force", "--json", "--jobs", "1")
    assert ending.code == code, ending.stderr
    return json.loads(ending.stdout)
