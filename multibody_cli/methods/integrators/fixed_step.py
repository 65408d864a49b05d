"""Steppers of constant step: exact step counts, and a stop at the first step that diverges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from multibody_cli.kernel import Kernel, bound_kernel
from multibody_cli.methods.contract import SHORTEST_PART, Recording, Report, Status, StepControl
from multibody_cli.methods.integrators.at_knots import AtKnots, divided_steps
from multibody_cli.methods.recording import record_steps
from multibody_cli.methods.sampling import FRESH, SINCE, START, TAKEN, Prepared, take_sampled_steps
from multibody_cli.model import State, System
from multibody_cli.tree.workspace import Work


class FixedStepper:
    """Runs a kernel `take(system, state, work, scratch, h, start, first, count, fresh)`.

    The kernel returns how many of `count` steps ended with finite accelerations, and -1 if those at the start were not
    finite; step k ends at start + k h.  If `fresh`, nothing of an earlier step is used but the state.
    """

    def __init__(
        self,
        take: Kernel,
        system: System,
        work: Work,
        scratch: tuple[Any, ...],
        control: StepControl,
        at_knots: AtKnots = divided_steps,
        shortest_part: float = SHORTEST_PART,
    ) -> None:
        self.shortest_part = shortest_part
        self._kernel = take
        self._at_knots = at_knots(system, control.step, control.end)
        self._system = self._at_knots.system if self._at_knots else system
        self._work = work
        self._scratch = scratch
        self._prepared = Prepared()
        self._h = control.step
        self._start: float | None = None
        self._since_start = 0
        self._steps = 0
        self._fresh = 1

    def advance(self, state: State, until: float) -> Report:
        """Advance the state to `until` by a whole number of steps."""
        count = round((until - state.time[0]) / self._h)
        return self.step(state, count) or Report(steps=self._steps)

    def step(self, state: State, count: int) -> Report | None:
        """Take `count` steps; return None, or a report if they failed."""
        prepared = self._prepared
        if self._start is None:
            self._start = float(state.time[0])
        if prepared.state is not state:
            self._prepare(state)
        if self._at_knots:
            done = self._at_knots.take(prepared.call, state, self._start, self._since_start, count, self._fresh)
        else:
            done = prepared.call(self._h, self._start, self._since_start, count, self._fresh)
        if done != count:
            return self._count(done, count)
        self._fresh = 0
        self._since_start += count
        self._steps += count
        return None

    def take_part(self, state: State, length: float) -> Report:
        """Advance the state by one step of another length, s, at the time of the state; it does not count as a step."""
        if self._prepared.state is not state:
            self._prepare(state)
        take, time = self._prepared.call, float(state.time[0])
        if self._at_knots:
            done = self._at_knots.take_part(take, state, length, self._fresh)
        else:
            done = take(length, time, 0, 1, self._fresh) == 1
        return Report(steps=self._steps) if done else self._failure()

    def finish_step(self, state: State, end: float) -> None:
        """Count the parts of a step, after which the state is at its end, s, as a step."""
        if self._start is None:
            self._start = end - self._h
        self._since_start += 1
        self._steps += 1
        state.time[0] = self._start + self._since_start * self._h

    def follow(self, earlier: FixedStepper) -> None:
        """Count steps from the start of another stepper, which has taken those before."""
        self._start, self._since_start, self._steps = earlier._start, earlier._since_start, earlier._steps

    def _prepare(self, state: State) -> None:
        leading, numbers = (self._system, state, self._work, self._scratch), (self._h, self._start, 0, 0, 0)
        self._prepared.state, self._prepared.call = state, self._kernel.prepared(leading, numbers)

    def _count(self, done: int, count: int) -> Report | None:
        """Count the steps done of `count`; return a report if some failed."""
        self._fresh = 0
        if done > 0:
            self._since_start += done
            self._steps += done
        return None if done == count else self._failure()

    def recording(self, state: State, observe: Kernel, rows: Any, samples: Any) -> Recording | None:
        """Return the compiled loop over output instants of a state; None with knots, which divide its calls."""
        if self._at_knots:
            return None
        loop = bound_kernel(record_steps, take_steps=self._kernel, observe=observe)
        take = loop.on(self._system, state, self._work, self._scratch, rows, samples)

        def record(k: int, count: int, steps: int) -> tuple[int, Report]:
            done = take(self._h, self._start, self._since_start, self._fresh, k, count, steps)
            failed = self._count(done, count * steps)
            return max(done, 0) // steps, failed or Report(steps=self._steps)

        return record

    def sampling(self, state: State, sampling: Any, update_work: Kernel | None) -> Callable[[float], Report] | None:
        """Return the compiled loop over samples of a state; None with knots, which divide its calls."""
        if self._at_knots:
            return None
        loop = bound_kernel(take_sampled_steps, take_steps=self._kernel, update_work=update_work)
        progress = np.zeros(4)
        take = loop.on(self._system, state, self._work, self._scratch, sampling, progress)

        def advance(until: float) -> Report:
            start = math.nan if self._start is None else self._start
            progress[:] = start, self._since_start, self._steps, self._fresh
            valid = take(self._h, until)
            self._start = None if math.isnan(progress[START]) else float(progress[START])
            self._since_start, self._steps, self._fresh = (int(n) for n in progress[[SINCE, TAKEN, FRESH]])
            return Report(steps=self._steps) if valid else self._failure()

        return advance

    def restart(self, barrier: float = math.inf) -> None:
        """Begin the next step from the state alone; with a finite barrier, count steps from the present time."""
        self._fresh = 1
        if barrier < math.inf:
            self._start, self._since_start = None, 0

    def _failure(self) -> Report:
        """Return the report of steps that failed."""
        return Report(steps=self._steps, status=Status.DIVERGED)
