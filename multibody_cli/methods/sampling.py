"""Sampled controllers: values that change at multiples of a period, and are held in between (zero-order hold).

A run is advanced from sample to sample.  At each instant, all controllers that are due read the state there; then their
states and outputs change, and the integrator starts again with the new values.  An output with a delay changes later,
at its own instant.  The instants are exact, whatever the integrator.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from multibody_cli.forces.elements import evaluate_signals
from multibody_cli.methods.contract import Report, Status
from multibody_cli.model import Model, State
from multibody_cli.tree.workspace import Work

SLACK = 1e-9
"""Distance of two instants that counts as round-off, relative to the shortest period."""

Advance = Callable[[State, float], Report]


class Sampler:
    """Samples the controllers of one model; holds their values, which are part of the state of a run."""

    def __init__(self, model: Model, work: Work) -> None:
        self._controllers, self._forces, self._work = model.controllers, model.system.forces, work
        updates = [update for controller in self._controllers for update in controller.updates]
        self._numbers = np.array([update.signal for update in updates], np.int64)
        self._numbers.flags.writeable = False
        self._values = np.zeros(len(updates))
        self._held = np.zeros(len(self._forces.quantities))
        self._slack = SLACK * min(controller.period for controller in self._controllers)
        self._next: list[int] = []
        self._pending: list[tuple[float, int, float]] = []
        """Delayed outputs: instant, number of the quantity, value."""
        self._sampled_at = -math.inf
        self._held_before = np.zeros_like(self._held)
        self._next_before: list[int] = []
        self._pending_before: list[tuple[float, int, float]] = []
        """The last sample, and all values before it."""
        self._state_has_changed = False

    def start(self, state: State) -> None:
        """Begin at the time of a state, with the initial values."""
        time = float(state.time[0])
        self._next = [math.ceil((time - self._slack) / controller.period) for controller in self._controllers]
        self._pending, self._sampled_at, self._state_has_changed = [], -math.inf, False
        for controller in self._controllers:
            for update in controller.updates:
                self._held[update.quantity] = update.initial
        self._load()

    def read_again(self, time: float) -> None:
        """Sample the present instant again: a program has changed the state there."""
        if abs(time - self._sampled_at) <= self._slack:
            self._held[:] = self._held_before
            self._next, self._pending = list(self._next_before), list(self._pending_before)
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
        for controller in self._controllers:
            for update in controller.updates:
                self._forces.signals.quantities[update.quantity] = self._held[update.quantity]

    def next_instant(self) -> float:
        """Return the instant of the next sample or delayed output, s."""
        samples = (k * controller.period for k, controller in zip(self._next, self._controllers, strict=True))
        return min((*samples, *(instant for instant, _, _ in self._pending)))

    def _sample(self, state: State, time: float) -> None:
        """Change the values of all controllers and delayed outputs that are due at a time."""
        self._sampled_at, self._held_before[:] = time, self._held
        self._next_before, self._pending_before = list(self._next), list(self._pending)
        self._load()
        evaluate_signals(self._forces, self._numbers, time, state.q, state.v, self._work.bodies, self._values)
        later = []
        for instant, quantity, value in self._pending:
            if instant <= time + self._slack:
                self._held[quantity] = value
            else:
                later.append((instant, quantity, value))
        self._pending = later
        first = 0
        for k, controller in enumerate(self._controllers):
            if self._next[k] * controller.period <= time + self._slack:
                for update, value in zip(controller.updates, self._values[first:].tolist(), strict=False):
                    if update.delay > 0.0:
                        self._pending.append((time + update.delay, update.quantity, value))
                    else:
                        self._held[update.quantity] = value
                self._next[k] += 1
            first += len(controller.updates)
