"""Steppers of constant step: exact step counts, and a stop at the first step that diverges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from multibody_cli.methods.contract import Kernel, Report, Status, StepControl
from multibody_cli.model import Floats, State, System
from multibody_cli.tree.workspace import Work


class _Prepared:
    """The kernel with its arguments packed for one state and start; no part of the state of a run."""

    __slots__ = ("start", "state", "take")

    def __init__(self) -> None:
        self.state: State | None = None
        self.start: float | None = None
        self.take: Callable[..., Any] = int


class FixedStepper:
    """Runs a kernel `take(system, state, work, scratch, h, start, first, count, fresh)`.

    The kernel returns how many of `count` steps ended with finite accelerations, and -1 if those at the start were not
    finite; step k ends at start + k h.  If `fresh`, nothing of an earlier step is used but the state.
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
        self._steps = 0
        self._fresh = True
        self._prepared = _Prepared()

    def advance(self, state: State, until: float) -> Report:
        """Advance the state to `until` by a whole number of steps."""
        count = round((until - state.time[0]) / self._h)
        return self.step(state, count) or Report(steps=self._steps)

    def step(self, state: State, count: int) -> Report | None:
        """Take `count` steps; return None, or a report if they failed."""
        prepared = self._prepared
        if prepared.state is not state or prepared.start != self._start:  # a carried state may have another start
            prepared.take = self._prepare(state)
            prepared.state, prepared.start = state, self._start
        done = prepared.take(self._steps, count, self._fresh)
        self._fresh = False
        if done == count:
            self._steps += count
            return None
        self._steps += max(done, 0)
        return self._failure()

    def restart(self) -> None:
        """Begin the next step from the state alone."""
        self._fresh = True

    def _prepare(self, state: State) -> Callable[..., Any]:
        """Return a function of the number of the first step, the count of steps, and whether they start afresh."""
        if self._start is None:
            self._start = float(state.time[0])
        arguments = (self._system, state, self._work, self._scratch, self._h, self._start)
        return self._take.prepared(*arguments, integers=3)  # type: ignore[attr-defined]

    def _failure(self) -> Report:
        """Return the report of steps that failed."""
        return Report(steps=self._steps, status=Status.DIVERGED)
