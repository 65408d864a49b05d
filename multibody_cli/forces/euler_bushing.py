"""Bushings by Euler angles: springs and dampers for the body-fixed angles about x, y, z of a frame M in a frame F.

The elastic energy is (p . K p + a . A a) / 2 with the angles a.  Their rates are da/dt = N w, with the angular velocity
w of M in F, in axes of F, and the moment on the child, at the origin of M, is -N^T (A a + B da/dt).  All else is as in
`bushing`.  Where the second angle is a right angle, its rates are not defined.

Source: the law of `BushingForce` of OpenSim.
"""

from __future__ import annotations

import math
from typing import Literal

from multibody_cli.forces.bushing import BushingSpec, bushing_element
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import scaled, symmetric_outer, transposed_times
from multibody_cli.spatial.values import Mat3, Vec3


class EulerBushingSpec(BushingSpec):
    """Springs and dampers in six directions, by body-fixed angles about x, y, z."""

    type: Literal["euler_bushing"]  # type: ignore[assignment]


@formula
def euler_angles(R):
    """Angles about x, y, z."""
    second = math.asin(min(max(R.z.x, -1.0), 1.0))
    return Vec3(math.atan2(-R.z.y, R.z.z), second, math.atan2(-R.y.x, R.x.x))


@formula
def rows_of(angles):
    """The rows of N as columns of a matrix, which is N^T."""
    sa, ca, sb, cb = math.sin(angles.x), math.cos(angles.x), math.sin(angles.y), math.cos(angles.y)
    third = (1.0 / cb) * Vec3(0.0, -sa, ca)
    return Mat3(Vec3(1.0, 0.0, 0.0) - sb * third, Vec3(0.0, ca, sa), third)


@formula
def row_changes_of(angles, rows, step):
    """Change of the rows along a step of the angles."""
    sa, ca, sb, cb = math.sin(angles.x), math.cos(angles.x), math.sin(angles.y), math.cos(angles.y)
    third = (step.x / cb) * Vec3(0.0, -ca, -sa) + (step.y * sb / cb) * rows.z
    return Mat3(-(cb * step.y) * rows.z - sb * third, step.x * Vec3(0.0, -sa, ca), third)


@formula
def torques_by_angles(bushing, angles, w):
    """Moments -N^T A a and -N^T B da/dt."""
    N = rows_of(angles)
    rates = transposed_times(N, w)
    elastic, damping = load(bushing.angular_stiffness), load(bushing.angular_damping)
    return -(N @ scaled(elastic, angles)), -(N @ scaled(damping, rates))


@formula
def torque_change_by_angles(bushing, angles, w, step, dw):
    """Change of their sum, in which N changes with the angles."""
    N, A, B = rows_of(angles), load(bushing.angular_stiffness), load(bushing.angular_damping)
    moved = transposed_times(N, step)
    changes = row_changes_of(angles, N, moved)
    torques = scaled(A, angles) + scaled(B, transposed_times(N, w))
    rates = transposed_times(N, dw) + transposed_times(changes, w)
    return -(changes @ torques + N @ (scaled(A, moved) + scaled(B, rates)))


@formula
def block_by_angles(angles, diagonal):
    """N^T diag N."""
    N = rows_of(angles)
    J = symmetric_outer(diagonal.x * N.x, N.x) + symmetric_outer(diagonal.y * N.y, N.y)
    return J + symmetric_outer(diagonal.z * N.z, N.z)


ELEMENT = bushing_element(
    "euler_bushings",
    "euler_bushing",
    EulerBushingSpec,
    coordinates_of=euler_angles,
    torques_of=torques_by_angles,
    torque_change_of=torque_change_by_angles,
    angular_block_of=block_by_angles,
)
