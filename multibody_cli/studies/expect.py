"""Evaluation of `expect:`: each assertion of a scene yields a verdict with the measured value.

To add an assertion, add its check to `CHECKS`, with the keyword of the scene file that identifies it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from multibody_cli.errors import ExpressionError, ResultError
from multibody_cli.expressions import Expression
from multibody_cli.immutable import replace
from multibody_cli.model import Floats, SceneNames
from multibody_cli.output.channel import BOUND, CONTACT, INSTANT, Array
from multibody_cli.output.events import EventTable
from multibody_cli.output.series import select_channels
from multibody_cli.output.trajectory import ChannelRecord, Trajectory, explain_not_per_instant
from multibody_cli.scene.expect import ChannelReference, channels_of
from multibody_cli.studies.verdict import Verdict, as_numbers

Entry = Any  # the entries of `expect:` have no common interface
Check = Callable[[Entry, Trajectory], Verdict]


@np.errstate(over="ignore", invalid="ignore")  # a number that is not finite fails
def evaluate(entries: Sequence[Entry], trajectory: Trajectory) -> list[Verdict]:
    """Evaluate every entry of `expect:`; an entry whose data cannot be read, as after a failed run, fails."""
    verdicts = []
    for entry in entries:
        for word, check in _checks(entry):
            try:
                verdict = check(entry, trajectory)
            except ResultError as error:
                verdict = Verdict(note=str(error))
            verdicts.append(replace(verdict, entry=_title(word, entry)))
    return verdicts


def find_unreadable(
    entries: Sequence[Entry], names: SceneNames, channels: Sequence[str] | None, every: float, duration: float
) -> list[tuple[int, str]]:
    """Return the entries that cannot be evaluated for any run of the scene, before it runs.

    Parameters
    ----------
    entries
        The entries of `expect:`.
    names
        The names of the model.
    channels
        The channels that are recorded, as in `select_channels`.
    every, duration
        Time between output instants and of the run, s.

    Returns
    -------
    list of (int, str)
        Index of the entry and error message: the channel does not exist or is not recorded, the component does not
        exist, or the time is not an output instant.
    """
    if not entries:
        return []
    # the ends, and the output instants next to those of the entries
    intervals = round(duration / every)
    asked = [min(float(entry.at), duration) / every for entry in entries if getattr(entry, "at", "final") != "final"]
    near = {0, intervals, *(round(ratio) + k for ratio in asked for k in (-1, 0, 1))}
    instants = np.array(sorted(k for k in near if 0 <= k <= intervals)) * (duration / intervals)
    read: list[str] = []
    recorded = {series.path for series in select_channels(channels, names)}
    blank = blank_trajectory(names, channels, instants)
    whole = blank_trajectory(names, None, instants, read.append)
    problems = []
    for number, entry in enumerate(entries):
        for _, check in _checks(entry):
            try:
                check(entry, blank)
            except ResultError as error:
                read.clear()
                with suppress(ResultError):
                    check(entry, whole)
                missing = [f"`{path}`" for path in dict.fromkeys(read) if path not in recorded]
                it = "it" if len(missing) == 1 else "them"
                cause = f"reads {', '.join(missing)}, but `output.channels` excludes {it}: add {it} there"
                problems.append((number, cause if missing else str(error)))
    return problems


def channels_read(entries: Sequence[Entry], names: SceneNames, channels: Sequence[str] | None) -> list[str]:
    """Return the recorded channels that are needed to evaluate the entries, other than `time`.

    Parameters
    ----------
    entries
        The entries of `expect:`, which `find_unreadable` accepts.
    names, channels
        As in `find_unreadable`.
    """
    read: list[str] = []
    evaluate(entries, blank_trajectory(names, channels, np.zeros(2), read.append))
    return sorted({*read} - {"time"})


def _check_energy_drift(entry: Entry, trajectory: Trajectory) -> Verdict:
    residual = trajectory.channel("energy/ledger_residual")
    return _at_most(np.abs(residual.values), entry.energy_drift.max, residual.units, trajectory)


def _check_momentum_drift(entry: Entry, trajectory: Trajectory) -> Verdict:
    """Check the change of linear and angular momentum; with an axis, only of angular momentum about it."""
    wanted = entry.momentum_drift
    angular = trajectory.channel("momentum/angular")
    drift = angular.values - angular.values[:1]
    if wanted.axis is not None:
        return _at_most(np.abs(drift[:, "xyz".index(wanted.axis)]), wanted.max, angular.units, trajectory)
    linear = trajectory.channel("momentum/linear")
    both = np.stack([drift, linear.values - linear.values[:1]])
    worst = np.linalg.norm(both, axis=2).max(axis=0)
    return _at_most(worst, wanted.max, f"{linear.units} or {angular.units}", trajectory)


def _check_constraint_error(entry: Entry, trajectory: Trajectory) -> Verdict:
    paths = [path for path in trajectory.paths if fnmatchcase(path, "joints/*/constraint_error")]
    if not paths:
        raise ResultError("no constraint error is recorded: there are no joints, or `output.channels` excludes it")
    errors = [trajectory.channel(path) for path in paths]
    worst = np.max([np.abs(error.values) for error in errors], axis=0)
    return _at_most(worst, entry.constraint_error.max, errors[0].units, trajectory)


def _check_value(entry: Entry, trajectory: Trajectory) -> Verdict:
    record = read_entry(entry, trajectory)
    wanted = np.atleast_1d(np.asarray(entry.value, float))
    width = record.values.shape[1]
    if len(wanted) != width:
        raise ResultError(f"{record.path} has {width} components, not {len(wanted)}: give all, or a `component`")
    if entry.at == "final" and trajectory.attributes.get("status", "complete") not in ("complete", "untrusted"):
        raise ResultError(f"{trajectory.source} ended early, at {trajectory.time[-1]:.6g} s")
    found = record.values[-1 if entry.at == "final" else trajectory.at(entry.at)]
    if record.path.endswith("/quaternion") and width == 4 and found @ wanted < 0.0:
        found = -found  # -q is the same rotation
    tolerance = entry.atol + entry.rtol * float(np.abs(wanted).max())
    return Verdict(
        passed=bool(np.all(np.abs(found - wanted) <= tolerance)),
        found=as_numbers(found),
        relation="equal to",
        wanted=as_numbers(wanted),
        tolerance=tolerance,
        units=record.units,
    )


NO_PERIOD = "fewer than two oscillations, or fewer than 8 output instants: run longer"
"""Why a run has no period."""


def _check_period(entry: Entry, trajectory: Trajectory) -> Verdict:
    found = period_of(trajectory.time, _read_one(entry, trajectory).values)
    if found is None:
        return Verdict(note=NO_PERIOD)
    tolerance = entry.rtol * entry.period
    return Verdict(abs(found - entry.period) <= tolerance, "", found, "equal to", entry.period, tolerance, "s")


def _check_max(entry: Entry, trajectory: Trajectory) -> Verdict:
    record = _read_one(entry, trajectory)
    return _at_most(record.values, entry.max, record.units, trajectory)


def _check_min(entry: Entry, trajectory: Trajectory) -> Verdict:
    record = _read_one(entry, trajectory)
    opposite = _at_most(-record.values, -entry.min, record.units, trajectory)
    return replace(opposite, found=float(record.values.min()), relation="at least", wanted=entry.min)


def _check_certified(entry: Entry, trajectory: Trajectory) -> Verdict:
    """Check the error bars of a channel; without a certificate, they are not evaluated."""
    record = read_entry(entry, trajectory)
    if trajectory.certificate is None:
        return Verdict(True, evaluated=False, note="not evaluated: `mbsim certify` computes error bars")
    bars = trajectory.certificate.bar(entry.channel, trajectory.bodies)
    if bars is None:
        raise ResultError(f"{trajectory.source} has no error bars of {entry.channel}: run `mbsim certify` again")
    reference = ChannelReference(entry.channel, entry.component)
    chosen = _components(reference, replace(record, values=bars.reshape(len(bars), -1)))
    return _at_most(chosen.values.max(axis=1), entry.certified, chosen.units, trajectory)


def _check_event(entry: Entry, trajectory: Trajectory) -> Verdict:
    """Compare all instants of an event."""
    table = trajectory.events
    if table is None:
        raise ResultError(f"{trajectory.source} ended before its events were recorded")
    found, wanted = table.of(entry.event), np.asarray(entry.times, float)
    passed = len(found) == len(wanted) and bool(np.all(np.abs(found - wanted) <= entry.atol))
    return Verdict(passed, "", tuple(found.tolist()), "equal to", tuple(wanted.tolist()), entry.atol, "s")


CHECKS: dict[str, Check] = {
    "energy_drift": _check_energy_drift,
    "momentum_drift": _check_momentum_drift,
    "constraint_error": _check_constraint_error,
    "at": _check_value,
    "period": _check_period,
    "max": _check_max,
    "min": _check_min,
    "certified": _check_certified,
    "event": _check_event,
}
"""Check of an entry, by the keyword that it contains."""


def _checks(entry: Entry) -> Iterator[tuple[str, Check]]:
    return ((word, check) for word, check in CHECKS.items() if getattr(entry, word, None) is not None)


def _at_most(values: Array, bound: float, units: str, trajectory: Trajectory) -> Verdict:
    """Compare the largest of values (T,) with an upper bound; NaN fails."""
    if not len(values):
        raise ResultError(f"{trajectory.source} has no output instants")
    row = int(np.argmax(values))
    found, time = float(values[row]), trajectory.time[row]
    return Verdict(found <= bound, "", found, "at most", bound, None, units, note=f"reached at {time:.6g} s")


def _read_one(entry: Entry, trajectory: Trajectory) -> ChannelRecord:
    """Read the single component that an entry selects, (T,)."""
    record = read_entry(entry, trajectory)
    if record.values.shape[1] != 1:
        raise ResultError(f"{record.path} has {record.values.shape[1]} components: select one with `component`")
    return replace(record, values=record.values[:, 0])


def read_entry(entry: Entry, trajectory: Trajectory) -> ChannelRecord:
    """Read the components that an entry selects, (T, n), or the values of its expression, (T, 1)."""
    if entry.expression is None:
        return read_channels(entry, trajectory)[0]
    return evaluate_expression(entry.expression, trajectory)


def evaluate_expression(expression: Expression, trajectory: Trajectory) -> ChannelRecord:
    """Return the values (T, 1) of an expression of channels; NaN where it has none.

    An expression that is one channel has its units.
    """
    columns = [_read_channel(reference, trajectory) for reference in channels_of(expression)]
    for column in columns:
        if column.values.shape[1] != 1:
            raise ResultError(f"{column.path} has {column.values.shape[1]} components: select one, as in `...[0]`")
    names = ("t", *expression.references)
    rows = np.column_stack([trajectory.time, *(column.values for column in columns)]).tolist()
    values = np.array([[_value_of(expression, dict(zip(names, row, strict=True)))] for row in rows])
    units = columns[0].units if isinstance(expression.body, ast.Name) else ""
    return replace(columns[0], path=expression.text, values=values.reshape(len(rows), 1), units=units, same="")


def read_channels(entry: Entry, trajectory: Trajectory) -> list[ChannelRecord]:
    """Read the channels of an entry, (T, n) each."""
    return [_read_channel(reference, trajectory) for reference in entry.channels]


def _value_of(expression: Expression, values: dict[str, float]) -> float:
    """Evaluate an expression; NaN where it has no value."""
    try:
        return float(expression.evaluate(values))
    except ExpressionError:
        return math.nan


def _read_channel(entry: ChannelReference, trajectory: Trajectory) -> ChannelRecord:
    """Read a channel, or a component of it, (T, n)."""
    record = trajectory.channel(entry.channel)
    if record.per != INSTANT:
        raise ResultError(explain_not_per_instant(record))
    if not len(record.values):
        raise ResultError(f"{trajectory.source} has no output instants")
    if record.values.ndim > 2:
        raise ResultError(f"{record.path} contains all bodies: name one, as in bodies/<name>/position")
    return _components(entry, replace(record, values=record.values.reshape(len(record.values), -1)))


def _components(entry: ChannelReference, record: ChannelRecord) -> ChannelRecord:
    """Select the components of an entry, (T, n), among those of a channel, (T, N)."""
    values = record.values
    if entry.component is None:
        return record
    letters = "wxyz" if record.path.endswith("/quaternion") else "xyz"
    place = letters.find(entry.component) if isinstance(entry.component, str) else entry.component
    if not 0 <= place < values.shape[1]:
        raise ResultError(f"{record.path} has no component {entry.component}: it has {values.shape[1]} components")
    units = record.units.split(", ")
    return replace(record, values=values[:, place : place + 1], units=units[place % len(units)])


def blank_trajectory(
    names: SceneNames, channels: Sequence[str] | None, time: Array, on_read: Callable[[str], None] = lambda _path: None
) -> Trajectory:
    """Create a trajectory with the channels and instants of a future run and NaN values."""
    series = {one.path: one for one in select_channels(channels, names)}

    def load(path: str, rows: slice) -> ChannelRecord:
        on_read(path)
        per = series[path].channel.per
        length = {INSTANT: len(time), BOUND: len(time) + 1, CONTACT: 0}[per]
        blank = np.broadcast_to(np.nan if per == INSTANT else 0, (length, *series[path].shape))  # without contacts
        values = time if path == "time" else blank
        return ChannelRecord(path=path, values=values[rows], labels=series[path].labels, **series[path].attributes())

    no_rows = np.zeros(0, np.int64)
    events = EventTable(names.events, no_rows, np.zeros(0), no_rows)
    com = np.zeros((len(names.bodies), 3))
    return Trajectory("the run", {}, "", names.bodies, com, tuple(series), load, load_events=lambda: events)


def _title(word: str, entry: Entry) -> str:
    """Return the title of an entry, in terms of the scene file."""
    if word == "event":
        return f"event {entry.event}"
    channel = getattr(entry, "source", None)
    if channel is None:
        axis = getattr(getattr(entry, word), "axis", None)
        return f"{word} {axis}" if axis else word
    place = "" if entry.component is None else f"[{entry.component}]"
    instant = f" {entry.at}" + ("" if entry.at == "final" else " s") if word == "at" else ""
    return f"{channel}{place} {word}{instant}"


POINTS = 8
"""Number of samples of the interpolating polynomial at a crossing."""


def period_of(time: Floats, values: Floats) -> float | None:
    """Return the mean time between upward crossings of the level midway between the extremes.

    Each crossing is the root of the polynomial through the 8 nearest samples: with 20 evenly spaced samples per period
    of a sine, the error is below 1e-8 of the period.

    Parameters
    ----------
    time, values
        (T,) instants, s, and the oscillating quantity.

    Returns
    -------
    float or None
        s; None if there are fewer than two crossings or 8 samples.
    """
    if len(values) < POINTS:
        return None
    swing = values - 0.5 * (values.max() + values.min())
    before = np.flatnonzero((swing[:-1] < 0.0) & (swing[1:] >= 0.0))
    if len(before) < 2:
        return None
    first, last = (_crossing(time, swing, row) for row in before[[0, -1]])
    return (last - first) / (len(before) - 1)


def _crossing(time: Floats, values: Floats, row: int) -> float:
    """Return the instant between `row` and the next at which the values pass zero."""
    start = min(max(row + 1 - POINTS // 2, 0), len(values) - POINTS)
    window = slice(start, start + POINTS)
    step = time[row + 1] - time[row]
    coefficients = polynomial.polyfit((time[window] - time[row]) / step, values[window], POINTS - 1)
    low, high = 0.0, 1.0
    while high - low > 1e-13:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if polynomial.polyval(middle, coefficients) >= 0.0 else (middle, high)
    return float(time[row] + step * high)
