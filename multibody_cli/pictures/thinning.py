"""Thinning of long runs to the instants that determine the picture, read part by part.

For each of at most `BINS` intervals of time the first, smallest, largest and last value of a line are kept, so that no
extremum is lost.  Source: Jugel et al., M4: A
Visualization-Oriented Time Series Data Aggregation, Proceedings of the VLDB Endowment 7 (2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from multibody_cli.model import Floats
    from multibody_cli.output.channel import Array
    from multibody_cli.output.selection import Scalar
    from multibody_cli.output.trajectory import Trajectory

BINS = 1000
"""Number of intervals, about the width of a picture in pixels."""

PART = 2**21
"""Number of values read at once; at least one interval."""

LARGEST = 1e100
"""Largest magnitude that is drawn; beyond it, the layout of a picture could overflow."""


@dataclass(frozen=True)
class Curve:
    """The thinned data of one scalar.

    Parameters
    ----------
    scalar
        The scalar.
    time, values
        (P,) times, s, and values; NaN where the value cannot be drawn.
    gaps
        Number of instants of the run whose value is not finite or exceeds `LARGEST`.
    """

    scalar: Scalar
    time: Floats
    values: Floats
    gaps: int


def read_curves(trajectory: Trajectory, scalars: Sequence[Scalar]) -> list[Curve]:
    """Read thinned scalars of a run; memory is bounded by `time` and a part of one channel.

    Parameters
    ----------
    trajectory
        The run.
    scalars
        Scalars of this run.
    """
    by_channel: dict[str, list[Scalar]] = {}
    for scalar in scalars:
        by_channel.setdefault(scalar.channel, []).append(scalar)
    read = {
        curve.scalar: curve
        for channel, several in by_channel.items()
        for curve in _read_channel(trajectory, channel, several)
    }
    return [read[scalar] for scalar in scalars]


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


def _read_channel(trajectory: Trajectory, channel: str, scalars: Sequence[Scalar]) -> list[Curve]:
    time, columns = trajectory.time, [scalar.column for scalar in scalars]
    stretch = 1 if len(time) <= 4 * BINS else -(-len(time) // BINS)
    width = int(np.prod(trajectory.channel(channel, slice(0, 1)).values.shape))
    if channel not in trajectory.paths:
        width *= len(trajectory.bodies)  # computed from arrays of all bodies
    part = stretch * max(1, PART // (stretch * width))
    times, values, gaps = [], [], np.zeros(len(columns), int)
    for start in range(0, len(time), part):
        rows = slice(start, start + part)
        found = trajectory.channel(channel, rows).values
        found = found.reshape(len(found), -1)[:, columns].astype(float)
        with np.errstate(invalid="ignore"):
            found[~(np.abs(found) <= LARGEST)] = np.nan
        gaps += np.isnan(found).sum(axis=0)
        kept = extremes(found, stretch)
        times.append(time[rows][kept])
        values.append(np.take_along_axis(found, kept, axis=0))
    all_times, all_values = np.concatenate(times), np.concatenate(values)
    return [Curve(scalar, all_times[:, k], all_values[:, k], int(gaps[k])) for k, scalar in enumerate(scalars)]
