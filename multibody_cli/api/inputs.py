"""Inputs of a simulation by name: numbers that a program reads and sets between steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from multibody_cli.errors import ArgumentError, UnknownName, nearest
from multibody_cli.model import Floats, Model


class Inputs(Mapping[str, float]):
    """The inputs of a simulation that are numbers.

    Parameters
    ----------
    model
        Returns the present model of the simulation.
    changed
        Called after a value was set.
    """

    def __init__(self, model: Callable[[], Model], changed: Callable[[], None]) -> None:
        self._model, self._changed = model, changed

    def __getitem__(self, name: str) -> float:
        """Return a value, in SI units."""
        return float(self._operands[self._places_of(name)[0]])

    @property
    def _operands(self) -> Floats:
        operands: Floats = self._model().system.forces.signals.operand
        return operands

    def __setitem__(self, name: str, value: float) -> None:
        """Set a value, in SI units, from the next step on.

        Raises
        ------
        ArgumentError
            The value is no finite number, or the input is a function of time in the scene.
        UnknownName
            There is no such input.
        """
        places = self._places_of(name)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ArgumentError(f"expected a finite number for the input `{name}`, found {value!r}")
        self._operands[list(places)] = number
        self._changed()

    def __iter__(self) -> Iterator[str]:
        return iter(self._model().inputs)

    def __len__(self) -> int:
        return len(self._model().inputs)

    def _places_of(self, name: str) -> tuple[int, ...]:
        model = self._model()
        if name in model.inputs:
            return model.inputs[name]
        if name in model.names.inputs:
            raise ArgumentError(f"the input `{name}` is a function of time in the scene: write a number to set it")
        raise UnknownName(f"no input `{name}`: {nearest(str(name), model.names.inputs)}")
