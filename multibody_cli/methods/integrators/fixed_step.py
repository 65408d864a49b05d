"""Steppers of constant step: exact step counts, and a stop at the first step that diverges."""

from __future__ import annotations

import numpy as np

from multibody_cli.methods.contract import Kernel, Report, Status, StepControl
from multibody_cli.model import Floats, State, System
from multibody_cli.tree.workspace import Work


class FixedStepper:
    """Runs a kernel `take(system, state, work, scratch, h, start, first, count)`.

    The kernel returns how many of `count` steps ended with finite accelerations, and -1 if those at the start were not
    finite; step k ends at start + k h.
    """

    def __init__(
        self, take: Kernel, system: System, work: Work, scratch: tuple[Floats, ...], control: StepControl
    ) -> None:
        self._take = take
        self._system = system
        self._work = work
        self._scratch = scratch
        self._h = control.step
        self._start: float | None = None
        self._since_start = 0
        self._steps = 0

    def advance(self, state: State, until: float) -> Report:
        """Advance the state to `until` by a whole number of steps."""
        if self._start is None:
            self._start = float(state.time[0])
        h, first = self._h, self._since_start
        count = int(np.rint((until - state.time[0]) / h))
        done = int(self._take(self._system, state, self._work, self._scratch, h, self._start, first, count))
        self._since_start += max(done, 0)
        self._steps += max(done, 0)
        return Report(steps=self._steps, status=Status.OK if done == count else Status.DIVERGED)

    def restart(self, barrier: float) -> None:
        """Start again from the present state; `barrier` is a whole number of steps away."""
        self._start, self._since_start = None, 0
