"""Selection of output instants by time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.errors import ResultError

if TYPE_CHECKING:
    from multibody_cli.model import Integers
    from multibody_cli.output.trajectory import Trajectory


def select_instants(
    trajectory: Trajectory, start: float | None = None, end: float | None = None, every: float | None = None
) -> Integers:
    """Select output instants of a run.

    Parameters
    ----------
    trajectory
        The run.
    start, end
        First and last time, s; by default those of the run.
    every
        Interval from the first selected instant on, s, a multiple of the output interval; by default all instants are
        selected.

    Returns
    -------
    (N,) array of int
        Rows of the instants, ascending.

    Raises
    ------
    ResultError
        There is no instant between `start` and `end`, or `every` is no multiple of the output interval.
    """
    time = trajectory.time
    if not time.size:
        raise ResultError(f"{trajectory.source} has no output instants")
    begin, last = time[0] if start is None else start, time[-1] if end is None else end
    slack = 1e-6 * time[-1] / max(1, time.size - 1) + 1e-12 * abs(last)
    rows: Integers = np.flatnonzero((time >= begin - slack) & (time <= last + slack))
    if not rows.size:
        raise ResultError(
            f"{trajectory.source} has no output instant from {begin:g} s to {last:g} s: "
            f"it has {time.size} from {time[0]:g} s to {time[-1]:g} s"
        )
    if every is None:
        return rows
    elapsed = time[rows] - time[rows[0]]
    count = np.rint(elapsed / every)
    chosen: Integers = rows[np.abs(elapsed - count * every) <= slack]
    if len(chosen) <= int((elapsed[-1] + slack) / every):
        spacing = float(np.diff(time[rows]).min())
        raise ResultError(
            f"{trajectory.source} does not have an output instant every {every:g} s: give a multiple of "
            f"{spacing:.6g} s, its output interval"
        )
    return chosen
