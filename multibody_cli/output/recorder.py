"""Recorder of output instants: collects them in a block of samples, and writes full blocks to the sink."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multibody_cli.alarms.contract import RunSettings
from multibody_cli.alarms.record import RunRecord
from multibody_cli.kernel import bound_kernel
from multibody_cli.methods.contract import Report
from multibody_cli.methods.recording import place_bodies
from multibody_cli.model import Floats, Model, State
from multibody_cli.output.element_rows import element_rows
from multibody_cli.output.observers import (
    is_of_motion,
    observe,
    observe_motion,
    observe_report,
    observe_states,
    report_fields,
)
from multibody_cli.output.samples import Samples, samples_for
from multibody_cli.output.series import select_channels
from multibody_cli.output.sink import Sink

if TYPE_CHECKING:
    from collections.abc import Sequence

    from multibody_cli.methods.method import Method

FLUSH_AFTER = 10.0
"""Seconds after which a partial block is written, to a sink that accepts partial blocks, and a checkpoint is kept."""


class States(NamedTuple):
    """Known states of a run at K instants: time (K,) s, q (K, nq), v (K, nv), energy ledger (K, na) J."""

    time: Floats
    q: Floats
    v: Floats
    ledger: Floats


@dataclass
class RunPosition:
    """Position of a run.

    Number of recorded instants, time of the last, s, and the steps up to it; the last report, how many of the equal
    parts of the next output interval are done, and the steps of earlier scenes.
    """

    instants: int = 0
    time: float = 0.0
    steps: int = 0
    report: Report = field(default_factory=Report)
    done: int = 0
    earlier_steps: int = 0


class Recorder:
    """Collects output instants in a block and writes full blocks to the sink.

    Two blocks take turns, since a sink may read a block until it receives the next one.  `progress` is that of the run,
    `last` the time and the velocities (nv,) of the last instant, and `filled` the number of rows that wait.
    """

    def __init__(self, model: Model, settings: RunSettings, rows: int, sink: Sink) -> None:
        self._names, self._sink, self._rows = model.names, sink, rows
        self._report_fields = report_fields(model.names)
        self._blocks: list[Samples] = []
        self._turn = self.filled = 0
        self._flushed = clock.monotonic()
        self.progress = RunPosition()
        self.last = 0.0, np.zeros(model.nv)
        self.record_of_run = RunRecord(model, settings)

    @property
    def samples(self) -> Samples:
        """The block that is filled; the second one is made after the first is full."""
        if self._turn == len(self._blocks):
            self._blocks.append(samples_for(self._names, self._rows))
        return self._blocks[self._turn]

    @property
    def rows_left(self) -> int:
        """Number of output instants up to the end of a block, which is that of a chunk in a result file."""
        return self._rows - self.progress.instants % self._rows

    def add(self, report: Report, count: int = 1) -> None:
        """Record observed instants, up to that of a report."""
        last, samples, progress = self.filled + count - 1, self.samples, self.progress
        observe_report(self._report_fields, report, samples, slice(self.filled, last + 1))
        progress.instants += count
        progress.time, progress.steps = float(samples.time[last]), report.steps
        self.last = progress.time, samples.velocity[last].copy()
        self.record_of_run.add_report(report, progress.time)
        self.filled += count
        late = self._sink.accepts_partial_blocks and clock.monotonic() - self._flushed > FLUSH_AFTER
        if progress.instants % self._rows == 0 or late:
            self.flush()

    def flush(self) -> None:
        """Write the recorded instants to the sink."""
        if self.filled:
            self.record_of_run.add_samples(self.samples, self.filled)
            self._sink.write(self.samples, self.filled)
            self._turn = 1 - self._turn
        self.filled = 0
        self._flushed = clock.monotonic()

    def flush_if_allowed(self) -> bool:
        """Write the recorded instants, unless the sink requires full blocks; return whether all are written."""
        if self._sink.accepts_partial_blocks:
            self.flush()
        return self.filled == 0


class RunsObserver:
    """Observes complete runs of one model, of which all states are known, in one call of compiled code.

    Parameters
    ----------
    model, method
        The model, and a method that computes accelerations and work arrays of a state.
    state
        That state, which is overwritten.
    rows
        Largest number of states of a call.
    channels
        Channels that are read, as in `select_channels`; alarms of trees read nothing else.
    """

    def __init__(self, model: Model, method: Method, state: State, rows: int, channels: Sequence[str]) -> None:
        self._samples = samples_for(model.names, rows)
        observe_report(report_fields(model.names), Report(), self._samples, slice(None))
        accounts = len(model.names.accounts)
        self._states = States(*(np.zeros((rows, *shape)) for shape in ((), (model.nq,), (model.nv,), (accounts,))))
        complete, fill = method.completion, observe
        if not model.system.is_constrained and all(
            is_of_motion(one.channel) for one in select_channels(channels, model.names)
        ):
            complete, fill = place_bodies, observe_motion
        self._observe = bound_kernel(observe_states, complete_state=complete, fill_row=fill).on(
            model.system, state, method.work, element_rows(model), self._samples, np.zeros(accounts), *self._states
        )

    def observe(self, states: States) -> Samples:
        """Return the samples of states, valid up to the next call.

        No force element warns of them: lanes leave out runs near such a state.
        """
        count = len(states.time)
        for into, values in zip(self._states, states, strict=True):
            into[:count] = values
        self._observe(0, 0, count)
        return self._samples._replace(**{name: field[:count] for name, field in self._samples._asdict().items()})
