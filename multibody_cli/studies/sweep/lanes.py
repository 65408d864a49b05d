"""Runs of a sweep in lanes.

Whether a sweep uses lanes follows from its definition, and whether a run is made in a lane from its own values: not
from the other runs of its batch.  The code of the lanes is that of one run of the sweep, the reference.  A run is made
in a lane if it has the model, the step and the output instants of the reference: only its initial state differs.
Runs that reach a limit of a joint or diverge are made again as single runs, which report the cause.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import LANES
from multibody_cli.lanes.batch import LaneRuns, run_in_lanes, supported
from multibody_cli.lanes.program import compile_program, content_of
from multibody_cli.lanes.schemes import SCHEMES
from multibody_cli.methods import METHODS
from multibody_cli.model import Floats
from multibody_cli.output.recorder import States
from multibody_cli.output.sink import MemorySink
from multibody_cli.studies.simulation import PreparedSimulation

WORTHWHILE = 2e7
"""Product of runs, steps and bodies from which lanes save time, even if their code must be compiled.

A step of a single run takes about 50 ns for each body, twice to three times that of a lane; compilation takes a second
or more.
"""

MOST_BYTES = 2**28
"""Size of the states of `LANES` runs up to which lanes are used."""


def objection_to_lanes(simulations: Sequence[PreparedSimulation]) -> str | None:
    """Return why some runs of a sweep cannot be made in lanes; None if they can.

    Parameters
    ----------
    simulations
        Runs of the sweep; the first one is the reference.
    """
    reference = simulations[0]
    model, name = reference.compiled.model, reference.scene.simulation.method
    if METHODS[name].maximal or METHODS[name].own_integrator is not None:
        return f"lanes do not support method `{name}`"
    if (reason := supported([model], reference.integrator.name, reference.scene.simulation.duration)) is not None:
        return f"lanes do not support {reason}"
    if any(joint.sizes or joint.domains for joint in model.names.joints):
        return "lanes do not support joints that are monitored at each output instant"
    numbers = model.nq + model.nv + len(model.names.accounts)
    if 8 * LANES * numbers * reference.compiled.timing.outputs > MOST_BYTES:
        return "there are too many output instants for lanes"
    if len({_common_part(one) for one in simulations}) > 1:
        return "the runs differ in more than their initial states"
    return None


def save_time(reference: PreparedSimulation, count: int) -> bool:
    """Whether lanes save time in `count` runs like one."""
    bodies = len(reference.compiled.model.names.bodies)
    return count * reference.compiled.timing.steps * bodies >= WORTHWHILE


class Lanes:
    """The lanes of a sweep.

    Parameters
    ----------
    reference
        The run whose code the lanes execute.
    """

    def __init__(self, reference: PreparedSimulation) -> None:
        timing, model = reference.compiled.timing, reference.compiled.model
        self._common = _common_part(reference)
        self._program = compile_program([model], SCHEMES[reference.integrator.name])
        instants = timing.steps_per_output * np.arange(1, timing.outputs + 1)
        none = np.zeros((0, model.nq)), np.zeros((0, model.nv))
        self._runs = LaneRuns([model], reference.integrator.name, *none, timing.step, instants)

    def start(self, simulation: PreparedSimulation) -> None:
        """Evaluate and record the start of a run, so that all kernels of runs in lanes are compiled and loaded."""
        time, q, v, _, ledger, _ = simulation.fresh_state()
        run_in_lanes(self._runs._replace(q=q[None], v=v[None], instants=np.array([0])), self._program)
        simulation.replay(States(time, q[None], v[None], ledger[None]), MemorySink())

    def run(self, q: Floats, v: Floats) -> tuple[States, NDArray[np.bool_]]:
        """Make runs of the reference from other initial states, each independently of the others.

        Parameters
        ----------
        q, v
            (R, nq) and (R, nv) initial states.

        Returns
        -------
        States
            Those of all runs, (R, K, ...), at the K output instants after the first one.
        array of bool
            (R,) which runs are complete.
        """
        runs = self._runs._replace(q=q, v=v)
        batch = run_in_lanes(runs, self._program)
        times = np.asarray(runs.instants * runs.step, np.float64)
        complete = batch.in_lanes & (batch.steps == runs.instants[-1])
        return States(times, batch.q, batch.v, batch.ledger), complete

    def make(self, simulations: Sequence[PreparedSimulation]) -> dict[int, States]:
        """Make the runs that suit the lanes.

        Returns
        -------
        dict
            States at the output instants after the first one, by the places of the runs that are complete.
        """
        places = [k for k, one in enumerate(simulations) if _common_part(one) == self._common]
        if not places:
            return {}
        starts = [simulations[k].compiled.state for k in places]
        states, complete = self.run(np.array([one.q for one in starts]), np.array([one.v for one in starts]))
        return {
            places[i]: States(states.time, states.q[i], states.v[i], states.ledger[i])
            for i in np.flatnonzero(complete).tolist()
        }


def _common_part(simulation: PreparedSimulation) -> Hashable:
    """Return everything of a run that all runs in lanes have in common."""
    compiled = simulation.compiled
    return content_of(compiled.model), compiled.timing, simulation.integrator.name, simulation.scene.simulation.method
