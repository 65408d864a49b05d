"""Conditions of events: expressions of channels, evaluated at a state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from multibody_cli.errors import ExpressionError
from multibody_cli.expressions import Expression
from multibody_cli.methods.contract import Report
from multibody_cli.methods.method import Method
from multibody_cli.model import Floats, Model, State
from multibody_cli.output.history import History
from multibody_cli.output.state_observer import Observer
from multibody_cli.scene.events import EventSpec
from multibody_cli.scene.expect import ChannelReference, channels_of


class Conditions:
    """The expressions of the events of a scene, bound to a model and the work arrays of its method.

    Parameters
    ----------
    events
        The events by name.
    model, method
        The compiled scene and its method.
    history
        The data that channels carry from an earlier phase of the run; None at its start.
    """

    def __init__(
        self, events: Mapping[str, EventSpec], model: Model, method: Method, history: History | None = None
    ) -> None:
        self._observer = Observer(model, method)
        self._observer.history = history or self._observer.history
        self._expressions = [event.when for event in events.values()]
        references = (pair for one in self._expressions for pair in zip(one.references, channels_of(one), strict=True))
        self._readers = {text: self._reader(reference) for text, reference in references}

    @property
    def history(self) -> History:
        """The data that channels of a state carry from earlier ones."""
        return self._observer.history

    @property
    def balance(self) -> float:
        """Residual of the energy balance of the last state, J."""
        return float(self._observer.value("energy/ledger_residual"))

    @property
    def pose(self) -> tuple[Floats, Floats]:
        """Positions (B, 3) and orientations (B, 4) of all bodies in the last state."""
        return self._observer.value("bodies/position"), self._observer.value("bodies/quaternion")

    def values(self, state: State, report: Report) -> Floats:
        """Return the values (E,) of all expressions; NaN where one has none.

        Parameters
        ----------
        state
            A state that the method has completed.
        report
            The report of the advance that led to it.
        """
        self._observer.observe(state, report)
        numbers = {text: read() for text, read in self._readers.items()}
        numbers["t"] = float(state.time[0])
        return np.array([_value_of(one, numbers) for one in self._expressions])

    def _reader(self, reference: ChannelReference) -> Callable[[], float]:
        path, component = reference
        letters = "wxyz" if path.endswith("/quaternion") else "xyz"
        place = letters.index(component) if isinstance(component, str) else component or 0
        return lambda: float(self._observer.value(path).flat[place])


def _value_of(expression: Expression, numbers: Mapping[str, float]) -> float:
    try:
        return float(expression.evaluate(numbers))
    except ExpressionError:
        return math.nan
