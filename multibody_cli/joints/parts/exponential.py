"""Exponential part: a rotation stored as a rotation vector q, with v = dq/dt.

X = (exp[q], 0), S = [J_r(q); 0], c = [(dJ_r/dt) v; 0].  J_r is singular at |q| = 2 pi: once |q| exceeds 3 pi/2,
`recentre` replaces q by the equal rotation (1 - 2 pi/|q|) q, with v mapped so that the angular velocity is unchanged.

Source: Sueda, notes 2.4.8, (2.43)-(2.47).
"""

from __future__ import annotations

import math

from multibody_cli.joints.parts.crossing import Crossing, write_column
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import UNIT, ZERO, dot
from multibody_cli.spatial.rotations import (
    inverse_right_jacobian_times,
    quaternion_of_vector,
    right_jacobian_rate_along,
    right_jacobian_rate_times,
    right_jacobian_times,
    rotation_of_quaternion,
)
from multibody_cli.spatial.values import Motion, Vec3

RECENTRE_BEYOND = 1.5 * math.pi


@formula
def across(P, iq, iv, q, v, columns):
    """Cross an exponential part from the orientation P of its inner frame; write its three columns of S."""
    p, u = Vec3(q[iq], q[iq + 1], q[iq + 2]), Vec3(v[iv], v[iv + 1], v[iv + 2])
    w, vector = quaternion_of_vector(p)
    R = P @ rotation_of_quaternion(w, vector.x, vector.y, vector.z)
    write_column(columns[iv], R @ right_jacobian_times(p, UNIT.x), ZERO)
    write_column(columns[iv + 1], R @ right_jacobian_times(p, UNIT.y), ZERO)
    write_column(columns[iv + 2], R @ right_jacobian_times(p, UNIT.z), ZERO)
    spin, bias = R @ right_jacobian_times(p, u), R @ right_jacobian_rate_times(p, u)
    return Crossing(R, ZERO, Motion(spin, ZERO), Motion(bias, ZERO))


@formula
def add_subspace_change(R, iq, iv, q, v, rates):
    """Add the derivative of S in the outer frame R to the rates of its columns."""
    p, u = Vec3(q[iq], q[iq + 1], q[iq + 2]), Vec3(v[iv], v[iv + 1], v[iv + 2])
    for j, e in enumerate(UNIT):
        rate = rates[iv + j]
        store(rate.angular_rate, load(rate.angular_rate) + R @ right_jacobian_rate_along(p, u, e))


@formula
def recentre(iq, iv, q, v):
    """Replace q by the equal rotation of smaller angle near the singularity, in place; return whether it did."""
    p = Vec3(q[iq], q[iq + 1], q[iq + 2])
    angle = math.sqrt(dot(p, p))
    if angle <= RECENTRE_BEYOND:
        return False
    w = right_jacobian_times(p, Vec3(v[iv], v[iv + 1], v[iv + 2]))
    p = (1.0 - 2.0 * math.pi / angle) * p
    u = inverse_right_jacobian_times(p, w)
    q[iq], q[iq + 1], q[iq + 2] = p.x, p.y, p.z
    v[iv], v[iv + 1], v[iv + 2] = u.x, u.y, u.z
    return True
