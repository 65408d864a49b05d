"""Forces that depend on more of the state than their own coordinate and its rate.

They act on a coordinate of a joint, or are components of a load on a body.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.forces import body_load, joint_control
from multibody_cli.forces.elements import PLACES, Forces, Records
from multibody_cli.forces.quantities import Quantity
from multibody_cli.forces.variation import add_wrench
from multibody_cli.kernel import formula, records
from multibody_cli.signals import Operation
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import ZERO, cross
from multibody_cli.spatial.values import Vec3

COUPLED_FORCE = np.dtype(
    [
        ("signal", "i8"),
        ("control", "i8"),  # number of the force on a coordinate, or -1
        ("load", "i8"),  # number of the load on a body
        ("component", "i8"),  # of the force (0 to 2) and the torque (3 to 5) of the load
    ]
)

CONTROLS, LOADS = PLACES[joint_control.ELEMENT.name], PLACES[body_load.ELEMENT.name]


def coupled_forces_of(forces: Forces) -> Records:
    """Return a record for each coupled force."""
    return records(np.array(list(_coupled(forces)), COUPLED_FORCE))


def _coupled(forces: Forces) -> Iterator[tuple[int, int, int, int]]:
    for k, control in enumerate(forces.tables[CONTROLS]):
        own = {int(control["own_coordinate"]), int(control["own_rate"])}
        if _state_read_by(forces, control["signal"]) - own:
            yield control["signal"], k, -1, 0
    for k, item in enumerate(forces.tables[LOADS]):
        for component, signal in enumerate((*item["force"], *item["torque"])):
            if _state_read_by(forces, signal):
                yield signal, -1, k, component


def _state_read_by(forces: Forces, signal: int) -> set[int]:
    """Return the numbers of the quantities of the state that a signal reads."""
    signals = forces.signals
    program = slice(signals.first[signal], signals.last[signal])
    read = signals.operand[program][signals.code[program] == Operation.QUANTITY].astype(int).tolist()
    return {number for number in read if forces.quantities["kind"][number] <= Quantity.ANGULAR_VELOCITY}


@formula
def own_derivatives(force, forces, t):
    """Minus the derivatives by the own coordinate and its rate that the symmetric matrix has; 0 for loads."""
    if force.control < 0:
        return 0.0, 0.0
    return joint_control.own_stiffness(forces.tables[CONTROLS][force.control], forces, t)


@formula
def apply_times(force, forces, tree, bodies, factor, x, wrenches):
    """Add the unit of a coupled force times `factor` to the forces x (nv,) on coordinates, or to the wrenches."""
    if force.control >= 0:
        iv = forces.tables[CONTROLS][force.control].iv
        x[iv] += 0.0 if tree.driven[iv] else factor
    else:
        item, k = forces.tables[LOADS][force.load], force.component
        R = load(bodies[item.row].R)
        unit = Vec3(float(k % 3 == 0), float(k % 3 == 1), float(k % 3 == 2))
        f, m = body_load.in_world_axes(item, R, unit if k < 3 else ZERO, ZERO if k < 3 else unit)
        add_wrench(wrenches[item.row], factor * (m + cross(R @ load(item.point), f)), factor * f)
