"""Motion of mechanisms that constraints and prescribed motions determine, and its derivatives by parameters.

Such a motion is not integrated: the configuration at an instant solves the equations of the constraints, next to that
of the instant before, and rates follow from their derivatives.  The configuration of a mechanism with slightly other
constants is next to that of the same instant.  Its difference is therefore the exact derivative, however long the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from multibody_cli.errors import RunFailed
from multibody_cli.lanes.derivatives import Unsupported
from multibody_cli.methods import METHODS
from multibody_cli.output.recorder import States
from multibody_cli.studies.differentiation import SHIFTS, Channels, Slopes, differences, recorded
from multibody_cli.studies.inverse.consistency import ConsistentMotion
from multibody_cli.studies.recording import OF_STEPS
from multibody_cli.studies.simulation import PreparedSimulation

_NONE = np.zeros(0)


def determined_states(simulation: PreparedSimulation) -> States:
    """Return the states at all output instants of a mechanism that can move in one way only.

    Raises
    ------
    Unsupported
        The mechanism has a degree of freedom, or has the coordinates of bodies.
    RunFailed
        The constraints cannot be satisfied.
    """
    if METHODS[simulation.scene.simulation.method].maximal:
        raise Unsupported("coordinates of bodies")
    model, state, timing = simulation.compiled.model, simulation.fresh_state(), simulation.compiled.timing
    if any(joint.sizes or joint.domains for joint in model.names.joints):
        raise Unsupported("joints that are monitored at each output instant")
    motion = ConsistentMotion(model, state, [])
    times, found = [], []
    for step in range(timing.steps + 1):
        motion.advance(step * timing.step, _NONE, _NONE, _NONE)
        if len(motion.held):
            raise Unsupported("closed loops with a degree of freedom")
        if step % timing.steps_per_output == 0:
            times.append(step * timing.step)
            found.append((state.q.copy(), state.v.copy()))
    q, v = (np.array(values) for values in zip(*found, strict=True))
    return States(np.array(times), q, v, np.zeros((len(times), len(state.ledger))))


def _near(simulation: PreparedSimulation, states: States) -> States:
    """Return the states of another mechanism at the same instants, next to given ones."""
    state = simulation.fresh_state()
    motion = ConsistentMotion(simulation.compiled.model, state, [])
    q, v = np.zeros_like(states.q), np.zeros_like(states.v)
    for k, time in enumerate(states.time):
        state.time[0], state.q[:], state.v[:] = time, states.q[k], 0.0
        motion.advance(float(time), _NONE, _NONE, _NONE)
        q[k], v[k] = state.q, state.v
    return states._replace(q=q, v=v)


def _recorded_near(own: Sequence[PreparedSimulation], states: States, channels: Sequence[str], shift: int) -> Channels:
    """Return the channels at one of `SHIFTS` of a parameter, next to the states without it."""
    simulation = own[SHIFTS.index(shift)]
    return recorded(simulation, _near(simulation, states), channels)


def differentiate_determined(
    base: PreparedSimulation,
    neighbors: Sequence[Sequence[PreparedSimulation]],
    offsets: Sequence[float],
    channels: Sequence[str],
) -> list[Slopes]:
    """Differentiate the channels of a determined motion; see `studies.differentiation.differentiate`.

    Raises
    ------
    Unsupported
        The motion is not determined, or a channel depends on the steps of a run.
    """
    if any(path.startswith(OF_STEPS) for path in channels):
        raise Unsupported("channels of steps, such as work")
    if len({one.compiled.timing for one in (base, *(one for own in neighbors for one in own))}) > 1:
        raise Unsupported("time steps or output instants that depend on a parameter")
    try:
        states = determined_states(base)
        return [
            differences(partial(_recorded_near, own, states, channels), offset)
            for own, offset in zip(neighbors, offsets, strict=True)
        ]
    except RunFailed as error:
        raise Unsupported(str(error)) from None
