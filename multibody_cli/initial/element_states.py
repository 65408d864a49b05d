"""Force elements at the start: fibers in equilibrium with their tendons, and the material of elastic ropes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from multibody_cli.cables.rope import POINTS_COINCIDE, WITHIN
from multibody_cli.forces.elastic_rope import ElasticRopeSpec
from multibody_cli.forces.elements import ELASTIC_ROPES, apply_forces
from multibody_cli.forces.states import store_states, take_implicitly
from multibody_cli.initial.initial_state import placed
from multibody_cli.model import Model, State
from multibody_cli.packing.ropes import mark_ropes
from multibody_cli.scene.load import LoadedScene


def measure_elastic_ropes(loaded: LoadedScene, model: Model, state: State) -> None:
    """Compute the material of elastic ropes for the start of a model, in place, once.

    Raises
    ------
    SceneError
        Where a section has no length there.
    """
    forces = model.system.forces
    if len(forces.spans) == 0:
        return
    coincident = mark_ropes(model.system, forces.spans, state.q, state.v)
    ropes = [name for name, spring in loaded.scene.springs.items() if isinstance(spring, ElasticRopeSpec)]

    def undefined() -> Iterator[tuple[Sequence[str], str]]:
        for name, rope in zip(ropes, forces.tables[ELASTIC_ROPES], strict=True):
            own = slice(rope["first"], rope["last"])
            starts = forces.spans[own]["starts_row"] == 1
            meets = np.logical_or.reduceat(coincident[own], np.flatnonzero(starts))
            sections = zip(forces.spans[own]["made"][starts], meets, strict=True)
            for k, (made, meet) in enumerate(sections, start=1):
                if math.isnan(made) or meet:
                    cause = f", {POINTS_COINCIDE}" if meet else f": {WITHIN}"
                    yield ("springs", name), f"has no length in the initial position, in section {k}{cause}"

    loaded.refuse(undefined())


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
