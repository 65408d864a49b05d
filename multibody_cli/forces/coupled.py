"""Forces that depend on more of the state than their own coordinate and its rate.

They act on a coordinate of a joint or along a path, are components of a load on a body, or vary with the activation of
a muscle.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.forces import body_load, joint_control, muscle, tension
from multibody_cli.forces.elements import PLACES, Forces, Records
from multibody_cli.forces.quantities import QuantityCode
from multibody_cli.forces.variation import add_wrench
from multibody_cli.kernel import formula, kernel, records
from multibody_cli.signals import Operation
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import ZERO, cross
from multibody_cli.spatial.values import Vec3

COUPLED_FORCE = np.dtype(
    [
        ("signal", "i8"),
        ("table", "i8"),  # `CONTROLS`, `LOADS`, `MUSCLES` or `TENSIONS`
        ("number", "i8"),  # in the table
        ("component", "i8"),  # of a load: of its force (0 to 2) or its torque (3 to 5)
    ]
)

CONTROLS, LOADS, MUSCLES, TENSIONS = (PLACES[one.ELEMENT.name] for one in (joint_control, body_load, muscle, tension))


def coupled_forces_of(forces: Forces) -> Records:
    """Return a record for each coupled force."""
    return records(np.array(list(_coupled(forces)), COUPLED_FORCE))


def _coupled(forces: Forces) -> Iterator[tuple[int, int, int, int]]:
    for k, control in enumerate(forces.tables[CONTROLS]):
        own = {int(control["own_coordinate"]), int(control["own_rate"])}
        if _state_read_by(forces, control["signal"]) - own:
            yield control["signal"], CONTROLS, k, 0
    for k, item in enumerate(forces.tables[LOADS]):
        for component, signal in enumerate((*item["force"], *item["torque"])):
            if _state_read_by(forces, signal):
                yield signal, LOADS, k, component
    for k, item in enumerate(forces.tables[MUSCLES]):
        if _state_read_by(forces, item["activation"]):
            yield item["activation"], MUSCLES, k, 0
    for k, item in enumerate(forces.tables[TENSIONS]):
        if _state_read_by(forces, item["signal"]):
            yield item["signal"], TENSIONS, k, 0


def _state_read_by(forces: Forces, signal: int) -> set[int]:
    """Return the numbers of the quantities of the state that a signal reads."""
    signals = forces.signals
    program = slice(signals.first[signal], signals.last[signal])
    read = signals.operand[program][signals.code[program] == Operation.QUANTITY].astype(int).tolist()
    return {number for number in read if forces.quantities["kind"][number] < QuantityCode.TIME_FUNCTION}


@formula
def own_derivatives(force, forces, t):
    """Minus the derivatives by the own coordinate and its rate that the symmetric matrix has; 0 unless on a joint."""
    if force.table != CONTROLS:
        return 0.0, 0.0
    return joint_control.own_stiffness(forces.tables[CONTROLS][force.number], forces, t)


@kernel
def apply_times(force, forces, t, bodies, factor, x, wrenches):
    """Add the unit of a coupled force times `factor` to the forces x (nv,) on coordinates, or to the wrenches.

    The unit is that of a force on a coordinate or along a path, of a component of a load, or of an activation.
    """
    if force.table == CONTROLS:
        control = forces.tables[CONTROLS][force.number]
        x[control.iv] += factor * control.factor
    elif force.table == LOADS:
        item, k = forces.tables[LOADS][force.number], force.component
        R = load(bodies[item.row].R)
        unit = Vec3(1.0 if k % 3 == 0 else 0.0, 1.0 if k % 3 == 1 else 0.0, 1.0 if k % 3 == 2 else 0.0)
        f, m = body_load.in_world_axes(item, R, unit if k < 3 else ZERO, ZERO if k < 3 else unit)
        add_wrench(wrenches[item.row], factor * (m + cross(R @ load(item.point), f)), factor * f)
    elif force.table == TENSIONS:
        tension.add_unit(forces.tables[TENSIONS][force.number], forces, factor, bodies, wrenches)
    else:
        muscle.add_activation(forces.tables[MUSCLES][force.number], forces, t, factor, bodies, wrenches)
