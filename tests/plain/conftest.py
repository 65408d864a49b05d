"""Plain tests compile scenes without the stability limit at the start, whose finite differences take seconds each."""

from __future__ import annotations

import math

import pytest

from multibody_cli import compile as scene_compiler
from multibody_cli.initial.stable_step import StepCheck


@pytest.fixture(autouse=True)
def _step_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene_compiler, "check_step", lambda *_: StepCheck(math.inf, ()))
