"""Controllers whose output is computed outside of the compiled code, at the samples of `methods.sampling`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from multibody_cli.actuators.controllers import Controller, ExternalSample
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
        self.start()

    def __bool__(self) -> bool:
        return bool(self._instances)

    def start(self) -> None:
        """Begin afresh with the next sample."""
        laws: dict[str, ExternalSample] = {}
        for one in self._instances:
            laws[one.name] = one.start(laws)

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

    CARRIED = ("state",)

    def __init__(self, controller: Controller, number: int, first: int) -> None:
        self.number, self.first, self.name = number, first, controller.name
        self._controller = controller
        self._law: ExternalSample
        self.time: float | None = None

    def start(self, others: Mapping[str, ExternalSample]) -> ExternalSample:
        assert self._controller.external is not None
        self._law, self.time = self._controller.external.begin(others), None
        return self._law

    @property
    def state(self) -> str:
        """The state of the law behind the last sample; empty before the first one, or if it cannot be kept."""
        return "" if self.time is None else self._law.state()

    @state.setter
    def state(self, state: str) -> None:
        if state and self.time is not None:
            self._law.resume(self.time, state)

    def sample(self, time: float, values: Floats) -> float:
        before, self.time = self.time, time
        return self._law(before, time, values[self.first + 1 : self.first + len(self._controller.updates)])
