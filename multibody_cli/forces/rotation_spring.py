"""Stiffness and damping of a rotation held as a unit quaternion.

With p the rotation vector from the rest orientation, the energy is p . K p / 2 with K diagonal.  The angular
velocity w in the outer frame implies dp/dt = J_r(p)^-1 w, hence the torque -J_r(p)^-T K p in the outer frame; in the
inner frame it is turned by R.  The damper takes the torque -D w in the frame of the joint's own velocity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multibody_cli.forces.contract import ForceElement, JointFields, JointPackingContext
from multibody_cli.forces.joint_spring import coefficients_of
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import dot, scaled
from multibody_cli.spatial.rotations import (
    inverse_right_jacobian_times,
    quaternion_product,
    rotation_of_quaternion,
    vector_of_quaternion,
)
from multibody_cli.spatial.values import Vec3

ROTATION_SPRING = np.dtype(
    [
        ("iq", "i8"),
        ("iv", "i8"),
        ("outer", "i8"),  # whether v is the angular velocity in the outer frame
        ("stiffness", "f8", 3),
        ("damping", "f8", 3),
        ("rest_w", "f8"),
        ("rest", "f8", 3),  # vector part of the quaternion at rest
        ("account", "i8"),
    ]
)


@formula
def deflection(spring, q):
    """Rotation vector from the rest orientation to the present one: log(conj(rest) * q)."""
    k = spring.iq
    w, u = quaternion_product(spring.rest_w, -load(spring.rest), q[k], Vec3(q[k + 1], q[k + 2], q[k + 3]))
    return vector_of_quaternion(w, u)


@formula
def apply_force(spring, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Subtract J_r^-T K p + D w from `tau`, and add the loss w . D w to the account."""
    i = spring.iv
    p = deflection(spring, q)
    torque = inverse_right_jacobian_times(-p, scaled(load(spring.stiffness), p))  # J_r(p)^T = J_r(-p)
    if not spring.outer:
        iq = spring.iq
        torque = rotation_of_quaternion(q[iq], q[iq + 1], q[iq + 2], q[iq + 3]) @ torque
    rate = Vec3(v[i], v[i + 1], v[i + 2])
    drag = scaled(load(spring.damping), rate)
    tau[i] -= torque.x + drag.x
    tau[i + 1] -= torque.y + drag.y
    tau[i + 2] -= torque.z + drag.z
    powers[spring.account] += dot(drag, rate)


@formula
def implicit_joint_force(spring, forces, t, h, displacement_factor, velocity_factor, exact, rates, tau, armature):
    """Add the implicit terms, linearized about the rest orientation: see `elements.apply_implicit_joint_forces`."""
    for j in range(3):
        iv = spring.iv + j
        tau[iv] -= (displacement_factor * spring.stiffness[j] + velocity_factor * spring.damping[j]) * rates[iv]
        armature[iv] += h * (spring.damping[j] + h * spring.stiffness[j])


@formula
def elastic_energy(spring, forces, q, bodies) -> float:
    """Elastic energy, J."""
    p = deflection(spring, q)
    return 0.5 * dot(p, scaled(load(spring.stiffness), p))


def pack(joint: Any, context: JointPackingContext) -> Iterator[tuple[Any, ...]]:
    """Return a record for each rotation."""
    stiffness, damping = coefficients_of(joint)
    for one in context.rotations:
        three, (rest_w, *rest) = slice(one.place, one.place + 3), one.rest
        yield one.iq, one.iv, one.outer, stiffness[three], damping[three], rest_w, rest


ELEMENT = ForceElement(
    "rotation_springs",
    ROTATION_SPRING,
    description="springs or dampers of joints",
    rest="`rest`",
    account="dissipation",
    implicit=True,
    coordinates=3,
    apply_force=apply_force,
    elastic_energy=elastic_energy,
    implicit_joint_force=implicit_joint_force,
    joint=JointFields(("stiffness", "damping"), "damping", pack),
)
