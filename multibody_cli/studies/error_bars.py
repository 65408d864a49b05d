"""Error bars of a run, from finer runs, from runs of another method, and from a perturbed run.

Three runs of one method differ in their step by factors of two, or in their tolerance by factors of a hundred or ten.
With u_0, u_1, u_2 from coarse to fine and the observed ratio r of the differences |u_0 - u_1| and |u_1 - u_2|,
Richardson's estimate of the error of the finest run is

    e_2 = |u_1 - u_2| / (r - 1).

r is bounded above by that of the order of the integrator, or of order 1 for motion with contacts, dry friction or
impacts. The error bar of the run u is

    SAFETY (|u - u_2| + e_2) + max(0, |u_2 - w_2| - e_w) + round-off,

with w_2 the finest run of another method and e_w its estimate. Round-off is estimated from the growth of a small
perturbation of the initial velocities.

Impacts, and changes between sticking and sliding, happen at some time within a step, so that runs agree by chance where
all of them have an event in the same interval.  The error bar of a continuous channel then has the additional term

    h J    step, and largest change of slope between consecutive output instants so far,

which is the change by an event that shifts by a step.  Other channels jump at an event: their bar is the largest one
within the window in which events shift between the runs, and the largest jump in it.

Source: Roache 1994, Perspective: a method for uniform reporting of grid refinement studies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.ndimage import maximum_filter1d

from multibody_cli.comparison.differences import nearest_equivalent
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Flags as Flags
from multibody_cli.model import Floats
from multibody_cli.output.trajectory import ChannelRecord, Trajectory

SAFETY = 1.5
"""Factor of the differences between the runs of one method."""

LEAST_RATIO = math.sqrt(2.0)
"""Lower bound of the ratio r: that of order 1/2 in the step."""

SHARE = 0.1
"""Least share of the largest earlier difference, because a difference may vanish for an instant by a change of sign."""

SHIFTED = 0.25
"""Least difference between runs at an instant between the same event in both, relative to the largest difference."""

PERTURBATION = 1e-9
"""Perturbation of each initial velocity, relative to its size, or absolute if that is below 1."""

EPSILON = float(np.finfo(float).eps)


class Refinement(Immutable):
    """Relation of the three levels.

    Parameters
    ----------
    factor
        Ratio of the steps, or of the tolerances, of consecutive levels.
    order
        Largest exponent of the step, or of the tolerance, in the error.
    event_time
        Error of the times of impacts, and of changes between sticking and sliding, in the run itself, s; 0 in motion
        without them.
    """

    factor: float
    order: float
    event_time: float = 0.0

    @property
    def largest_ratio(self) -> float:
        """Upper bound of the ratio of the differences."""
        return math.pow(self.factor, self.order)


class RefinedRuns(Immutable):
    """The runs that determine error bars, with equal output instants as far as they go.

    Parameters
    ----------
    own
        The run whose errors are estimated.
    levels
        Three runs of its method, from coarse to fine.
    others
        Three runs of another method, from coarse to fine; empty if no other method supports the scene.
    perturbed
        The finest run with perturbed initial velocities.
    refinement
        Relation of the levels.
    """

    own: Trajectory
    levels: Sequence[Trajectory]
    others: Sequence[Trajectory]
    perturbed: Trajectory
    refinement: Refinement

    @property
    def instants(self) -> int:
        """Number of output instants that all runs have."""
        return min(len(run.time) for run in (self.own, *self.levels, *self.others, self.perturbed))


class ErrorBars(Immutable):
    """Error bars of one channel.

    Parameters
    ----------
    record
        The channel of the run, (T, ...).
    bars
        (T, ...) error bars in the units of the channel, infinite after the instant at which a run ended early.
    order
        Observed exponent of the step, or of the tolerance; NaN if the differences are round-off.
    scale
        Size of the channel: its largest absolute value, and at least atol / rtol.
    converging
        (T,) whether the differences between the levels decrease up to this instant.
    disagreeing
        (T,) whether the two methods differ by more than their own errors and the tolerance of the channel.
    growth
        (T,) largest factor by which the perturbation has grown, relative to the size of the channel.
    """

    record: ChannelRecord
    bars: Floats
    order: float
    scale: float
    converging: Flags
    disagreeing: Flags
    growth: Floats

    @property
    def relative(self) -> Floats:
        """(T,) largest error bar up to each instant, relative to the size of the channel."""
        largest: Floats = np.maximum.accumulate(_flat(self.bars).max(axis=1, initial=0.0)) / self.scale
        return largest


def estimate(path: str, runs: RefinedRuns, continuous: bool = True) -> ErrorBars:
    """Estimate the errors of one channel.

    Parameters
    ----------
    path
        Path of the channel, which has one row for each output instant.
    runs
        The runs.
    continuous
        Whether the channel is continuous at impacts.

    Raises
    ------
    ResultError
        A run did not record the channel.
    """
    record, rows = runs.own.channel(path), slice(runs.instants)
    finest = runs.levels[-1].channel(path, rows).values

    def of(run: Trajectory) -> Floats:
        return _flat(nearest_equivalent(run.channel(path, rows).values, finest, record.same))

    own, reference = of(runs.own), _flat(finest)
    coarse, middle = (of(run) for run in runs.levels[:2])
    finest_error, ratio = _finest_error(coarse, middle, reference, runs.refinement)
    scale = max(float(np.abs(own).max(initial=0.0)), record.atol / record.rtol)
    perturbed = np.maximum.accumulate(np.abs(of(runs.perturbed) - reference), axis=0) / PERTURBATION
    steps = float(runs.levels[-1].attributes["steps"])
    round_off = EPSILON * (math.sqrt(steps) * perturbed + 4.0 * np.abs(own).max(axis=0, initial=0.0))
    spread, other_error = np.zeros_like(reference), np.zeros_like(reference)
    if runs.others:
        others = [of(run) for run in runs.others]
        other_error, _ = _finest_error(others[0], others[1], others[2], runs.refinement)
        spread = np.abs(reference - others[2])
    bars = SAFETY * (np.abs(own - reference) + finest_error)
    shifted = np.zeros_like(bars)
    if runs.refinement.event_time:
        unwound = _flat(_without_turns(runs.own.channel(path, rows).values, record.same))
        if continuous:
            shifted = runs.refinement.event_time * _largest_kinks(unwound, runs.own.time[rows])
            bars += shifted
        else:
            bars = _within_windows(bars, unwound, np.abs(own - reference))
    bars += np.maximum(spread - other_error, 0.0) + round_off
    explained = 2.0 * (SAFETY * (finest_error + other_error) + shifted) + round_off + record.atol + record.rtol * scale
    differences = np.abs(coarse - reference).max(initial=0.0)
    return ErrorBars(
        record,
        _to_the_end(bars, record.values),
        _order(ratio, runs.refinement) if differences > 1e3 * EPSILON * scale else math.nan,
        scale,
        ratio > LEAST_RATIO,
        (spread > explained).any(axis=1),
        perturbed.max(axis=1, initial=0.0) / scale,
    )


def _finest_error(coarse: Floats, middle: Floats, fine: Floats, refinement: Refinement) -> tuple[Floats, Floats]:
    """Return Richardson's estimate of the error of the finest level, (T, n), and the ratio of differences, (T,)."""
    wide, narrow = np.abs(coarse - middle), np.abs(middle - fine)
    sums = [np.sqrt(np.cumsum(np.square(difference).sum(axis=1))) for difference in (wide, narrow)]
    ratio = np.full(len(fine), refinement.largest_ratio)
    np.divide(sums[0], sums[1], out=ratio, where=sums[1] > 0.0)
    ratio = np.clip(ratio, min(LEAST_RATIO, refinement.largest_ratio), refinement.largest_ratio)
    least = SHARE * np.maximum.accumulate(narrow, axis=0)
    return np.maximum(narrow, least) / (ratio[:, None] - 1.0), ratio


def _largest_kinks(values: Floats, time: Floats) -> Floats:
    """Return the largest change of slope between consecutive instants so far, (T, n)."""
    kinks = np.zeros_like(values)
    kinks[1:-1] = np.abs(np.diff(np.diff(values, axis=0) / np.diff(time)[:, None], axis=0))
    kinks[:-1] = np.maximum(kinks[:-1], kinks[1:])  # an event lies before or after the instant of the largest change
    largest: Floats = np.maximum.accumulate(kinks)
    return largest


def _within_windows(bars: Floats, values: Floats, shifts: Floats) -> Floats:
    """Return bars that hold if events shift in time, (T, n), from values and their differences between two runs."""
    jumps = np.abs(np.diff(values, axis=0, prepend=values[:1]))
    widened = np.empty_like(bars)
    for k in range(bars.shape[1]):
        shift = _longest(shifts[:, k] > SHIFTED * shifts[:, k].max(initial=0.0)) + 1
        widened[:, k] = sum(maximum_filter1d(one[:, k], 2 * shift + 1) for one in (bars, jumps))
    return widened


def _without_turns(values: Floats, same: str) -> Floats:
    """Replace each value by the equivalent value nearest to that of the instant before."""
    continued = values.copy()
    for row in range(1, len(values) if same else 0):
        now = slice(row, row + 1)
        continued[now] = nearest_equivalent(values[now], continued[row - 1 : row], same)
    return continued


def _longest(flags: Flags) -> int:
    """Return the largest number of consecutive rows at which a flag is set."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False]))))
    return int(np.max(edges[1::2] - edges[::2], initial=0))


def _order(ratio: Floats, refinement: Refinement) -> float:
    return math.log(float(ratio[-1])) / math.log(refinement.factor) if len(ratio) else math.nan


def _to_the_end(bars: Floats, values: Floats) -> Floats:
    """Append infinite bars where a finer run ended early, and give the bars the shape of the values."""
    complete = np.full((len(values), bars.shape[1]), np.inf)
    complete[: len(bars)] = np.where(np.isfinite(bars), bars, np.inf)
    return complete.reshape(values.shape)


def _flat(values: Floats) -> Floats:
    return values.reshape(len(values), -1)
