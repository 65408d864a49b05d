"""`simulation.start: equilibrium`: the start of a run in the equilibrium to which the written one leads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.errors import RunFailed
from multibody_cli.initial.initial_state import complete_written_rates
from multibody_cli.kernel import Floats
from multibody_cli.model import Model, State
from multibody_cli.scene.load import LoadedScene
from multibody_cli.statics.rest import explained, objection_to_equilibrium, with_held_motions, with_laws_at_rest
from multibody_cli.statics.search import NoEquilibrium, Search
from multibody_cli.tree.workspace import workspace_for

PLACE = "simulation", "start"


def start_in_equilibrium(loaded: LoadedScene, model: Model, state: State, written: Floats) -> Iterator[str]:
    """Move the assembled state of a scene to its equilibrium, in place; yield warnings.

    Parameters
    ----------
    loaded, model, state
        The scene, its model in joint coordinates, and the state.
    written
        (nv,) rates of the scene: they are those of the start, completed by loops and prescribed motions.

    Raises
    ------
    SceneError
        The scene has contacts, dry friction or an actuator whose force depends on its past; or there is no equilibrium.
    """
    if objection := objection_to_equilibrium(model):
        raise loaded.error(objection, *PLACE)
    still, nobody = state.copy(), np.zeros(model.nv, np.bool_)
    update_kinematics(model.system, still.time[0], still.q, still.v, still.a, workspace_for(model.system))
    still.v[:], still.a[:] = 0.0, 0.0
    try:
        held = with_held_motions(with_laws_at_rest(model), nobody)
        found = Search(held, still, nobody).solve()
    except NoEquilibrium as error:
        raise loaded.error(explained(held, error), *PLACE) from None
    except RunFailed as error:
        raise loaded.error(str(error), *PLACE) from None
    state.q[:], state.z[:], state.v[:] = found.state.q, found.state.z, written
    if found.stability == "unstable":
        yield (
            f"{loaded.where(*PLACE)}: simulation.start: the equilibrium is unstable, and round-off determines the "
            "motion: see `mbsim equilibrium`, which computes those beside it"
        )
    yield from complete_written_rates(loaded, model, state, written)
