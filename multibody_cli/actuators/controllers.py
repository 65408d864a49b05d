"""Sampled controllers: the values that they change, and the contract of laws outside of the compiled code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from multibody_cli.immutable import Immutable, replace
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
    """A quantity that holds the value of a signal from `delay` s after each sample on, and `initial` before.

    `at_rest` is a signal that has its value at rest; None if the state does not determine it.
    """

    signal: int
    quantity: int
    delay: float = 0.0
    initial: float = 0.0
    at_rest: int | None = None


class Controller(Immutable):
    """A sampled controller.

    Parameters
    ----------
    name, period
        Its name, and its period, s.
    updates
        The values that it changes at multiples of the period.
    at_rest
        The signals at rest of its force and activation, by the signals that they replace.
    external
        The law that computes the first of these values from the others; None for a signal.
    """

    name: str
    period: float
    updates: tuple[HeldValue, ...]
    at_rest: Mapping[int, int]
    external: ExternalLaw | None = None


def initial_values(controllers: Sequence[Controller]) -> list[float]:
    """Return the initial values (n,) of all updates."""
    return [update.initial for one in controllers for update in one.updates]


def with_initial_values(controllers: Sequence[Controller], values: Iterable[float]) -> tuple[Controller, ...]:
    """Return controllers with other initial values (n,) of their updates."""
    given = iter(values)
    return tuple(
        replace(one, updates=tuple(replace(update, initial=next(given)) for update in one.updates))
        for one in controllers
    )
