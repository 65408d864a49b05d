"""Sampled controllers: values that change at multiples of a period, and are held in between (zero-order hold).

A run is advanced from sample to sample.  At each instant, all controllers that are due read the state there; then their
states and outputs change, and the integrator starts again with the new values.  An output with a delay changes later,
at its own instant.  The instants are exact, whatever the integrator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from multibody_cli.forces.elements import evaluate_signals
from multibody_cli.kernel import kernel
from multibody_cli.methods.contract import Report, Status
from multibody_cli.model import Model, State
from multibody_cli.tree.workspace import Work

SLACK = 1e-9
"""Distance of two instants that counts as round-off, relative to the shortest period."""

Advance = Callable[[State, float], Report]


@kernel
def sample(forces, numbers, state, bodies, values, t):
    """Compute the values (n,) of the signals `numbers` (n,) at a state."""
    evaluate_signals(forces, numbers, t, state.q, state.v, bodies, values)


class _Prepared:
    """The kernel with its arguments packed for one state; no part of the state of a run."""

    __slots__ = ("sample", "state")

    def __init__(self) -> None:
        self.state: State | None = None
        self.sample: Callable[[float], Any]


class Sampler:
    """Samples the controllers of one model; holds their values, which are part of the state of a run."""

    def __init__(self, model: Model, work: Work) -> None:
        self._forces, self._work, self._prepared = model.system.forces, work, _Prepared()
        updates = [update for controller in model.controllers for update in controller.updates]
        self._numbers, self._quantities = (
            np.array([getattr(update, key) for update in updates], np.int64) for key in ("signal", "quantity")
        )
        self._initial, self._delays = (
            np.array([getattr(update, key) for update in updates]) for key in ("initial", "delay")
        )
        self._owner = np.repeat(
            np.arange(len(model.controllers)), [len(controller.updates) for controller in model.controllers]
        )
        self._periods = np.array([controller.period for controller in model.controllers])
        self._is_delayed = self._delays > 0.0
        self._slack = SLACK * float(self._periods.min())
        constants = (self._numbers, self._quantities, self._initial, self._delays, self._is_delayed, self._owner)
        for constant in (*constants, self._periods):
            constant.flags.writeable = False
        self._values, self._held = np.zeros((2, len(updates)))
        self._next = np.zeros(len(self._periods), np.int64)
        self._pending: list[tuple[float, int, float]] = []
        """Delayed outputs: instant, number of the update, value."""
        self._sampled_at = -math.inf
        self._held_before, self._next_before = self._held.copy(), self._next.copy()
        self._pending_before: list[tuple[float, int, float]] = []
        """The last sample, and all values before it."""
        self._state_has_changed = False

    def start(self, state: State) -> None:
        """Begin at the time of a state, with the initial values."""
        time = float(state.time[0])
        self._next[:] = np.ceil((time - self._slack) / self._periods)
        self._pending, self._sampled_at, self._state_has_changed = [], -math.inf, False
        self._held[:] = self._initial
        self._load()

    def read_again(self, time: float) -> None:
        """Sample the present instant again: a program has changed the state there."""
        if abs(time - self._sampled_at) <= self._slack:
            self._held[:], self._next[:] = self._held_before, self._next_before
            self._pending = list(self._pending_before)
            self._state_has_changed = True

    def advance(self, state: State, until: float, advance: Advance, restart: Callable[[float], None]) -> Report:
        """Advance the state to `until` with all samples up to there.

        Parameters
        ----------
        state, until
            As in `methods.contract.Method.advance`.
        advance
            Advances the state with the held values.
        restart
            As in `methods.contract.Stepper.restart`.
        """
        report: Report | None = None

        def go(to: float) -> bool:
            nonlocal report
            self._load()
            after = advance(state, to)
            report = after if report is None else after.after(report)
            return report.status is Status.OK

        event = self.next_instant()
        while event <= until + self._slack:
            if (self._state_has_changed or event > state.time[0] + self._slack) and not go(event):
                break
            state.time[0], self._state_has_changed = event, False
            self._sample(state, event)
            event = self.next_instant()
            restart(event)
            if event > until + self._slack and not go(float(state.time[0])):
                break
        if report is None or (report.status is Status.OK and state.time[0] < until - self._slack):
            go(until)
        assert report is not None
        return report

    def _load(self) -> None:
        self._forces.signals.quantities[self._quantities] = self._held

    def next_instant(self) -> float:
        """Return the instant of the next sample or delayed output, s."""
        sample = float((self._next * self._periods).min())
        return min((sample, *(instant for instant, _, _ in self._pending)))

    def _sample(self, state: State, time: float) -> None:
        """Change the values of all controllers and delayed outputs that are due at a time."""
        self._sampled_at, self._held_before[:], self._next_before[:] = time, self._held, self._next
        self._pending_before = list(self._pending)
        self._load()
        if self._prepared.state is not state:
            leading = (self._forces, self._numbers, state, self._work.bodies, self._values)
            self._prepared.state, self._prepared.sample = state, sample.prepared(leading, (time,))
        self._prepared.sample(time)
        for instant, number, value in self._pending_before:
            if instant <= time + self._slack:
                self._held[number] = value
        self._pending = [output for output in self._pending if output[0] > time + self._slack]
        due = self._next * self._periods <= time + self._slack
        changes = due[self._owner]
        if self._is_delayed.any():
            for number in np.flatnonzero(changes & self._is_delayed).tolist():
                self._pending.append((time + float(self._delays[number]), number, float(self._values[number])))
            changes &= ~self._is_delayed
        self._held[changes] = self._values[changes]
        self._next += due
