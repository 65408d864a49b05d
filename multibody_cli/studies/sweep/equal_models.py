"""Runs of a sweep that differ in the initial coordinates and rates of joints alone, all at once.

Their states are computed in lanes, one call of compiled code observes the states of many runs, and one array holds a
channel of all of them.  The rows have the same bits as those of runs one by one.  A run whose step or alarms need a
closer look is judged by itself: each run by its own values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from multibody_cli.alarms.contract import RunSettings
from multibody_cli.alarms.monitor import alarms_of, quiet_runs
from multibody_cli.alarms.record import RunRecord
from multibody_cli.compile import with_start, without_check_of_step
from multibody_cli.diagnostics.outcome import with_alarms
from multibody_cli.document.overrides import path_of
from multibody_cli.errors import MbsimError
from multibody_cli.immutable import Immutable, replace
from multibody_cli.initial.stable_step import have_stable_steps
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Part, PartCode, start_of_coordinates
from multibody_cli.joints.coordinate_fields import COORDINATE_KINDS
from multibody_cli.methods.contract import Report
from multibody_cli.model import Floats, Integers, JointEntry
from multibody_cli.nodes import NodePath
from multibody_cli.output.recorder import RunsObserver, States
from multibody_cli.output.rows import Row
from multibody_cli.output.samples import Samples, samples_for
from multibody_cli.output.sink import Outcome, RunsInMemory
from multibody_cli.spec import NamedPoints
from multibody_cli.spec.quantities import read_quantity
from multibody_cli.spec.units import QuantityKind, split_quantity
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.sweep.kept_channels import (
    Kept,
    channels_for,
    kept_numbers,
    kept_of,
    numbers_expected,
    progress_of,
    row_of,
)
from multibody_cli.studies.sweep.lanes import Lanes
from multibody_cli.studies.wrenches import wrench_axes
from multibody_cli.yaml_values import scalar

BYTES_AT_ONCE = 2**24
"""Size of the samples that are observed by one call, at least those of one run."""


class EqualModelRuns:
    """Makes runs with the keys of a reference.

    Parameters
    ----------
    reference, overrides
        The reference, and its own values.
    lanes
        The lanes with its code.
    kept
        The kept numbers of a run.
    frame
        The axes of the wrenches that are kept.
    """

    def __init__(
        self, reference: PreparedSimulation, overrides: Sequence[str], lanes: Lanes, kept: tuple[Kept, ...], frame: str
    ) -> None:
        compiled = reference.compiled
        self._reference, self._lanes = reference, lanes
        self._starts = Starts(reference, overrides)
        self._kept = kept_of(kept, reference)
        self._channels, self._axes = channels_for(self._kept, reference, frame), wrench_axes(reference.scene, frame)
        self._header = reference.header()
        at_start = without_check_of_step(compiled.alarms)
        self._stable = replace(reference.run_settings(), at_start=at_start, stable_step=math.inf)
        self._quiet = with_alarms(Outcome("complete", steps=compiled.timing.steps), at_start)
        self._instants = compiled.timing.outputs + 1
        state_samples: Any = samples_for(compiled.model.names, 1)
        self._at_once = max(1, BYTES_AT_ONCE // (sum(field.nbytes for field in state_samples) * self._instants))
        state = reference.fresh_state()
        method = reference.method_for(state)
        rows = self._at_once * self._instants
        self._observer = RunsObserver(compiled.model, method, state, rows, self._channels)

    def start(self) -> None:
        """Observe and check the start of the reference, so that all kernels are compiled and loaded."""
        reference, (time, q, v, _, ledger, _) = self._reference, self._reference.fresh_state()
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
        whole, time = self._axes.express(memory.all_runs(self._quiet)), samples.time[: self._instants]
        kept = [*kept_numbers(self._kept, self._axes.express(memory.run(0, self._quiet)))]
        values = [one.values(whole).reshape(len(runs), -1) for one in kept]
        progress = progress_of(self._quiet.steps, float(time[-1]))
        first, last = tuple(column for column, _ in progress), tuple(one.column for one in kept)
        columns, steps_and_end = (*first, *last), [value for _, value in progress]
        rows: dict[int, Row] = {}
        for r, ((place, number), own) in enumerate(zip(runs, settings, strict=True)):
            if own is None:
                continue
            outcome = self._quiet if quiet[r] and own is self._stable else self._outcome_of(samples, r, own)
            own_numbers = [one.reduction.compute(time, found[r]) for one, found in zip(kept, values, strict=True)]
            numbers = own_numbers
            if self._reference.scene.expect:
                expected = list(numbers_expected(self._reference.scene.expect, memory.run(r, outcome)))
                columns = (*first, *(column for column, _ in expected), *last)
                numbers = [*(value for _, value in expected), *numbers]
            of_kept = zip(kept, own_numbers, strict=True)
            rows[place] = row_of(number, outcome, columns, (*steps_and_end, *numbers), of_kept)
        return rows

    def _outcome_of(self, samples: Samples, r: int, settings: RunSettings) -> Outcome:
        """Return the outcome of the complete run r of those that the samples hold."""
        rows = slice(r * self._instants, (r + 1) * self._instants)
        own = samples._replace(**{name: field[rows] for name, field in samples._asdict().items()})
        record = RunRecord(self._reference.compiled.model, settings)
        record.add_samples(own, self._instants)
        record.add_report(Report(steps=self._quiet.steps), float(own.time[-1]))
        return with_alarms(self._quiet, alarms_of(settings, record, ()))


def _from_the_start(q: Floats, v: Floats, states: States, some: Integers) -> States:
    """Return the states of some runs from their starts, one run after the other."""
    starts = q, v, np.zeros((len(q), states.ledger.shape[2]))
    later = (states.q[some], states.v[some], states.ledger[some])
    joined = (np.concatenate((one[:, None], rest), axis=1) for one, rest in zip(starts, later, strict=True))
    time = np.tile(np.append(0.0, states.time), len(q))
    return States(time, *(values.reshape(len(time), values.shape[2]) for values in joined))


SECTION, WORDS = "joints", ("q", "v")
"""Section and fields of the values that may differ."""


class _Number(Immutable):
    """A coordinate or a rate that is given directly, as the number of a screw.

    Parameters
    ----------
    word, index
        Field, and place in q or v.
    kind
        Kind of the quantity.
    number
        Number of the value among those of a run.
    """

    word: str
    index: int
    kind: QuantityKind
    number: int

    def write_start(self, values: Sequence[Any], q: Floats, v: Floats) -> bool:
        """Write the value of a run to q or v; it changes nothing else."""
        (q if self.word == "q" else v)[self.index] = read_quantity(values[self.number], self.kind)
        return True


class _Joint(Immutable):
    """A joint whose start follows from its fields by a formula.

    Parameters
    ----------
    entry, spec, parts
        The joint of the reference.
    fields
        Its fields as in the scene.
    places
        NodePath of each value within the fields, and its number among the values of a run.
    points
        The named points of bodies, which the fields may name.
    """

    entry: JointEntry
    spec: Any
    parts: tuple[Part, ...]
    fields: dict[str, Any]
    places: tuple[tuple[NodePath, int], ...]
    points: NamedPoints

    def write_start(self, values: Sequence[Any], q: Floats, v: Floats) -> bool:
        """Write the start with the values of a run to q and v; return whether they change nothing else.

        Raises
        ------
        ValueError
            A value is invalid.
        """
        fields = dict(self.fields)
        for path, number in self.places:
            if len(path) == 1:
                fields[str(path[0])] = values[number]
            else:
                word, index = str(path[0]), int(path[1])
                entries = list(fields[word])
                entries[index] = values[number]
                fields[word] = entries
        kind, joint = JOINTS[self.spec.type], type(self.spec).model_validate(fields, context=self.points)
        start = kind.start(joint)
        q[self.entry.positions], v[self.entry.columns] = start.q, start.v
        return tuple(kind.parts(joint)) == self.parts and start.rest == kind.start(self.spec).rest


_Varied = _Number | _Joint


class Starts:
    """Initial states of runs whose own values are coordinates and rates of joints at the start.

    The scene of such a run is that of the reference but for these numbers.  They are read by the fields of the joint,
    and its function `start` computes the state from them, as for any scene; nothing else of the scene is evaluated
    again.

    Parameters
    ----------
    reference
        A run without motions, loops, and constraints other than limits.
    overrides
        Its own values, each `KEY=VALUE`.
    """

    def __init__(self, reference: PreparedSimulation, overrides: Sequence[str]) -> None:
        self._state = reference.compiled.state
        self._keys = tuple(_key_of(text) for text in overrides)
        self._varied = tuple(_varied(reference, self._keys)) if _starts_as_written(reference) else ()

    def read(self, overrides: Sequence[str]) -> tuple[Floats, Floats] | None:
        """Return the initial q (nq,) and v (nv,) of a run; None if the whole scene must be evaluated."""
        if not self._varied or tuple(map(_key_of, overrides)) != self._keys:
            return None
        texts = [text.partition("=")[2].strip() for text in overrides]
        try:
            if any(split_quantity(text) is None for text in texts):
                return None
            values, q, v = [*map(scalar, texts)], self._state.q.copy(), self._state.v.copy()
            alone = all([one.write_start(values, q, v) for one in self._varied])
        except (ValueError, MbsimError, ArithmeticError, LookupError):
            return None  # the evaluation of the whole scene reports it
        return (q, v) if alone else None


def _key_of(override: str) -> str:
    return override.partition("=")[0]


def _starts_as_written(reference: PreparedSimulation) -> bool:
    """Whether the initial state consists of the starts of the joints alone, and nothing depends on it but motion."""
    scene, compiled = reference.scene, reference.compiled
    in_plane = any(body.kind == "planar" for body in scene.bodies.values())
    written = not scene.strands and scene.simulation.start == "written"
    return written and not in_plane and compiled.n_dofs == compiled.model.nv


def _varied(reference: PreparedSimulation, keys: Sequence[str]) -> Iterator[_Varied]:
    """Yield the starts for values of keys; nothing if a key is no initial coordinate or rate of a joint."""
    entries = {joint.name: joint for joint in reference.compiled.model.names.joints}
    paths = [path_of(key) or () for key in keys]
    if not all(_is_start(path, reference, entries) for path in paths):
        return
    for name in dict.fromkeys(str(path[1]) for path in paths):
        spec, entry = reference.scene.joints[name], entries[name]
        places = [(path[2:], number) for number, path in enumerate(paths) if path[1] == name]
        kind, parts = JOINTS[spec.type], tuple(JOINTS[spec.type].parts(spec))
        alone = all(len(path) == 2 or len(entry.coordinates) == 1 for path, _ in places)
        if alone and kind.start is start_of_coordinates and all(part.code is PartCode.SCREW for part in parts):
            for (word, *index), number in places:
                first = (entry.positions if word == "q" else entry.columns).start
                k = int(index[0]) if index else 0
                yield _Number(str(word), first + k, COORDINATE_KINDS[str(word)][entry.coordinates[k]], number)
        else:
            yield _Joint(
                entry, spec, parts, reference.loaded.data[SECTION][name], tuple(places), reference.scene.named_points
            )


def _is_start(path: NodePath, reference: PreparedSimulation, entries: dict[str, JointEntry]) -> bool:
    """Whether a path is that of an initial coordinate or rate, or of all those of a joint."""
    if len(path) not in (3, 4) or path[0] != SECTION or path[1] not in entries or path[2] not in WORDS:
        return False
    whole = reference.loaded.data[SECTION][path[1]].get(path[2])
    return len(path) == 3 or (isinstance(whole, list) and str(path[3]).isdecimal() and int(path[3]) < len(whole))
