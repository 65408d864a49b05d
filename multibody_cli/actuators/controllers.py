"""Sampled controllers: the values that they change, and the contract of laws outside of the compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats

ExternalSample = Callable[[float | None, float, Floats], float]
"""An instance of an external law: from the times of its last sample, None before the first one, and of the present one,
s, and the inputs, to the force until the next sample."""


class ExternalLaw(Protocol):
    """A law of control outside of the compiled code."""

    def begin(self) -> ExternalSample:
        """Return a new instance.

        Raises
        ------
        RunFailed
            By the instance: the law has no force, or cannot continue from its last sample.
        """


class HeldValue(Immutable):
    """A quantity that holds the value of a signal from `delay` s after each sample on, and `initial` before."""

    signal: int
    quantity: int
    delay: float = 0.0
    initial: float = 0.0


class Controller(Immutable):
    """A sampled controller.

    Parameters
    ----------
    name, period
        Its name, and its period, s.
    updates
        The values that it changes at multiples of the period.
    external
        The law that computes the first of these values from the others; None for a signal.
    """

    name: str
    period: float
    updates: tuple[HeldValue, ...]
    external: ExternalLaw | None = None
