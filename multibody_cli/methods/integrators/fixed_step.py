"""What integrators of constant step share: counting steps exactly, and stopping at a step that diverges."""

from __future__ import annotations

import numpy as np

from multibody_cli.dynamics.workspace import Work
from multibody_cli.kernel import formula
from multibody_cli.methods.contract import Kernel, Report, Status, StepControl
from multibody_cli.model import Floats, State, System


@formula
def is_finite(v):
    """Whether every number is finite: x * 0 is 0 for those alone."""
    total = 0.0
    for i in range(len(v)):
        total += v[i] * 0.0
    return total == 0.0


class FixedStepper:
    """Runs a kernel `take(system, state, work, scratch, h, first, count)`, which gives the steps that it finished."""

    def __init__(
        self, take: Kernel, system: System, work: Work, scratch: tuple[Floats, ...], control: StepControl
    ) -> None:
        self._take = take
        self._system = system
        self._work = work
        self._scratch = scratch
        self._h = control.step
        self._steps = 0

    def advance(self, state: State, until: float) -> Report:
        """Take the whole number of steps that lead to `until`."""
        count = int(np.rint((until - state.time[0]) / self._h))
        done = self._take(self._system, state, self._work, self._scratch, self._h, self._steps, count)
        self._steps += int(done)
        return Report(steps=self._steps, status=Status.OK if done == count else Status.DIVERGED)
