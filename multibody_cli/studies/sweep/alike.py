"""Runs of a sweep that differ in the initial coordinates and rates of joints alone, all at once.

Their states are computed in lanes, one call of compiled code observes the states of many runs, and one array holds a
channel of all of them.  The rows have the same bits as those of runs one by one.  A run whose step or alarms need a
closer look is judged by itself: each run by its own values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from multibody_cli.alarms.contract import RunSettings
from multibody_cli.alarms.monitor import alarms_of
from multibody_cli.alarms.quiet_runs import quiet_runs
from multibody_cli.alarms.record import RunRecord
from multibody_cli.compile import with_start, without_check_of_step
from multibody_cli.initial.stable_step import have_stable_steps
from multibody_cli.methods.by_acceleration import AccelerationMethod
from multibody_cli.methods.contract import Report
from multibody_cli.model import Floats, Integers
from multibody_cli.output.recorder import RunsObserver, States
from multibody_cli.output.rows import Row
from multibody_cli.output.runs_in_memory import RunsInMemory
from multibody_cli.output.samples import Samples, samples_for
from multibody_cli.output.sink import Outcome
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.studies.simulation import Simulation
from multibody_cli.studies.sweep.keeping import Kept, KeptNumber, kept_numbers
from multibody_cli.studies.sweep.lanes import Lanes
from multibody_cli.studies.sweep.reduction import (
    channels_for,
    kept_of,
    numbers_expected,
    progress_of,
    row_of,
)
from multibody_cli.studies.sweep.starts import Starts
from multibody_cli.timeline import with_alarms

BYTES_AT_ONCE = 2**24
"""Size of the samples that are observed by one call, at least those of one run."""


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
        at_start = without_check_of_step(compiled.alarms)
        self._stable = replace(reference.run_settings(), at_start=at_start, stable_step=math.inf)
        self._quiet = with_alarms(Outcome("complete", steps=compiled.timing.steps), at_start)
        self._instants = compiled.timing.outputs + 1
        state_samples: Any = samples_for(compiled.model.names, 1)
        self._at_once = max(1, BYTES_AT_ONCE // (sum(field.nbytes for field in state_samples) * self._instants))
        state = reference.fresh_state()
        method = reference.method_for(state)
        assert isinstance(method, AccelerationMethod)
        rows = self._at_once * self._instants
        self._observer = RunsObserver(compiled.model, method, state, rows, self._channels)

    def start(self) -> None:
        """Observe and check the start of the reference, so that all kernels are compiled and loaded."""
        reference, (time, q, v, _, ledger) = self._reference, self._reference.fresh_state()
        have_stable_steps(reference.scene.simulation, reference.compiled.model, q[None], v[None])
        samples = self._observer.observe(States(time, q[None], v[None], ledger[None]))
        quiet_runs(reference.compiled.model, samples, 1, self._stable)

    def make(self, runs: Sequence[tuple[int, Sequence[str]]]) -> dict[int, Row]:
        """Make runs, given by their numbers and own values, as far as lanes make them and only their start differs.

        Returns
        -------
        dict
            The rows, by the places of the runs.
        """
        starts = {place: start for place, (_, own) in enumerate(runs) if (start := self._starts.read(own)) is not None}
        if not starts:
            return {}
        places = np.array([*starts])
        q, v = (np.array([start[i] for start in starts.values()]) for i in (0, 1))
        states, complete = self._lanes.run(q, v)
        chosen = np.flatnonzero(complete)
        settings = self._settings_of(q[chosen], v[chosen])
        rows: dict[int, Row] = {}
        for first in range(0, len(chosen), self._at_once):
            part = slice(first, first + self._at_once)
            some, own = chosen[part], settings[part]
            samples = self._observer.observe(_from_the_start(q[some], v[some], states, some))
            rows |= self._rows([(int(place), runs[place][0]) for place in places[some]], samples, own)
        return rows

    def _settings_of(self, q: Floats, v: Floats) -> list[RunSettings | None]:
        """Return the settings of runs from their starts, with the check of the step; None if the check overflows."""
        reference = self._reference
        simulation, compiled = reference.scene.simulation, reference.compiled
        settings: list[RunSettings | None] = []
        for r, is_stable in enumerate(have_stable_steps(simulation, compiled.model, q, v).tolist()):
            if is_stable:
                settings.append(self._stable)
                continue
            try:
                with np.errstate(over="raise", divide="raise", invalid="raise"):
                    own = with_start(compiled, simulation, q[r], v[r])
                settings.append(replace(reference, compiled=own).run_settings())
            except ArithmeticError:
                settings.append(None)  # the preparation of the run reports it
        return settings

    @np.errstate(over="ignore", invalid="ignore")  # alarms and expectations report numbers that are not finite
    def _rows(
        self, runs: Sequence[tuple[int, int]], samples: Samples, settings: Sequence[RunSettings | None]
    ) -> dict[int, Row]:
        """Return the rows of runs, given by places and numbers, from their samples and settings."""
        quiet = quiet_runs(self._reference.compiled.model, samples, len(runs), self._stable).tolist()
        memory = RunsInMemory(self._header, self._channels, samples, len(runs))
        whole, time = memory.all_runs(self._quiet), samples.time[: self._instants]
        kept = [*kept_numbers(self._kept, memory.run(0, self._quiet))]
        values = [_component(whole, one, len(runs)) for one in kept]
        progress = progress_of(self._quiet.steps, float(time[-1]))
        first, last = tuple(column for column, _ in progress), tuple(one.column for one in kept)
        columns, steps_and_end = (*first, *last), [value for _, value in progress]
        rows: dict[int, Row] = {}
        for r, ((place, number), own) in enumerate(zip(runs, settings, strict=True)):
            if own is None:
                continue
            outcome = self._quiet if quiet[r] and own is self._stable else self._outcome_of(samples, r, own)
            numbers = [one.compute(time, found[r]) for one, found in zip(kept, values, strict=True)]
            if self._reference.scene.expect:
                expected = numbers_expected(self._reference.scene.expect, memory.run(r, outcome))
                columns = (*first, *(column for column, _ in expected), *last)
                numbers = [*(value for _, value in expected), *numbers]
            rows[place] = row_of(number, outcome, columns, (*steps_and_end, *numbers))
        return rows

    def _outcome_of(self, samples: Samples, r: int, settings: RunSettings) -> Outcome:
        """Return the outcome of the complete run r of those that the samples hold."""
        rows = slice(r * self._instants, (r + 1) * self._instants)
        own = samples._replace(**{name: field[rows] for name, field in samples._asdict().items()})
        record = RunRecord(self._reference.compiled.model, settings)
        record.add_samples(own, self._instants)
        record.add_report(Report(steps=self._quiet.steps), float(own.time[-1]))
        return with_alarms(self._quiet, alarms_of(settings, record, ()))


def _component(whole: Trajectory, one: KeptNumber, runs: int) -> Floats:
    """Return the component that a number is made from, (R, K)."""
    values = whole.channel(one.channel).values
    found: Floats = values.reshape(runs, len(values) // runs, -1)[:, :, one.component]
    return found


def _from_the_start(q: Floats, v: Floats, states: States, some: Integers) -> States:
    """Return the states of some runs from their starts, one run after the other."""
    starts = q, v, np.zeros((len(q), states.ledger.shape[2]))
    later = (states.q[some], states.v[some], states.ledger[some])
    joined = (np.concatenate((one[:, None], rest), axis=1) for one, rest in zip(starts, later, strict=True))
    time = np.tile(np.append(0.0, states.time), len(q))
    return States(time, *(values.reshape(len(time), values.shape[2]) for values in joined))
