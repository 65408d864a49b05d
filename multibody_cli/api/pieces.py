"""Many steps in one call: in pieces, between which Ctrl-C raises KeyboardInterrupt."""

from __future__ import annotations

import math
import time as clock
from operator import index
from typing import Any

from multibody_cli.errors import ArgumentError
from multibody_cli.methods.contract import Report
from multibody_cli.methods.method import Method
from multibody_cli.model import State
from multibody_cli.scene.schema import SceneSpec

SHORT_CALL = 0.02
"""Duration, s, of a call of compiled code below which the next one takes twice as many steps."""


def take_steps(method: Method, state: State, count: int) -> Report | None:
    """Take steps, and return the report of one that failed; the pieces do not affect the results.

    Raises
    ------
    ArgumentError
        The count is negative.
    """
    require_steps(count)
    piece = 1
    while count > 0:
        began, taken = clock.monotonic(), min(piece, count)
        failed = method.step(state, taken)
        if failed is not None:
            return failed
        count -= taken
        piece = 2 * piece if clock.monotonic() - began < SHORT_CALL else max(piece // 2, 1)
    return None


def require_steps(count: int) -> int:
    """Return a number of steps; refuse a negative one."""
    if count < 0:
        raise ArgumentError(f"expected a number of steps of at least 0, found {count}")
    return count


def end_of_activations(scene: SceneSpec) -> float:
    """Return the time, s, up to which the activations of a scene are known: they follow excitations before a run."""
    return scene.simulation.duration * (1.0 + 1e-9) if scene.depends_on_duration else math.inf


def require_activations(end: float, until: float) -> None:
    """Refuse steps past the end of the activations.

    Raises
    ------
    ArgumentError
        The end is earlier than the time after the steps.
    """
    if until > end:
        raise ArgumentError(
            f"cannot step to {until:.9g} s: activations that follow an `excitation` are computed up to "
            f"`simulation.duration`, {end:.6g} s: increase it"
        )


def whole_number(count: Any) -> int:
    """Return a number of steps of an integer type.

    Raises
    ------
    ArgumentError
        It is not a whole number.
    """
    try:
        return index(count)
    except TypeError:
        raise ArgumentError(f"expected a whole number of steps, found {count!r}") from None
