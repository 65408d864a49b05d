"""Linear stiffness and damping of one coordinate of a joint: tau = -k (q - rest) - d v, energy k (q - rest)^2 / 2.

Source: Sueda, notes 2.5, (2.76)-(2.77); the spring has an elastic energy, the damper an account of the energy ledger.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multibody_cli.forces.contract import ForceElement, JointFields, JointPackingContext
from multibody_cli.kernel import formula

JOINT_SPRING = np.dtype(
    [("iq", "i8"), ("iv", "i8"), ("stiffness", "f8"), ("rest", "f8"), ("damping", "f8"), ("account", "i8")]
)


@formula
def apply_force(spring, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Subtract k (q - rest) + d v from `tau`, and add the loss d v^2 to the account."""
    rate = v[spring.iv]
    tau[spring.iv] -= spring.stiffness * (q[spring.iq] - spring.rest) + spring.damping * rate
    powers[spring.account] += spring.damping * rate * rate


@formula
def implicit_joint_force(spring, forces, t, h, displacement_factor, velocity_factor, exact, rates, tau, armature):
    """Add the implicit terms: see `elements.apply_implicit_joint_forces`."""
    iv = spring.iv
    tau[iv] -= (displacement_factor * spring.stiffness + velocity_factor * spring.damping) * rates[iv]
    armature[iv] += h * (spring.damping + h * spring.stiffness)


@formula
def elastic_energy(spring, forces, q, bodies) -> float:
    """Elastic energy, J."""
    stretch = q[spring.iq] - spring.rest
    return 0.5 * spring.stiffness * stretch * stretch


def coefficients_of(joint: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return stiffness and damping of each coordinate of a joint."""
    none = (0.0,) * len(joint.coordinates)
    return joint.stiffness or none, joint.damping or none


def pack(joint: Any, context: JointPackingContext) -> Iterator[tuple[Any, ...]]:
    """Return a record for each scalar coordinate."""
    stiffness, damping = coefficients_of(joint)
    for one in context.scalars:
        yield one.iq, one.iv, stiffness[one.place], one.rest, damping[one.place]


ELEMENT = ForceElement(
    "joint_springs",
    JOINT_SPRING,
    description="springs or dampers of joints",
    rest="`rest`",
    account="dissipation",
    implicit=True,
    coordinates=1,
    apply_force=apply_force,
    elastic_energy=elastic_energy,
    implicit_joint_force=implicit_joint_force,
    joint=JointFields(("stiffness", "damping"), "damping", pack),
)
