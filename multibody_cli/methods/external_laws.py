"""Controllers whose output is computed outside of the compiled code, at the samples of `methods.sampling`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from multibody_cli.actuators.controllers import Controller
from multibody_cli.model import Floats, Model


class ExternalLaws:
    """The controllers of a model with an external law.

    The first update of such a controller is its output; the others are the inputs of the law.
    """

    def __init__(self, model: Model) -> None:
        firsts = np.cumsum([0, *(len(one.updates) for one in model.controllers)]).tolist()
        self._instances = tuple(
            _Instance(one, number, first)
            for number, (one, first) in enumerate(zip(model.controllers, firsts, strict=False))
            if one.external is not None
        )

    def __bool__(self) -> bool:
        return bool(self._instances)

    def start(self) -> None:
        """Begin afresh with the next sample."""
        for one in self._instances:
            one.start()

    def outputs(self, time: float, values: Floats, due: NDArray[np.bool_]) -> Iterator[tuple[int, float]]:
        """Yield the outputs of a sample with the numbers of their updates.

        Parameters
        ----------
        time
            Time of the sample, s.
        values
            (n,) values of all updates there, with the inputs of the laws.
        due
            (c,) which controllers are due.
        """
        for one in self._instances:
            if due[one.number]:
                yield one.first, one.sample(time, values)


class _Instance:
    """An instance of an external law; `time` is that of its last sample, s, and part of the state of a run."""

    def __init__(self, controller: Controller, number: int, first: int) -> None:
        self.number, self.first = number, first
        self._controller = controller
        self.start()

    def start(self) -> None:
        assert self._controller.external is not None
        self._law = self._controller.external.begin()
        self.time: float | None = None

    def sample(self, time: float, values: Floats) -> float:
        before, self.time = self.time, time
        return self._law(before, time, values[self.first + 1 : self.first + len(self._controller.updates)])
