"""Thinning: of a long run the instants that draw the same picture, read part by part.

Of each of at most `BINS` stretches of time the first, the least, the largest and the last number of a line
are kept, so that no extreme is lost.  Source: Jugel et al., M4: A
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
"""About as many as a picture has columns of dots."""

PART = 2**21
"""How many numbers are read at once, but for a single stretch that is longer."""

LARGEST = 1e100
"""Beyond it, differences and squares of numbers leave the range of numbers when a picture is laid out."""


@dataclass(frozen=True)
class Curve:
    """What is drawn of one number.

    Parameters
    ----------
    scalar
        The number.
    time, values
        (P,) instants that are kept, s, and the number there; NaN where it cannot be drawn.
    gaps
        At how many of all instants it cannot be drawn: not finite, or beyond `LARGEST`.
    """

    scalar: Scalar
    time: Floats
    values: Floats
    gaps: int


def read_curves(trajectory: Trajectory, scalars: Sequence[Scalar]) -> list[Curve]:
    """Read numbers of a run, thinned; in memory are never more than `time` and a part of one channel.

    Parameters
    ----------
    trajectory
        The run.
    scalars
        What to read, of this run.
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
    """Choose the rows of each column that draw it as all rows would.

    Parameters
    ----------
    values
        (K, N) columns of numbers; what is not finite counts neither as least nor as largest.
    stretch
        How many rows to sum up by four; 1 keeps every row.

    Returns
    -------
    (R, N) array
        Row numbers in ascending order, for each column its own; a row may be there more than once.
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
        width *= len(trajectory.bodies)  # it is worked out from arrays of all bodies
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
