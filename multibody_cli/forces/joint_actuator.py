"""The generalized force that drives one coordinate of a joint, as a function of time."""

from __future__ import annotations

import numpy as np

from multibody_cli.kernel import kernel
from multibody_cli.signals import evaluate

ACTUATOR = np.dtype([("iv", "i8"), ("signal", "i8"), ("account", "i8")])


@kernel
def push(actuators, signals, t, v, tau, powers):
    """tau += f(t); its power goes to the account."""
    for k in range(len(actuators)):
        actuator = actuators[k]
        force, _, _ = evaluate(signals, actuator.signal, t)
        tau[actuator.iv] += force
        powers[actuator.account] += force * v[actuator.iv]
