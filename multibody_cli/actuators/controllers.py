"""Sampled controllers: the values that they change, and the contract of laws outside of the compiled code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats


class ExternalSample(Protocol):
    """An instance of an external law."""

    def __call__(self, before: float | None, time: float, inputs: Floats) -> float:
        """Return the force until the next sample.

        Parameters
        ----------
        before, time
            Times of its last sample, None before the first one, and of the present one, s.
        inputs
            The inputs there.

        Raises
        ------
        RunFailed
            The law has no force, or cannot continue from its last sample.
        """

    def state(self) -> str:
        """Return its state, behind the last sample, as text; empty if it has none that can be kept."""

    def resume(self, time: float, state: str) -> None:
        """Continue from a state behind the sample at a time, s."""


class ExternalLaw(Protocol):
    """A law of control outside of the compiled code."""

    def begin(self, others: Mapping[str, ExternalSample]) -> ExternalSample:
        """Return a new instance; `others` are those of the controllers before this one, by name."""


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
