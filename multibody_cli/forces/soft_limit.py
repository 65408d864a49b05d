"""Soft limits of a coordinate of a joint: a spring beyond them, and a damper whose force that of the spring bounds.

With the excess s = q - upper above the upper limit, q - lower below the lower one, and otherwise 0,

    tau = -(k s + D),   D = d v, but of at most |k s|.

The force is therefore continuous where the limit is reached, at any speed, and it never pulls.  The spring has the
energy k s^2 / 2, and the damper takes D v >= 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multibody_cli.forces.contract import ForceElement, JointFields, JointPackingContext
from multibody_cli.kernel import formula

SOFT_LIMIT = np.dtype(
    [
        ("iq", "i8"),
        ("iv", "i8"),
        ("coordinate", "i8"),  # numbers of the quantities that are the coordinate and its rate
        ("rate", "i8"),
        ("lower", "f8"),
        ("upper", "f8"),
        ("stiffness", "f8"),
        ("damping", "f8"),
        ("account", "i8"),
    ]
)


@formula
def excess(limit, q):
    """Return the coordinate beyond the limit, negative below the lower one, and 0 between both."""
    return q - limit.upper if q > limit.upper else (q - limit.lower if q < limit.lower else 0.0)


@formula
def drag(limit, s, rate):
    """Return the force D of the damper."""
    bound = abs(limit.stiffness * s)
    return min(max(limit.damping * rate, -bound), bound)


@formula
def apply_force(limit, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Subtract k s + D from `tau`, and add the loss D v to the account."""
    rate, s = v[limit.iv], excess(limit, q[limit.iq])
    resistance = drag(limit, s, rate)
    tau[limit.iv] -= limit.stiffness * s + resistance
    powers[limit.account] += resistance * rate


@formula
def implicit_joint_force(limit, forces, t, h, displacement_factor, velocity_factor, exact, rates, tau, armature):
    """Add the implicit terms of the measured state: see `elements.apply_implicit_joint_forces`."""
    iv, measured = limit.iv, forces.signals.quantities
    s, rate = excess(limit, measured[limit.coordinate]), measured[limit.rate]
    stiffness, damping = limit.stiffness if s != 0.0 else 0.0, limit.damping
    if abs(limit.damping * rate) >= abs(limit.stiffness * s):  # the damper follows the spring, or balances it
        stiffness, damping = (2.0 * stiffness if s * rate > 0.0 else 0.0), 0.0
    tau[iv] -= (displacement_factor * stiffness + velocity_factor * damping) * rates[iv]
    armature[iv] += h * (damping + h * stiffness)


@formula
def elastic_energy(limit, forces, q, bodies) -> float:
    """Elastic energy, J."""
    s = excess(limit, q[limit.iq])
    return 0.5 * limit.stiffness * s * s


def pack(joint: Any, context: JointPackingContext) -> Iterator[tuple[Any, ...]]:
    """Return a record for each coordinate with soft limits."""
    for one in context.scalars:
        limit = joint.soft_limits[one.place]
        if limit is not None:
            lower, upper = limit.range
            yield one.iq, one.iv, *context.measured(one.place), lower, upper, limit.stiffness, limit.damping


ELEMENT = ForceElement(
    "soft_limits",
    SOFT_LIMIT,
    description="soft limits of joints",
    rest="`range`",
    account="dissipation",
    implicit=True,
    coordinates=1,
    apply_force=apply_force,
    elastic_energy=elastic_energy,
    implicit_joint_force=implicit_joint_force,
    joint=JointFields(("limits",), "soft_limits", pack, lambda joint: any(joint.soft_limits)),
)
