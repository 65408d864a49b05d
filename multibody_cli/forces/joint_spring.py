"""Linear stiffness and damping of one coordinate of a joint: tau = -k (q - rest) - d v, energy k (q - rest)^2 / 2.

Source: Sueda, notes 2.5, (2.76)-(2.77); the spring is an elastic energy, the damper an account of the ledger.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.kernel import kernel

JOINT_SPRING = np.dtype(
    [("iq", "i8"), ("iv", "i8"), ("stiffness", "f8"), ("rest", "f8"), ("damping", "f8"), ("account", "i8")]
)


@kernel
def push(springs, q, v, tau, powers):
    """tau -= k (q - rest) + d v; the damper's loss d v^2 goes to the account."""
    for k in range(len(springs)):
        spring = springs[k]
        rate = v[spring.iv]
        tau[spring.iv] -= spring.stiffness * (q[spring.iq] - spring.rest) + spring.damping * rate
        powers[spring.account] += spring.damping * rate * rate


@kernel
def foresee(springs, h, along, faster, ahead, tau, armature):
    """tau -= (along k + faster d) ahead, and the inertia h d + h^2 k of each coordinate: see `elements.foresee_all`."""
    for k in range(len(springs)):
        spring, iv = springs[k], springs[k].iv
        tau[iv] -= (along * spring.stiffness + faster * spring.damping) * ahead[iv]
        armature[iv] += h * (spring.damping + h * spring.stiffness)


@kernel
def elastic_energy(springs, q):
    """Energy held by the springs, J."""
    energy = 0.0
    for k in range(len(springs)):
        stretch = q[springs[k].iq] - springs[k].rest
        energy += 0.5 * springs[k].stiffness * stretch * stretch
    return energy
