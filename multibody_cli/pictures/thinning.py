"""Thinning of long runs to the instants that determine the picture, read part by part.

For each of at most `BINS` intervals of time the first, smallest, largest and last value of a line are kept, so that no
extremum is lost.  Source: Jugel et al., M4: A
Visualization-Oriented Time Series Data Aggregation, Proceedings of the VLDB Endowment 7 (2014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.comparison.recording import common_rows
from multibody_cli.immutable import Immutable

if TYPE_CHECKING:
    from multibody_cli.model import Floats, Integers
    from multibody_cli.output.channel import Array
    from multibody_cli.output.selection import ScalarChannel
    from multibody_cli.output.trajectory import Trajectory


MOST = 100_000
"""Number of instants of a curve over another scalar than time."""

BINS = 1000
"""Number of intervals, about the width of a picture in pixels."""

PART = 2**21
"""Number of values read at once; at least one interval."""

LARGEST = 1e100
"""Largest magnitude that is drawn; beyond it, the layout of a picture could overflow."""


class PlottedCurve(Immutable):
    """The thinned data of one scalar.

    Parameters
    ----------
    scalar
        The scalar.
    time, values
        (P,) times, s, and values; NaN where the value cannot be drawn.
    x
        (P,) values of the horizontal axis, by default the times.
    gaps
        Number of instants of the run whose value is not finite or exceeds `LARGEST`.
    """

    scalar: ScalarChannel
    time: Floats
    values: Floats
    x: Floats
    gaps: int


def read_curves(source: Source, scalars: Sequence[ScalarChannel], x: ScalarChannel | None = None) -> list[PlottedCurve]:
    """Read thinned scalars of a run; memory is bounded by `time` and a part of one channel.

    Parameters
    ----------
    source
        The run.
    scalars
        Scalars of this run.
    x
        Scalar of the horizontal axis.  A curve over it has all instants, or every n-th if there are more than `MOST`.
    """
    by_channel: dict[str, list[ScalarChannel]] = {}
    for scalar in scalars:
        by_channel.setdefault(scalar.channel, []).append(scalar)
    if x is not None:
        time, (axis,) = _read_every(source, x.channel, [x])
        read = {
            scalar: PlottedCurve(scalar, time, values, axis, int(np.isnan(values).sum()))
            for channel, several in by_channel.items()
            for scalar, values in zip(several, _read_every(source, channel, several)[1], strict=True)
        }
    else:
        read = {
            curve.scalar: curve
            for channel, several in by_channel.items()
            for curve in _read_channel(source, channel, several)
        }
    return [read[scalar] for scalar in scalars]


def instants_per_point(source: Source) -> int:
    """Return n if every n-th instant is drawn in a curve over another scalar than time."""
    return -(-len(source.time) // MOST)


def extremes(values: Array, stretch: int) -> Array:
    """Select the rows of each column that determine its picture.

    Parameters
    ----------
    values
        (K, N) values; non-finite values are ignored as extrema.
    stretch
        Number of rows of an interval, represented by four rows; 1 keeps every row.

    Returns
    -------
    (R, N) array
        Row indices of each column in ascending order, possibly with duplicates.
    """
    count, width = values.shape
    if stretch == 1:
        return np.broadcast_to(np.arange(count)[:, None], values.shape)
    starts = np.arange(0, count, stretch)
    rows = np.minimum(starts[:, None] + np.arange(stretch), count - 1)
    blocks = values[rows]
    finite = np.isfinite(blocks)
    least = np.where(finite, blocks, np.inf).argmin(axis=1)
    largest = np.where(finite, blocks, -np.inf).argmax(axis=1)
    ends = np.zeros_like(least), np.full_like(least, stretch - 1)
    chosen = np.sort(np.stack([least, largest, *ends], axis=1), axis=1) + starts[:, None, None]
    kept: Array = np.minimum(chosen.reshape(-1, width), count - 1)
    return kept


def _read_channel(source: Source, channel: str, scalars: Sequence[ScalarChannel]) -> list[PlottedCurve]:
    stretch = 1 if len(source.time) <= 4 * BINS else -(-len(source.time) // BINS)
    times, values, gaps = [], [], np.zeros(len(scalars), int)
    for rows, found in _parts_of(source, channel, scalars, stretch):
        gaps += np.isnan(found).sum(axis=0)
        kept = extremes(found, stretch)
        times.append(source.time[rows][kept])
        values.append(np.take_along_axis(found, kept, axis=0))
    all_times, all_values = np.concatenate(times), np.concatenate(values)
    return [
        PlottedCurve(scalar, all_times[:, k], all_values[:, k], all_times[:, k], int(gaps[k]))
        for k, scalar in enumerate(scalars)
    ]


def _read_every(source: Source, channel: str, scalars: Sequence[ScalarChannel]) -> tuple[Floats, Floats]:
    """Read every n-th instant; return the times (P,) and the values (N, P)."""
    every = instants_per_point(source)
    found = [values[::every] for _, values in _parts_of(source, channel, scalars, every)]
    return source.time[::every], np.concatenate(found).T


def _parts_of(
    source: Source, channel: str, scalars: Sequence[ScalarChannel], stretch: int
) -> Iterator[tuple[slice, Floats]]:
    """Read values (K, N) in parts of a multiple of `stretch` rows; values that cannot be drawn are NaN."""
    columns = [scalar.column for scalar in scalars]
    part = stretch * max(1, PART // (stretch * source.width(channel)))
    for start in range(0, len(source.time), part):
        rows = slice(start, start + part)
        found = source.read(channel, rows)[:, columns].astype(float)
        with np.errstate(invalid="ignore"):
            found[~(np.abs(found) <= LARGEST)] = np.nan
        yield rows, found


class Source(Immutable):
    """Channels at instants.

    Parameters
    ----------
    time
        (T,) instants, s.
    read
        Returns the values of a channel at a range of the instants, (K, n).
    width
        Number of stored values that are read for one instant of a channel.
    """

    time: Floats
    read: Callable[[str, slice], Array]
    width: Callable[[str], int]


def source_of(trajectory: Trajectory, instants: Integers) -> Source:
    """Return the channels of a run at the given rows, ascending."""

    def read(path: str, rows: slice) -> Array:
        wanted = instants[rows]
        if not len(wanted):
            return _flat(trajectory.channel(path, slice(0, 0)).values)
        start = int(wanted[0])
        return _flat(trajectory.channel(path, slice(start, int(wanted[-1]) + 1)).values)[wanted - start]

    return Source(trajectory.time[instants], read, trajectory.values_per_row)


def difference_of(run: Source, reference: Source) -> Source:
    """Return the channels of a run minus those of a reference, at the instants that both have."""
    mine, other = common_rows(run.time, reference.time)

    def read(path: str, rows: slice) -> Array:
        return _pick(run, path, mine[rows]) - _pick(reference, path, other[rows])

    return Source(run.time[mine], read, lambda path: run.width(path) + reference.width(path))


def at_instants_of(run: Source, reference: Source) -> Source:
    """Return the channels of a run at the instants that a reference also has."""
    mine, _ = common_rows(run.time, reference.time)
    return Source(run.time[mine], lambda path, rows: _pick(run, path, mine[rows]), run.width)


def _pick(source: Source, path: str, rows: Integers) -> Array:
    start, end = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
    return source.read(path, slice(start, end)).astype(float)[rows - start]


def _flat(values: Array) -> Array:
    return values.reshape(len(values), int(np.prod(values.shape[1:])))
