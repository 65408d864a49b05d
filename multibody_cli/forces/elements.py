"""Everything that pushes: the force elements of a model, as one block of arrays, and the kernels that run them all.

A force element adds to the generalized forces `tau` or to the wrenches of the bodies, and books its power in the
accounts of the ledger.  To add one: a file with its dtype and `push` (and `elastic_energy` if it holds energy),
a field here, and its line in the kernels below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.forces import body_drag, body_load, joint_actuator, joint_spring, rotation_spring
from multibody_cli.kernel import kernel
from multibody_cli.signals import Signals

Records = NDArray[np.void]


class Forces(NamedTuple):
    """The force elements of a model, one table a kind."""

    signals: Signals
    actuators: Records
    joint_springs: Records
    rotation_springs: Records
    loads: Records
    drags: Records


DTYPES = {
    "actuators": joint_actuator.ACTUATOR,
    "joint_springs": joint_spring.JOINT_SPRING,
    "rotation_springs": rotation_spring.ROTATION_SPRING,
    "loads": body_load.BODY_LOAD,
    "drags": body_drag.BODY_DRAG,
}
"""The dtype of each table of `Forces`."""


@kernel
def push_all(forces, t, q, v, bodies, tau, powers):
    """Generalized forces into `tau` (nv,), wrenches into the placed bodies, powers into the accounts (na,)."""
    for i in range(len(tau)):
        tau[i] = 0.0
    for i in range(len(powers)):
        powers[i] = 0.0
    if len(forces.actuators) > 0:  # even a call for nothing takes 100 ns: its arguments are many
        joint_actuator.push(forces.actuators, forces.signals, t, v, tau, powers)
    if len(forces.joint_springs) > 0:
        joint_spring.push(forces.joint_springs, q, v, tau, powers)
    if len(forces.rotation_springs) > 0:
        rotation_spring.push(forces.rotation_springs, q, v, tau, powers)
    if len(forces.loads) > 0:
        body_load.push(forces.loads, forces.signals, t, bodies, powers)
    if len(forces.drags) > 0:
        body_drag.push(forces.drags, bodies, powers)


@kernel
def foresee_all(forces, h, v, tau, armature):
    """Let springs and dampers of joints push as they will after the time h: tau - h K v, and h D + h^2 K as inertia.

    Source: Sueda, notes 2.5, (2.77), with K = -d tau/dq and D = -d tau/dv.
    """
    for i in range(len(armature)):
        armature[i] = 0.0
    joint_spring.foresee(forces.joint_springs, h, v, tau, armature)
    rotation_spring.foresee(forces.rotation_springs, h, v, tau, armature)


@kernel
def elastic_energy(forces, q):
    """Energy held by all springs, J."""
    return joint_spring.elastic_energy(forces.joint_springs, q) + rotation_spring.elastic_energy(
        forces.rotation_springs, q
    )
