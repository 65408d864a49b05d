"""Conditions of events: expressions of channels, evaluated at a state."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from types import CodeType

import numpy as np

from multibody_cli.expressions import CONSTANTS, FUNCTIONS
from multibody_cli.methods.contract import Report, Status
from multibody_cli.methods.method import Method
from multibody_cli.model import Floats, Model, State
from multibody_cli.output.history import History
from multibody_cli.output.samples import FIELDS, Samples, bytes_of, samples_for
from multibody_cli.output.state_observer import Observer
from multibody_cli.scene.events import EventSpec
from multibody_cli.scene.expect import ChannelReference, channels_of

MOST_ROWS, ROWS_BYTES = 512, 2**20
"""Most steps between two evaluations in Python, and bytes of their samples."""


class Conditions:
    """The expressions of the events of a scene, bound to a model and the work arrays of its method.

    Parameters
    ----------
    events
        The events by name.
    model, method, state
        The compiled scene, its method and the state that it advances.
    history
        The data that channels carry from an earlier phase of the run; None at its start.
    """

    def __init__(
        self,
        events: Mapping[str, EventSpec],
        model: Model,
        method: Method,
        state: State,
        history: History | None = None,
    ) -> None:
        self.rows = max(1, min(MOST_ROWS, ROWS_BYTES // bytes_of(samples_for(model.names, 1)))) if method.repeats else 1
        self._observer, self._method, self._state = Observer(model, method, self.rows), method, state
        self._observer.history = history or self._observer.history
        self._record = self._observer.recording(method, state)
        expressions = [event.when for event in events.values()]
        self._codes = [compile(ast.Expression(one.body), one.text, "eval") for one in expressions]
        references = (pair for one in expressions for pair in zip(one.references, channels_of(one), strict=True))
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

    @property
    def records(self) -> bool:
        """Whether one call of compiled code takes and observes several steps."""
        return self._record is not None

    def values(self, report: Report) -> Floats:
        """Return the values (E,) of all expressions at the state, which an advance with this report has completed.

        They are NaN where an expression has none.
        """
        self._observer.observe(self._state, report)
        values: Floats = self._evaluated(1)[0]
        return values

    def take(self, count: int, step: float, until: float | None = None) -> tuple[Report, Floats]:
        """Take steps, s; return the report, and the values (n, E) of all expressions at the end of each valid step.

        Parameters
        ----------
        count
            The number of steps, at most `rows`.
        step
            Their length, s.
        until
            The end of the last one, s; None if it is one step behind that of the others.
        """
        observer, report, done = self._observer, Report(), 0
        if self._record is not None:
            done, report = self._record(0, count, 1)
        else:
            for k in range(count):
                end = float(self._state.time[0]) + step if until is None or k < count - 1 else until
                report = self._method.advance(self._state, end).after(report)
                if report.status is not Status.OK:
                    break
                observer.fill(self._state, report, k)
                done += 1
        observer.finish(done)
        return report, self._evaluated(done)

    def copy_rows(self, samples: Samples, k: int, count: int, steps: int) -> None:
        """Copy the last of each `steps` steps to `count` rows of other samples, from row k."""
        for field in FIELDS:
            own = getattr(self._observer.samples, field)
            getattr(samples, field)[k : k + count] = own[steps - 1 : count * steps : steps]

    def _evaluated(self, count: int) -> Floats:
        """Return the values (count, E) of all expressions in the rows that are observed."""
        columns = {text: read().tolist() for text, read in self._readers.items()}
        columns["t"] = self._observer.values("time").tolist()
        names, rows = columns.keys(), zip(*columns.values(), strict=True)
        numbers = (dict(zip(names, row, strict=True)) for row in rows)
        found = [[_value_of(code, values) for code in self._codes] for values in numbers]
        return np.array(found).reshape(count, len(self._codes))

    def _reader(self, reference: ChannelReference) -> Callable[[], Floats]:
        path, component = reference
        letters = "wxyz" if path.endswith("/quaternion") else "xyz"
        place = letters.index(component) if isinstance(component, str) else component or 0

        def read() -> Floats:
            values = self._observer.values(path)
            return values.reshape(len(values), -1)[:, place]

        return read


_NAMES = {"__builtins__": {}, **FUNCTIONS, **CONSTANTS}
"""The functions and constants of expressions, whose syntax trees have been checked when they were read."""


def _value_of(code: CodeType, numbers: dict[str, float]) -> float:
    """Return the value of an expression, or NaN: `Expression.evaluate` takes ten times as long."""
    try:
        value = eval(code, _NAMES, numbers)
    except (ArithmeticError, ValueError):
        return math.nan
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else math.nan
