"""The generalized force that drives one coordinate of a joint, as a function of time, and of the state.

Of a force that depends on the state, the matrix of implicit integrators has the derivative by the own coordinate and
its rate, where it is a stiffness or a damping; `implicit.coupled_forces` adds the remainder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multibody_cli.forces.contract import ForceElement, JointFields, JointPackingContext
from multibody_cli.forces.quantities import derivative_by
from multibody_cli.kernel import formula
from multibody_cli.signals import derivative_along, evaluate

ACTUATOR = np.dtype([("iv", "i8"), ("signal", "i8"), ("account", "i8")])
"""A force that is a function of time."""

CONTROL = np.dtype(
    [
        ("iv", "i8"),
        ("signal", "i8"),
        ("own_coordinate", "i8"),  # numbers of the quantities that the force reads of its own coordinate, or -1
        ("own_rate", "i8"),
        ("factor", "f8"),  # coefficient of the coordinate, of a force along a combination; else 1
        ("account", "i8"),  # -1 for that of a spring, whose energy is elastic
    ]
)
"""A force that depends on the state, or that acts along a combination of coordinates."""

COMMAND = np.dtype([("row", "i8"), ("iv", "i8"), ("signal", "i8"), ("account", "i8")])
"""One row per commanded coordinate (`tree.computed_torque`): the row of its body, the signal of its acceleration."""


@formula
def apply_force(control, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Add f(t, state) to `tau`, and its power to the account."""
    force, _, _ = evaluate(forces.signals, control.signal, t)
    tau[control.iv] += force
    powers[control.account] += force * v[control.iv]


@formula
def apply_control(control, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Add c f(t, state) to `tau`, and its power to the account."""
    force, _, _ = evaluate(forces.signals, control.signal, t)
    tau[control.iv] += control.factor * force
    if control.account >= 0:
        powers[control.account] += control.factor * force * v[control.iv]


@formula
def own_stiffness(control, forces, t):
    """Minus the derivative by the own coordinate, and by its rate; 0 where it would destabilize."""
    stiffness = -derivative_by(forces.quantities, forces.signals, control.own_coordinate, control.signal, t)
    damping = -derivative_by(forces.quantities, forces.signals, control.own_rate, control.signal, t)
    return max(stiffness, 0.0), max(damping, 0.0)


@formula
def implicit_joint_force(control, forces, t, h, displacement_factor, velocity_factor, exact, rates, tau, armature):
    """Add the implicit terms; where `exact`, all derivatives along the change of `quantities.write_directions`."""
    iv = control.iv
    if exact:
        tau[iv] += control.factor * derivative_along(forces.signals, control.signal, t)
    else:
        stiffness, damping = own_stiffness(control, forces, t)
        tau[iv] -= (displacement_factor * stiffness + velocity_factor * damping) * rates[iv]
        armature[iv] += h * (damping + h * stiffness)


def pack(joint: Any, context: JointPackingContext) -> Iterator[tuple[Any, ...]]:
    """Return a record for each coordinate whose force depends on the state."""
    return (context.control(k, signal) for k, signal in enumerate(joint.force) if signal.uses_state)


def pack_actuators(joint: Any, context: JointPackingContext) -> Iterator[tuple[Any, ...]]:
    """Return a record for each coordinate whose force is a function of time."""
    return ((context.iv + k, context.signal(force)) for k, force in enumerate(joint.force) if not force.uses_state)


ACTUATORS = ForceElement(
    "actuators",
    ACTUATOR,
    description="forces of joints",
    account="work",
    implicit=False,
    coordinates=1,
    apply_force=apply_force,
    joint=JointFields(("force",), "force", pack_actuators),
)

ELEMENT = ForceElement(
    "controls",
    CONTROL,
    description="forces of joints that depend on the state",
    account="work",
    implicit=True,
    coordinates=1,
    apply_force=apply_control,
    implicit_joint_force=implicit_joint_force,
    joint=JointFields(("force",), "force", pack, lambda joint: any(signal.uses_state for signal in joint.force)),
)
