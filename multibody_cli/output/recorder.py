"""Recorder of output instants: collects them in a block of samples, and writes full blocks to the sink."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from multibody_cli.alarms.contract import RunSettings
from multibody_cli.alarms.record import RunRecord
from multibody_cli.kernel import bound_kernel
from multibody_cli.methods.completion import place_bodies
from multibody_cli.methods.contract import Method, Recording, Report
from multibody_cli.model import Floats, Model, State
from multibody_cli.observation.element_rows import element_rows
from multibody_cli.output.observers import (
    contact_observers,
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
    from collections.abc import Callable, Sequence

    from multibody_cli.methods.by_acceleration import AccelerationMethod

FLUSH_AFTER = 10.0
"""Seconds after which a partial block is written, to a sink that accepts partial blocks, and a checkpoint is kept."""


class States(NamedTuple):
    """Known states of a run at K instants: time (K,) s, q (K, nq), v (K, nv), energy ledger (K, na) J."""

    time: Floats
    q: Floats
    v: Floats
    ledger: Floats


class Buffer(NamedTuple):
    """Samples of a block, and the functions that fill their rows."""

    samples: Samples
    observers: list[Callable[[int], None]]
    loop: Recording | None


@dataclass
class Reached:
    """Number of recorded instants, and the time of the last, s."""

    instants: int = 0
    time: float = 0.0


class Recorder:
    """Collects output instants in a block and writes full blocks to the sink.

    Two buffers take turns, since a sink may read a block until it receives the next one.

    `at_once` is whether several instants may be passed in one call of compiled code.
    """

    def __init__(
        self, model: Model, method: Method, settings: RunSettings, rows: int, sink: Sink, at_once: bool = False
    ) -> None:
        self._model = model
        self._settings = settings
        self._method = method
        self._element_rows = element_rows(model)
        self._report_fields = report_fields(model.names)
        self._rows = rows
        self._filled = 0
        self._buffers: list[Buffer] = []
        self._turn = 0
        self._sink = sink
        self._at_once = at_once
        self._flushed = clock.monotonic()
        self.reached = Reached()
        self.last = 0.0, np.zeros(model.nv)
        self.record_of_run = RunRecord(model, settings)

    def prepare(self, state: State) -> None:
        """Observe a state without recording it; the run advances this state in place."""
        self._state = state
        self.observe()
        RunRecord(self._model, self._settings).add_samples(self._buffer.samples, 1)
        if self._buffer.loop:
            self._buffer.loop(0, 0, 1)

    @property
    def _buffer(self) -> Buffer:
        """The buffer that is filled; the second one is made after the first block."""
        if self._turn == len(self._buffers):
            self._buffers.append(self._new_buffer())
        return self._buffers[self._turn]

    def _new_buffer(self) -> Buffer:
        system, rows, method, state = self._model.system, self._element_rows, self._method, self._state
        samples = samples_for(self._model.names, self._rows)
        of_contacts = contact_observers(self._model.names)
        observers = [observe.on(system, state, method.work, rows, samples)]
        observers += [one.on(system, method.contact_work, rows, samples) for one in of_contacts]
        loop = method.recording(state, observe, rows, samples) if self._at_once else None
        return Buffer(samples, observers, loop)

    @property
    def most_at_once(self) -> int:
        """Number of output instants that `take` may pass in one call; 0 if Python is needed between them."""
        return self._rows_to_boundary if self._buffer.loop else 0

    @property
    def _rows_to_boundary(self) -> int:
        """Number of output instants up to the end of a block, which is that of a chunk in a result file."""
        return self._rows - self.reached.instants % self._rows

    def take(self, count: int, steps: int) -> tuple[int, Report]:
        """Advance to the next output instants, after `steps` steps each, and observe them; see `methods.contract`."""
        assert self._buffer.loop is not None
        return self._buffer.loop(self._filled, count, steps)

    def observe(self) -> None:
        """Observe the state, that of `prepare`, as the next output instant."""
        for observe_all in self._buffer.observers:
            observe_all(self._filled)

    def add(self, report: Report, count: int = 1) -> None:
        """Record observed instants, up to that of a report; `last` is the time and the velocities (nv,) of the last."""
        last, samples = self._filled + count - 1, self._buffer.samples
        observe_report(self._report_fields, report, samples, slice(self._filled, last + 1))
        self.reached.instants += count
        self.reached.time = float(samples.time[last])
        self.last = self.reached.time, samples.velocity[last].copy()
        self.record_of_run.add_report(report, self.reached.time)
        self._filled += count
        late = self._sink.accepts_partial_blocks and clock.monotonic() - self._flushed > FLUSH_AFTER
        if self.reached.instants % self._rows == 0 or late:
            self.flush()

    def add_states(self, state: State, method: AccelerationMethod, states: States, report: Report) -> None:
        """Record known states; `state`, that of `prepare`, ends as the last one.

        The method computes accelerations and work arrays.  `report` belongs to each of the states.
        """
        kernel = bound_kernel(observe_states, complete_state=method.completion, observe_before=observe)
        leading = self._model.system, state, method.work, self._element_rows
        done, count = 0, len(states.time)
        while done < count:
            observe_them = kernel.on(*leading, self._buffer.samples, np.zeros_like(state.ledger), *states)
            some = min(self._rows_to_boundary, count - done)
            observe_them(done, self._filled, some)
            self.add(report, some)
            done += some

    def flush(self) -> None:
        """Write the recorded instants to the sink."""
        if self._filled:
            self.record_of_run.add_samples(self._buffer.samples, self._filled)
            self._sink.write(self._buffer.samples, self._filled)
            self._turn = 1 - self._turn
        self._filled = 0
        self._flushed = clock.monotonic()

    def flush_if_allowed(self) -> bool:
        """Write the recorded instants, unless the sink requires full blocks; return whether all are written."""
        if self._sink.accepts_partial_blocks:
            self.flush()
        return self._filled == 0


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

    def __init__(
        self, model: Model, method: AccelerationMethod, state: State, rows: int, channels: Sequence[str]
    ) -> None:
        self._samples = samples_for(model.names, rows)
        observe_report(report_fields(model.names), Report(), self._samples, slice(None))
        accounts = len(model.names.accounts)
        self._states = States(*(np.zeros((rows, *shape)) for shape in ((), (model.nq,), (model.nv,), (accounts,))))
        complete, fill = method.completion, observe
        if not model.system.is_constrained and all(
            is_of_motion(one.channel) for one in select_channels(channels, model.names)
        ):
            complete, fill = place_bodies, observe_motion
        self._observe = bound_kernel(observe_states, complete_state=complete, observe_before=fill).on(
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
