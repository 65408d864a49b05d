"""Result files of inverse dynamics and of kinematic analysis: those of a run that passes the instants of the motion."""

from __future__ import annotations

import numpy as np

from multibody_cli.immutable import replace
from multibody_cli.methods.contract import LinkagePositions, Report
from multibody_cli.model import Model
from multibody_cli.output.events import EventTable
from multibody_cli.output.sink import Sink
from multibody_cli.studies.equations_of_motion import EquationsOfMotion
from multibody_cli.studies.inverse.four_bars import SIDES
from multibody_cli.studies.inverse.inverse_dynamics import InverseDynamics
from multibody_cli.studies.inverse.kinematic_analysis import Kinematics
from multibody_cli.studies.inverse.study import InverseProblem
from multibody_cli.studies.recording import recording, writing
from multibody_cli.studies.simulation import PreparedSimulation

DYNAMICS, KINEMATICS = "inverse_dynamics", "kinematics"
"""Methods in the attributes of the files."""


def solve_and_record(prepared: PreparedSimulation, problem: InverseProblem, sink: Sink) -> InverseDynamics:
    """Solve a problem of inverse dynamics, and write its instants to a sink.

    The actuators are the forces on coordinates, under the names of these, and the muscles have the activations of
    static optimization.

    Raises
    ------
    OutputError
        The sink cannot write.
    RunFailed
        Loops or constraints cannot be satisfied.
    """
    motion, about = problem.motion, f"Inverse dynamics of {problem.motion.source}"
    with recording(prepared, problem.drives.model, problem.state, motion.times, DYNAMICS, sink, about) as record:
        return problem.solve(record)


def model_of(prepared: PreparedSimulation, found: Kinematics) -> Model:
    """Return the model of a kinematic analysis, with the names of its four-bars."""
    model = prepared.compiled.model
    return replace(model, names=replace(model.names, four_bars=tuple(one.name for one in found.linkages)))


def record_kinematics(prepared: PreparedSimulation, found: Kinematics, sink: Sink) -> None:
    """Write a motion without forces to a sink; its singular positions are events.

    Raises
    ------
    OutputError
        The sink cannot write.
    """
    model, linkages = model_of(prepared, found), found.linkages
    classes = [f"four-bar {' '.join(one.bar.joints)}: {one.kind}" for one in linkages]
    about = "; ".join([f"Kinematics of {found.source}", *classes])
    shape = len(linkages), len(found.times)
    angles = np.array([one.transmission for one in linkages]).reshape(shape).T
    sides = np.array([[SIDES[side] for side in one.sides] for one in linkages], np.int64).reshape(shape).T
    equations = EquationsOfMotion(model)
    with writing(prepared, model, found.times, KINEMATICS, sink, about, _events(found)) as write:
        for k, state in enumerate(found.states):
            own = state.copy()
            work = equations.accelerate(own, state.a[: equations.n])
            write(own, work, Report(linkages=LinkagePositions(angles[k], sides[k])))


def _events(found: Kinematics) -> EventTable:
    kinds = tuple(dict.fromkeys(one.kind for one in found.singularities))
    numbers = np.array([kinds.index(one.kind) for one in found.singularities], np.int64)
    times = np.array([one.position.time for one in found.singularities])
    return EventTable(kinds, numbers, times, np.zeros_like(numbers))
