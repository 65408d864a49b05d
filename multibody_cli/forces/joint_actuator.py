"""The generalized force that drives one coordinate of a joint, as a function of time."""

from __future__ import annotations

import numpy as np

from multibody_cli.forces.contract import ForceElement
from multibody_cli.kernel import kernel
from multibody_cli.signals import evaluate

ACTUATOR = np.dtype([("iv", "i8"), ("signal", "i8"), ("account", "i8")])


@kernel
def apply_force(actuators, forces, t, q, v, bodies, tau, powers, watched, warnings):
    """Add f(t) to `tau`, and its power to the account."""
    for k in range(len(actuators)):
        actuator = actuators[k]
        force, _, _ = evaluate(forces.signals, actuator.signal, t)
        tau[actuator.iv] += force
        powers[actuator.account] += force * v[actuator.iv]


ELEMENT = ForceElement(
    "actuators",
    ACTUATOR,
    description="forces of joints",
    account="work",
    implicit=False,
    coordinates=1,
    apply_force=apply_force,
)
