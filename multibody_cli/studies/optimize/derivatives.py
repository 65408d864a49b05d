"""Derivatives of the numbers of a run with respect to parameters.

The channels are differentiated by the generated code of the run (`studies.differentiation`), or where constraints and
prescribed motions determine the motion, by their equations (`studies.kinematics`).  A number is a reduction of a
function of the channels of an instant: its values are differentiated along the derivatives of the channels, and the
reduction by its own rule.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multibody_cli.immutable import replace
from multibody_cli.lanes.derivatives import Unsupported
from multibody_cli.model import Floats
from multibody_cli.output.trajectory import ChannelRecord, Trajectory
from multibody_cli.studies.differentiation import OFFSET, SHIFTS, Slopes, differences, differentiate
from multibody_cli.studies.fit import FreeParameter
from multibody_cli.studies.kinematics import differentiate_determined
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.sweep.batch import SweepRun, SweepTask, prepare_run
from multibody_cli.studies.sweep.kept_channels import channels_for, with_values


def derivatives_of_numbers(task: SweepTask, parameters: Sequence[FreeParameter], values: Floats) -> Floats:
    """Return the derivatives (m, n) of the numbers that a task keeps with respect to the n parameters.

    Parameters
    ----------
    task
        The common part of the runs.
    parameters, values
        The parameters, and their values (n,).

    Raises
    ------
    Unsupported
        The generated code cannot differentiate the run, or a reduction is not differentiable.
    MbsimError
        A scene near the given values is invalid.
    """

    def prepared(k: int, offset: float) -> PreparedSimulation:
        moved = values + offset * (np.arange(len(values)) == k)
        settings = (one.override(value) for one, value in zip(parameters, moved.tolist(), strict=True))
        return prepare_run(task, SweepRun(0, tuple(settings)))

    base = prepared(0, 0.0)
    channels = [path for path in channels_for(task.kept, base) if path != "time"]
    offsets = [OFFSET * max(abs(value), one.scale) for one, value in zip(parameters, values.tolist(), strict=True)]
    neighbors = [[prepared(k, shift * offset) for shift in SHIFTS] for k, offset in enumerate(offsets)]
    try:
        slopes = differentiate(base, neighbors, offsets, channels)
    except Unsupported as reason:
        try:
            slopes = differentiate_determined(base, neighbors, offsets, channels)
        except Unsupported as other:
            raise Unsupported(f"{reason}; {other}") from None
    _, trajectory = base.run_in_memory(channels)
    return np.array([_along(task, trajectory, one) for one in slopes]).T


def _along(task: SweepTask, trajectory: Trajectory, slopes: Slopes) -> list[float]:
    """Return the derivatives of all numbers with respect to one parameter."""
    rates = slopes.derivatives
    sizes = [np.abs(rate).max(initial=0.0) / _size(trajectory.channel(path)) for path, rate in rates.items()]
    offset = OFFSET / max([*sizes, 1e-300])

    def moved(shift: int) -> Trajectory:
        def load(path: str, rows: slice) -> ChannelRecord:
            record = trajectory.load(path, rows)
            return (
                replace(record, values=record.values + shift * offset * rates[path][rows]) if path in rates else record
            )

        return replace(trajectory, load=load)

    def values(shift: int) -> dict[str, Floats]:
        return {str(k): own for k, (_, own) in enumerate(with_values(task.kept, moved(shift)))}

    found = differences(values, offset).derivatives
    numbers = []
    for k, (one, own) in enumerate(with_values(task.kept, trajectory)):
        if one.reduction.differentiate is None:
            raise Unsupported(f"`{one.column.name}`, which is no differentiable function of the channels")
        numbers.append(one.reduction.differentiate(trajectory.time, own, found[str(k)]))
    return numbers


def _size(record: ChannelRecord) -> float:
    return float(np.abs(record.values).max(initial=0.0)) or 1.0
