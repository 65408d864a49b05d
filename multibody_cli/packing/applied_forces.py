"""Applied forces: generalized forces on joint coordinates that the caller of a model writes between steps.

Each is an actuator with a constant signal.  The values of the new constants follow those of the scene, so that they are
one array, which is the only part of the model that changes during a run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.escaping import path_component
from multibody_cli.forces import joint_control
from multibody_cli.forces.elements import PLACES
from multibody_cli.immutable import replace
from multibody_cli.kernel import records
from multibody_cli.model import Account, Floats, Integers, Model, System
from multibody_cli.signals import Operation, with_signals


class Actuated(NamedTuple):
    """A model with applied forces.

    Parameters
    ----------
    model
        The model, with an account `joints/<joint>/applied` for each joint with applied forces.
    forces
        (m,) the applied forces, N, N m, or J for a dimensionless coordinate; zero at first, and written by the caller.
    columns
        (m,) index in v of the coordinate of each force.
    joints
        The place of the forces of each joint in `forces`.  Joints with prescribed coordinates have none.
    """

    model: Model
    forces: Floats
    columns: Integers
    joints: dict[str, slice]


def with_applied_forces(model: Model) -> Actuated:
    """Return a copy of a model with an applied force on each coordinate of its joints.

    The copy has signals of its own, and may be used in another thread than the model.
    """
    driven = model.system.tree.driven
    joints = [joint for joint in model.names.joints if len(joint.coordinates) and not driven[joint.columns].any()]
    places, columns, accounts = {}, [], list(model.names.accounts)
    rows: list[tuple[int, int, int]] = []
    signal = len(model.system.forces.signals.first)
    for joint in joints:
        places[joint.name] = slice(len(rows), len(rows) + len(joint.coordinates))
        for column in range(joint.columns.start, joint.columns.stop):
            rows.append((column, signal + len(rows), len(accounts)))
            columns.append(column)
        accounts.append(Account("work", f"joints/{path_component(joint.name)}/applied"))
    system = with_constants(model.system, len(rows))
    signals = system.forces.signals
    tables = list(system.forces.tables)
    place = PLACES[joint_control.ACTUATORS.name]
    actuators = np.array(rows, joint_control.ACTUATOR)
    tables[place] = records(np.concatenate([np.asarray(tables[place]), actuators]))
    system = system._replace(forces=system.forces._replace(tables=tuple(tables), states=system.forces.states.copy()))
    forces = signals.operand[len(signals.operand) - len(rows) :]
    copy = replace(model, system=system, names=replace(model.names, accounts=tuple(accounts)))
    return Actuated(copy, forces, np.array(columns, np.int64), places)


def with_constants(system: System, count: int) -> System:
    """Return a system with signals of its own, of which the last ones are further constants, 0 at first."""
    signals = system.forces.signals
    first = len(signals.code) + np.arange(count)
    further = signals.with_own_scratch()._replace(
        quantities=signals.quantities.copy(),  # with the values that sampled controllers hold
        is_table=np.append(signals.is_table, np.zeros(count, np.bool_)),
        first=np.append(signals.first, first),
        last=np.append(signals.last, first + 1),
        code=np.append(signals.code, np.full(count, int(Operation.CONSTANT), np.int64)),
        operand=np.append(signals.operand, np.zeros(count)),
    )
    changed: System = with_signals(system, further)
    return changed
