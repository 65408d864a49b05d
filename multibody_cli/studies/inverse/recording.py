"""The result file of inverse dynamics: that of a run that passes the instants of the motion.

Its actuators are the forces on coordinates, under the names of these, and its muscles have the activations of static
optimization.  Accelerations and wrenches of joints are those that these forces cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.immutable import replace
from multibody_cli.observation.element_rows import element_rows
from multibody_cli.output.observers import observe
from multibody_cli.output.recorder import Recorder
from multibody_cli.output.series import series_of
from multibody_cli.output.sink import Outcome, Sink, block_rows
from multibody_cli.studies.inverse.study import InverseDynamics, InverseProblem
from multibody_cli.studies.simulation import PreparedSimulation

if TYPE_CHECKING:
    from multibody_cli.model import SceneNames, State
    from multibody_cli.studies.inverse.drives import Drives

METHOD = "inverse_dynamics"
"""The method in the attributes of the file: no method of a run, so that it is not repeated as one."""

OF_STEPS = ("energy/work", "energy/dissipation", "energy/total", "energy/ledger_residual", "solver", "contacts")
"""Channels that depend on the steps of a run."""


def channels_of(names: SceneNames) -> list[str]:
    """Return the channels that a motion has."""
    return [one.path for one in series_of(names) if not one.path.startswith(OF_STEPS)]


def solve_and_record(prepared: PreparedSimulation, problem: InverseProblem, sink: Sink) -> InverseDynamics:
    """Solve a problem, and write its instants to a sink.

    Raises
    ------
    OutputError
        The sink cannot write.
    RunFailed
        Loops or constraints cannot be satisfied.
    """
    model, times = problem.drives.model, problem.motion.times
    simulation = prepared.with_compiled(model=model, alarms=(), notes=())
    method = simulation.method_for(problem.state)
    span = float(times[-1] - times[0])
    header = replace(
        simulation.header(),
        names=model.names,
        method=METHOD,
        integrator="",
        options={},
        step=span / max(1, len(times) - 1) or simulation.scene.simulation.step,
        duration=float(times[-1]),
        block_rows=block_rows(len(times), model.names),
        description=f"Inverse dynamics of {problem.motion.source}",
    )
    recorder = Recorder(model, simulation.run_settings(), header.block_rows, sink)
    rows, outcome = element_rows(model), None

    def record(_drives: Drives, state: State) -> None:
        method.restart()
        a = state.a.copy()
        report = method.advance(state, float(state.time[0]))
        observe(model.system, state, method.work, rows, recorder.samples, recorder.filled)
        recorder.add(report)
        state.a[:] = a

    with np.errstate(over="ignore", invalid="ignore"):
        method.start(problem.state.copy())
        sink.open(header)
        try:
            found = problem.solve(record)
            recorder.flush()
            outcome = Outcome("complete", steps=len(times))
        finally:
            sink.close(outcome)
    return found
