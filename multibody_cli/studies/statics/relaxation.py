"""Rest of scenes with contacts or dry friction: the position at which the motion without momentum stays.

The method of the scene takes its steps with all velocities set to zero at the start and wherever the kinetic energy
has passed a maximum.  The position is at rest if a step from rest causes no velocity: contacts and friction then hold
all forces.  A start that they hold is its own result.  Friction may hold neighboring positions as well: the result is
one of a set.

Source: Cundall, Explicit finite-difference methods in geomechanics (1976), for kinetic damping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from multibody_cli.errors import RunFailed
from multibody_cli.kernel import Floats
from multibody_cli.methods.contract import Status
from multibody_cli.model import Model, State
from multibody_cli.output.state_observer import Observer
from multibody_cli.statics.search import Equilibrium
from multibody_cli.studies.equations_of_motion import EquationsOfMotion
from multibody_cli.studies.simulation import PreparedSimulation

MOST_STEPS = 20_000

AT_REST = 1e-10
"""Acceleration from rest, relative to gravity, or without it to that of the start, that contacts and friction hold."""


class Rest(NamedTuple):
    """A position of rest, and the forces of contacts there: of the first body on the second one, N, world axes."""

    found: Equilibrium
    contacts: Mapping[str, Floats]


def relaxed(prepared: PreparedSimulation, start: State) -> Rest:
    """Return the position of rest to which a start leads.

    Parameters
    ----------
    prepared
        The scene, whose prescribed motions hold.
    start
        The start.

    Raises
    ------
    RunFailed
        The motion does not come to rest.
    """
    model, step, time = prepared.compiled.model, prepared.scene.simulation.step, float(start.time[0])
    tree, state = model.system.tree, start.copy()
    state.v[:] = 0.0
    method, equations = prepared.method_for(state), EquationsOfMotion(model)
    method.start(state)
    scale, kinetic = float(np.linalg.norm(tree.gravity)) / tree.length, 0.0
    for steps in range(1, MOST_STEPS + 1):
        before, was_at_rest = state.q.copy(), not state.v.any()
        report = method.advance(state, time + step)
        if report.status is not Status.OK or not np.isfinite(state.v).all():
            raise RunFailed(f"no equilibrium at t = {time:g} s: step {steps} without momentum fails")
        acceleration = float(np.abs(state.v * tree.weights).max(initial=0.0)) / step
        scale = scale or acceleration or 1.0
        if was_at_rest and acceleration <= AT_REST * scale:
            observer = Observer(model, method)
            observer.observe(state, report)
            state.time[0], state.q[:], state.v[:] = time, before, 0.0
            return Rest(_at_rest(model, state, acceleration / scale, steps), _contacts(model.names.bodies, observer))
        last, kinetic = kinetic, equations.energies(state)[0]
        state.time[0] = time
        if kinetic < last:
            state.v[:], kinetic = 0.0, 0.0
        method.restart()
    raise RunFailed(
        f"no equilibrium at t = {time:g} s: the motion does not come to rest in {MOST_STEPS} steps without momentum: "
        "check that contacts, friction, springs or limits hold all bodies, or increase the step with "
        "--set simulation.step"
    )


def _at_rest(model: Model, state: State, residual: float, steps: int) -> Equilibrium:
    rows = len(model.system.rows)
    return Equilibrium(
        state=state,
        multipliers=np.zeros(rows),
        active=np.zeros(rows, np.bool_),
        residual=residual,
        stiffness=np.zeros(0),
        directions=np.zeros((model.nv, 0)),
        potential=False,
        steps=steps,
    )


def _contacts(bodies: Sequence[str], observer: Observer) -> dict[str, Floats]:
    """Return the forces of the last step between each pair of bodies that touch."""
    pairs = (f"{a}:{b}" for a, b in combinations(("world", *bodies), 2))
    forces = {pair: observer.value(f"contacts/{pair}/force") for pair in pairs} if observer.has_contacts else {}
    return {pair: force for pair, force in forces.items() if force.any()}
