"""States of force elements at the start: fibers in equilibrium with their tendons, moving with their paths."""

from __future__ import annotations

import math

import numpy as np

from multibody_cli.forces.elements import apply_forces
from multibody_cli.forces.states import store_states, take_implicitly
from multibody_cli.initial.initial_state import placed
from multibody_cli.model import Model, State


def settle(model: Model, state: State) -> None:
    """Compute the states of force elements in steady motion for the start of a model, in place."""
    forces = model.system.forces
    if len(state.z) == 0:
        return
    take_implicitly(forces.states, math.inf)
    apply_forces(forces, state.time[0], state.q, state.v, placed(model, state), np.zeros_like(state.ledger))
    store_states(forces.states, state.z)
    forces.states["start"] = state.z
    take_implicitly(forces.states, 0.0)
