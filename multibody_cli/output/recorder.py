"""Recorder of output instants: collects them in a block of samples, and writes full blocks to the sink."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multibody_cli.alarms.record import RunRecord
from multibody_cli.kernel import bound_kernel
from multibody_cli.methods.contract import Method, Report
from multibody_cli.model import Floats, Model, State
from multibody_cli.observation.element_rows import element_rows
from multibody_cli.output.observers import contact_observers, observe, observe_report, observe_states, report_fields
from multibody_cli.output.samples import samples_for
from multibody_cli.output.sink import Sink

if TYPE_CHECKING:
    from multibody_cli.methods.by_acceleration import AccelerationMethod

FLUSH_AFTER = 10.0
"""Seconds after which a partial block is written, to a sink that accepts partial blocks, and a checkpoint is kept."""


class States(NamedTuple):
    """Known states of a run at K instants: time (K,) s, q (K, nq), v (K, nv), energy ledger (K, na) J."""

    time: Floats
    q: Floats
    v: Floats
    ledger: Floats


@dataclass
class Reached:
    """Number of recorded instants, and the time of the last, s."""

    instants: int = 0
    time: float = 0.0


class Recorder:
    """Collects output instants in a block and writes full blocks to the sink."""

    def __init__(self, model: Model, method: Method, rows: int, sink: Sink) -> None:
        self._system = model.system
        self._work, self._contact_work = method.work, method.contact_work
        self._element_rows = element_rows(model)
        self._names = model.names
        self._report_fields = report_fields(model.names)
        self._samples = samples_for(model.names, rows)
        self._rows = rows
        self._filled = 0
        self._sink = sink
        self._flushed = clock.monotonic()
        self.reached = Reached()
        self.record_of_run = RunRecord(model)

    def prepare(self, state: State) -> None:
        """Sample a state without recording it; the run advances this state in place."""
        rows, samples = self._element_rows, self._samples
        self._observers = [observe.on(self._system, state, self._work, rows, samples)]
        self._observers += [
            one.on(self._system, self._contact_work, rows, samples) for one in contact_observers(self._names)
        ]
        self._observe(0)

    def _observe(self, k: int) -> None:
        """Write the output quantities of the state into row k of the samples."""
        for observe_all in self._observers:
            observe_all(k)

    def record(self, state: State, report: Report) -> None:
        """Record the state, that of `prepare`, as the next output instant."""
        self._observe(self._filled)
        observe_report(self._report_fields, report, self._samples, self._filled)
        self.reached.instants += 1
        self.reached.time = float(state.time[0])
        self.record_of_run.add_report(report, self.reached.time)
        self._filled += 1
        late = self._sink.accepts_partial_blocks and clock.monotonic() - self._flushed > FLUSH_AFTER
        if self._filled == self._rows or late:
            self.flush()

    def record_states(self, state: State, method: AccelerationMethod, states: States, report: Report) -> None:
        """Record known states; `state`, that of `prepare`, ends as the last one.

        The method computes accelerations and work arrays.  `report` belongs to each of the states.
        """
        observe_them = bound_kernel(observe_states, complete_state=method.completion, observe_before=observe).on(
            self._system, state, self._work, self._element_rows, self._samples, np.zeros_like(state.ledger), *states
        )
        done, count = 0, len(states.time)
        while done < count:
            first, some = self._filled, min(self._rows - self._filled, count - done)
            observe_them(done, first, some)
            observe_report(self._report_fields, report, self._samples, slice(first, first + some))
            done += some
            self._filled += some
            self.reached.instants += some
            self.reached.time = float(states.time[done - 1])
            self.record_of_run.add_report(report, self.reached.time)
            if self._filled == self._rows:
                self.flush()

    def flush(self) -> None:
        """Write the recorded instants to the sink."""
        if self._filled:
            self.record_of_run.add_samples(self._samples, self._filled)
            self._sink.write(self._samples, self._filled)
        self._filled = 0
        self._flushed = clock.monotonic()

    def flush_if_allowed(self) -> bool:
        """Write the recorded instants, unless the sink requires full blocks; return whether all are written."""
        if self._sink.accepts_partial_blocks:
            self.flush()
        return self._filled == 0
