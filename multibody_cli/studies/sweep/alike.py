"""Runs of a sweep that differ in the initial coordinates and rates of joints alone, all at once.

Their states are computed in lanes, and a run that surely raises no alarm becomes a row without a recorder of its own:
one call of compiled code observes the states of many runs, and one array holds a channel of all of them.  The rows have
the same bits as those of runs one by one.  The other runs are those whose value, step or alarm needs a closer look;
each run is judged by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from multibody_cli.alarms.quiet_runs import quiet_runs
from multibody_cli.compile import with_start, without_check_of_step
from multibody_cli.initial.stable_step import have_stable_steps
from multibody_cli.methods.by_acceleration import AccelerationMethod
from multibody_cli.model import Floats, Integers
from multibody_cli.output.recorder import RunsObserver, States
from multibody_cli.output.runs_in_memory import RunsInMemory
from multibody_cli.output.sink import Outcome
from multibody_cli.output.sweep_table import Row
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.studies.simulation import Simulation
from multibody_cli.studies.sweep.keeping import Kept, KeptNumber, kept_numbers
from multibody_cli.studies.sweep.lanes import Lanes
from multibody_cli.studies.sweep.reduction import (
    alarms_in_words,
    channels_for,
    kept_of,
    numbers_expected,
    progress_of,
)
from multibody_cli.studies.sweep.starts import Starts

STATES_AT_ONCE = 4096
"""Number of states that are observed by one call, at least those of one run."""


class Made(NamedTuple):
    """Result of runs by their places: the rows of some, and the simulations and states of others."""

    rows: dict[int, Row]
    known: dict[int, tuple[Simulation, States]]


class AlikeRuns:
    """Makes runs with the keys of a reference.

    Parameters
    ----------
    reference, overrides
        The reference, and its own values.
    lanes
        The lanes with its code.
    kept
        What is kept of a run.
    """

    def __init__(self, reference: Simulation, overrides: Sequence[str], lanes: Lanes, kept: tuple[Kept, ...]) -> None:
        compiled = reference.compiled
        self._reference, self._lanes = reference, lanes
        self._starts = Starts(reference, overrides)
        self._kept = kept_of(kept, reference)
        self._channels = channels_for(self._kept, reference)
        self._header = reference.header()
        self._settings = replace(reference.run_settings(), at_start=without_check_of_step(compiled.alarms))
        self._outcome = Outcome("complete", steps=compiled.timing.steps, alarms=self._settings.at_start)
        self._instants = compiled.timing.outputs + 1
        self._at_once = max(1, STATES_AT_ONCE // self._instants)
        state = reference.fresh_state()
        method = reference.method_for(state)
        assert isinstance(method, AccelerationMethod)
        self._observer = RunsObserver(compiled.model, method, state, self._at_once * self._instants)

    def start(self) -> None:
        """Observe and check the start of the reference, so that all kernels are compiled and loaded."""
        reference, (time, q, v, _, ledger) = self._reference, self._reference.fresh_state()
        have_stable_steps(reference.scene.simulation, reference.compiled.model, q[None], v[None])
        samples, _ = self._observer.observe(States(time, q[None], v[None], ledger[None]))
        quiet_runs(reference.compiled.model, samples, 1, self._settings)

    def make(self, runs: Sequence[tuple[int, Sequence[str]]]) -> Made:
        """Make runs, given by their numbers and own values, as far as lanes make them and only their start differs."""
        starts = {place: start for place, (_, own) in enumerate(runs) if (start := self._starts.read(own)) is not None}
        made = Made({}, {})
        if not starts:
            return made
        places = [*starts]
        q, v = (np.array([start[i] for start in starts.values()]) for i in (0, 1))
        states, complete = self._lanes.run(q, v)
        stable = complete.copy()
        settings, model = self._reference.scene.simulation, self._reference.compiled.model
        stable[complete] = have_stable_steps(settings, model, q[complete], v[complete])
        chosen = np.flatnonzero(stable)
        for first in range(0, len(chosen), self._at_once):
            some = chosen[first : first + self._at_once]
            rows = self._rows([runs[places[i]][0] for i in some], q[some], v[some], _some_of(states, some))
            made.rows.update((places[i], row) for i, row in zip(some.tolist(), rows, strict=True) if row is not None)
        for i in np.flatnonzero(complete).tolist():
            if places[i] not in made.rows and (simulation := self._started(q[i], v[i])) is not None:
                made.known[places[i]] = simulation, States(states.time, states.q[i], states.v[i], states.ledger[i])
        return made

    def _started(self, q: Floats, v: Floats) -> Simulation | None:
        """Return the reference with another start, its step checked; None if the check overflows."""
        reference = self._reference
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                compiled = with_start(reference.compiled, reference.scene.simulation, q, v)
        except ArithmeticError:
            return None  # the preparation of the run reports it
        return replace(reference, compiled=compiled)

    @np.errstate(over="ignore", invalid="ignore")
    def _rows(self, numbers: Sequence[int], q: Floats, v: Floats, states: States) -> list[Row | None]:
        """Return the rows of runs from their starts and later states (R, K, ...); None for those that may alarm."""
        runs, model = len(numbers), self._reference.compiled.model
        samples, is_quiet = self._observer.observe(_from_the_start(q, v, states))
        if not is_quiet:
            return [None] * runs
        quiet = quiet_runs(model, samples, runs, self._settings)
        memory = RunsInMemory(self._header, self._outcome, self._channels, samples, runs)
        whole, time = memory.all_runs(), samples.time[: self._instants]
        kept = [*kept_numbers(self._kept, memory.run(0))]
        values = [_component(whole, one, runs) for one in kept]
        progress = progress_of(self._outcome.steps, float(time[-1]))
        first = [value for _, value in progress]
        columns = tuple(column for column, _ in progress)
        later = tuple(one.column for one in kept)
        alarms, expect = alarms_in_words(self._settings.at_start), self._reference.scene.expect
        whole_columns = (*columns, *later)
        rows: list[Row | None] = []
        for r, number in enumerate(numbers):
            if not quiet[r]:
                rows.append(None)
                continue
            own = [one.compute(time, found[r]) for one, found in zip(kept, values, strict=True)]
            if expect:
                expected = numbers_expected(expect, memory.run(r))
                whole_columns = (*columns, *(column for column, _ in expected), *later)
                own = [*(value for _, value in expected), *own]
            rows.append(Row(number, "complete", "", alarms, whole_columns, (*first, *own)))
        return rows


def _component(whole: Trajectory, one: KeptNumber, runs: int) -> Floats:
    """Return the component that a number is made from, (R, K)."""
    values = whole.channel(one.channel).values
    found: Floats = values.reshape(runs, len(values) // runs, -1)[:, :, one.component]
    return found


def _some_of(states: States, some: Integers) -> States:
    """Return the states of some of the runs."""
    return States(states.time, *(values[some] for values in states[1:]))


def _from_the_start(q: Floats, v: Floats, states: States) -> States:
    """Return the states of runs with their starts, one run after the other."""
    starts = q, v, np.zeros((len(q), states.ledger.shape[2]))
    later = (states.q, states.v, states.ledger)
    joined = (np.concatenate((one[:, None], rest), axis=1) for one, rest in zip(starts, later, strict=True))
    time = np.tile(np.append(0.0, states.time), len(q))
    return States(time, *(values.reshape(len(time), values.shape[2]) for values in joined))
