"""The result file of inverse dynamics: that of a run that passes the instants of the motion.

Its actuators are the forces on coordinates, under the names of these, and its muscles have the activations of static
optimization.
"""

from __future__ import annotations

from multibody_cli.output.sink import Sink
from multibody_cli.studies.inverse.study import InverseDynamics, InverseProblem
from multibody_cli.studies.recording import recording
from multibody_cli.studies.simulation import PreparedSimulation

METHOD = "inverse_dynamics"


def solve_and_record(prepared: PreparedSimulation, problem: InverseProblem, sink: Sink) -> InverseDynamics:
    """Solve a problem, and write its instants to a sink.

    Raises
    ------
    OutputError
        The sink cannot write.
    RunFailed
        Loops or constraints cannot be satisfied.
    """
    motion, about = problem.motion, f"Inverse dynamics of {problem.motion.source}"
    with recording(prepared, problem.drives.model, problem.state, motion.times, METHOD, sink, about) as record:
        return problem.solve(record)
