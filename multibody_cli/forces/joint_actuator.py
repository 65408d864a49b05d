"""The generalized force that drives one coordinate of a joint, as a function of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multibody_cli.forces.contract import ForceElement, JointFields, JointPackingContext
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


def pack(joint: Any, context: JointPackingContext) -> Iterator[tuple[Any, ...]]:
    """Return a record for each coordinate whose force is a function of time."""
    for k, signal in enumerate(joint.force):
        if not signal.uses_state:
            yield context.iv + k, context.signal(signal)


ELEMENT = ForceElement(
    "actuators",
    ACTUATOR,
    description="forces of joints",
    account="work",
    implicit=False,
    coordinates=1,
    apply_force=apply_force,
    joint=JointFields(("force",), "force", pack),
)
