"""Sources of curves: a run at some of its instants, or the difference of two runs at the instants that they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.comparison.instants import common_rows

if TYPE_CHECKING:
    from multibody_cli.model import Floats, Integers
    from multibody_cli.output.channel import Array
    from multibody_cli.output.trajectory import Trajectory


@dataclass(frozen=True)
class Source:
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
