"""Everything that pushes: the force elements of a model, as one block of arrays, and the kernels that run them all.

A force element adds to the generalized forces `tau` or to the wrenches of the bodies, and books its power in the
accounts of the ledger.  To add one: a file with its dtype and `push` (and `elastic_energy` if it holds energy,
`vary` and `harden` if it depends on the motion: see `forces.variation`), a field here, and its line in the kernels
below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.forces import (
    body_drag,
    body_load,
    bushing,
    cable,
    joint_actuator,
    joint_spring,
    muscle,
    rotation_spring,
    spring,
)
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
    bushings: Records
    points: Records  # of all cables
    springs: Records
    muscles: Records

    @property
    def resist(self) -> bool:
        """Whether any of them answers to motion, and is no spring or damper of a joint."""
        return any(len(table) > 0 for table in (self.drags, self.bushings, self.springs, self.muscles))


class Alerts(NamedTuple):
    """What forces have to tell of a run, as bits: of each spring and muscle (`forces.spring`, `forces.muscle`)."""

    springs: NDArray[np.int64]
    muscles: NDArray[np.int64]


def alerts_for(forces: Forces) -> Alerts:
    """Allocate them, with nothing to tell."""
    return Alerts(np.zeros(len(forces.springs), np.int64), np.zeros(len(forces.muscles), np.int64))


DTYPES = {
    "actuators": joint_actuator.ACTUATOR,
    "joint_springs": joint_spring.JOINT_SPRING,
    "rotation_springs": rotation_spring.ROTATION_SPRING,
    "loads": body_load.BODY_LOAD,
    "drags": body_drag.BODY_DRAG,
    "bushings": bushing.BUSHING,
    "points": cable.POINT,
    "springs": spring.SPRING,
    "muscles": muscle.MUSCLE,
}
"""The dtype of each table of `Forces`."""


@kernel
def push_all(forces, t, q, v, work, powers):
    """Generalized forces into `work.tau`, wrenches into the placed bodies, powers into the accounts (na,)."""
    tau, bodies, alerts = work.tau, work.bodies, work.alerts
    tells = work.horizon[1] >= 0.0  # what a search tries is not told of
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
    if len(forces.bushings) > 0:
        bushing.push(forces.bushings, bodies, powers)
    if len(forces.springs) > 0:
        spring.push(forces.springs, forces.points, bodies, powers, tells, alerts.springs)
    if len(forces.muscles) > 0:
        muscle.push(forces.muscles, forces.points, forces.signals, t, bodies, powers, tells, alerts.muscles)


@kernel
def vary_all(forces, t, bodies, along, faster, exact, wrenches):
    """What a change of the motion makes of the wrenches on the bodies: see `forces.variation`."""
    points, signals = forces.points, forces.signals
    body_load.vary(forces.loads, signals, t, bodies, along, exact, wrenches)
    body_drag.vary(forces.drags, bodies, along, faster, exact, wrenches)
    bushing.vary(forces.bushings, bodies, along, faster, exact, wrenches)
    spring.vary(forces.springs, points, bodies, along, faster, exact, wrenches)
    muscle.vary(forces.muscles, points, signals, t, bodies, along, faster, exact, wrenches)


@kernel
def harden_all(forces, t, bodies, along, faster, blocks):
    """Add to the blocks of the bodies what their own change takes: see `forces.variation`."""
    body_drag.harden(forces.drags, bodies, faster, blocks)
    bushing.harden(forces.bushings, bodies, along, faster, blocks)
    spring.harden(forces.springs, forces.points, bodies, along, faster, blocks)
    muscle.harden(forces.muscles, forces.points, forces.signals, t, bodies, along, faster, blocks)


@kernel
def foresee_all(forces, horizon, ahead, tau, armature):
    """Let springs and dampers of joints push as they will: less by (along K + faster D) ahead, with h D + h^2 K inert.

    `horizon` holds h, along and faster; `ahead` (nv,) are rates.  Source: Sueda, notes 2.5, (2.77), with
    K = -d tau/dq and D = -d tau/dv.
    """
    h, along, faster = horizon[0], horizon[1], horizon[2]
    for i in range(len(armature)):
        armature[i] = 0.0
    joint_spring.foresee(forces.joint_springs, h, along, faster, ahead, tau, armature)
    rotation_spring.foresee(forces.rotation_springs, h, along, faster, ahead, tau, armature)


@kernel
def elastic_energy(forces, q, bodies):
    """Energy held by all springs, J."""
    of_joints = joint_spring.elastic_energy(forces.joint_springs, q)
    of_joints += rotation_spring.elastic_energy(forces.rotation_springs, q)
    of_cables = spring.elastic_energy(forces.springs, forces.points, bodies)
    of_cables += muscle.elastic_energy(forces.muscles, forces.points, bodies)
    return of_joints + of_cables + bushing.elastic_energy(forces.bushings, bodies)
