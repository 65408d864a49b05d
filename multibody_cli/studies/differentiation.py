"""Derivatives of the channels of a run with respect to parameters, by the generated code of the run.

The derivatives of the states at the output instants come from `lanes.derivatives`.  A channel is a function of the
state of one instant and of the constants of the model; its derivative is the sum of two directional derivatives: along
the derivative of the state, and along the change of the constants at a constant state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.lanes.batch import LaneRuns
from multibody_cli.lanes.derivatives import Derivatives, Unsupported, differentiate_run
from multibody_cli.model import Floats, State
from multibody_cli.output.recorder import States
from multibody_cli.output.sink import MemorySink
from multibody_cli.studies.simulation import PreparedSimulation
from multibody_cli.studies.sweep.lanes import objection_to_lanes

OFFSET = 1e-3
"""Offset of a difference, relative to the size of a parameter (1 for zero), or largest change of a state."""

SHIFTS = (1, -1, 2, -2, 3, -3)
"""The values of a central difference, in offsets."""

SIXTH = np.array([3.0 / 4.0, -3.0 / 4.0, -3.0 / 20.0, 3.0 / 20.0, 1.0 / 60.0, -1.0 / 60.0])
FOURTH = np.array([2.0 / 3.0, -2.0 / 3.0, -1.0 / 12.0, 1.0 / 12.0, 0.0, 0.0])
"""Weights of these values in differences of sixth and of fourth order."""

Channels = Mapping[str, Floats]
"""Channels of a run by their paths, each (K, ...) over its K output instants."""


class Slopes(NamedTuple):
    """Derivatives of channels with respect to one parameter, and bounds of their errors."""

    derivatives: Channels
    errors: Channels


def differences(values: Callable[[int], Channels], offset: float) -> Slopes:
    """Differentiate channels by differences of sixth order, with those of fourth order as bounds of their error.

    Parameters
    ----------
    values
        The channels at a multiple of the offset, one of `SHIFTS`.
    offset
        The offset.
    """
    found = [values(shift) for shift in SHIFTS]
    derivatives, errors = {}, {}
    for path in found[0]:
        each = np.array([one[path] for one in found], np.float64)
        sixth, fourth = (np.tensordot(weights, each, 1) / offset for weights in (SIXTH, FOURTH))
        derivatives[path], errors[path] = sixth, np.abs(sixth - fourth)
    return Slopes(derivatives, errors)


def differentiate(
    base: PreparedSimulation,
    neighbors: Sequence[Sequence[PreparedSimulation]],
    offsets: Sequence[float],
    channels: Sequence[str],
) -> list[Slopes]:
    """Differentiate the channels of a run by its generated code.

    Parameters
    ----------
    base
        The run.
    neighbors
        For each parameter the runs at the `SHIFTS` of its offset.
    offsets
        The offsets of the parameters.
    channels
        The channels.

    Returns
    -------
    list
        For each parameter the derivatives of the channels.

    Raises
    ------
    Unsupported
        The generated code cannot differentiate the run.
    """
    whole = [base, *(one for own in neighbors for one in own)]
    if (objection := objection_to_lanes([base])) is not None:
        raise Unsupported(objection)
    if len({(one.compiled.timing, one.integrator.name) for one in whole}) > 1:
        raise Unsupported("the time steps or the output instants depend on a parameter")
    timing = base.compiled.timing
    instants = timing.steps_per_output * np.arange(timing.outputs + 1)
    starts = [one.compiled.state for one in whole]
    runs = LaneRuns(
        [one.compiled.model for one in whole],
        base.integrator.name,
        np.array([one.q for one in starts]),
        np.array([one.v for one in starts]),
        timing.step,
        instants,
    )
    count = len(offsets)
    weights = np.zeros((2, count, len(whole)))
    for k, offset in enumerate(offsets):
        own = slice(1 + len(SHIFTS) * k, 1 + len(SHIFTS) * (k + 1))
        weights[:, k, own] = SIXTH / offset, (SIXTH - FOURTH) / offset
    run = differentiate_run(runs, weights.reshape(2 * count, -1))
    times = np.asarray(instants * timing.step, np.float64)
    return [
        _slopes(base, own, offset, run, k, times, channels)
        for k, (own, offset) in enumerate(zip(neighbors, offsets, strict=True))
    ]


def _slopes(
    base: PreparedSimulation,
    neighbors: Sequence[PreparedSimulation],
    offset: float,
    run: Derivatives,
    k: int,
    times: Floats,
    channels: Sequence[str],
) -> Slopes:
    """Return the derivatives of the channels with respect to parameter k of the run."""

    def along(direction: int) -> Slopes:
        tangents = run.dq[direction], run.dv[direction], run.dledger[direction]
        size = np.abs(np.hstack(tangents[:2])).max(axis=1, initial=0.0)
        steps = OFFSET / 10.0 ** np.floor(np.log10(np.maximum(size, 1.0)))

        def slopes(step: float) -> Slopes:
            def moved(shift: int) -> Channels:
                parts = zip((run.q, run.v, run.ledger), tangents, strict=True)
                return recorded(base, States(times, *(x + shift * step * dx for x, dx in parts)), channels)

            return differences(moved, step)

        return _chosen({float(step): slopes(float(step)) for step in np.unique(steps)}, steps)

    def with_constants(shift: int) -> Channels:
        return recorded(neighbors[SHIFTS.index(shift)], States(times, run.q, run.v, run.ledger), channels)

    by_state, by_constants = along(k), differences(with_constants, offset)
    error = along(len(run.dq) // 2 + k).derivatives
    return Slopes(
        {path: by_state.derivatives[path] + by_constants.derivatives[path] for path in error},
        {path: by_state.errors[path] + by_constants.errors[path] + np.abs(error[path]) for path in error},
    )


def _chosen(slopes: Mapping[float, Slopes], steps: Floats) -> Slopes:
    """Return the derivatives at each instant by its own step; a channel may depend on the first state as well."""
    derivatives, errors = (
        {path: np.stack([tables[step][path][k] for k, step in enumerate(steps)]) for path in tables[steps[0]]}
        for tables in ({step: one[place] for step, one in slopes.items()} for place in (0, 1))
    )
    return Slopes(derivatives, errors)


def recorded(simulation: PreparedSimulation, states: States, channels: Sequence[str]) -> Channels:
    """Return the channels of a run with known states."""
    first = State(states.time[:1], states.q[0], states.v[0], np.zeros_like(states.v[0]), states.ledger[0], np.zeros(0))
    memory = MemorySink(channels)
    simulation.with_compiled(state=first).replay(States(*(one[1:] for one in states)), memory)
    trajectory = memory.trajectory()
    return {path: trajectory.channel(path).values for path in trajectory.paths}
