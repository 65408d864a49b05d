"""Euler angles of a rotation, for any sequence of three coordinate axes: R = R_i(a) R_j(b) R_k(c), i != j != k.

With equal outer axes, and the sign e of e_j x e_i along the remaining axis n, the quaternion of R is

    w = cos(b/2) cos((a + c)/2),     q_i = cos(b/2) sin((a + c)/2)
    q_j = sin(b/2) cos((a - c)/2),   q_n = -e sin(b/2) sin((a - c)/2)

Three different axes follow from R R_j(90 deg) = R_i(a) R_j(b + 90 deg) R_i(s c), as R_j(-90 deg) e_k = s e_i.

Source: Sueda, notes 2.4.5, for XZX.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from multibody_cli.spec import Vector
from multibody_cli.spec.rotations import Quaternion, quaternion_of_vector, quaternion_product, rotation_matrix

SEQUENCES = tuple("".join(one) for one in product("xyz", repeat=3) if one[0] != one[1] != one[2])
"""All twelve sequences of axes."""

AXES: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def has_equal_ends(sequence: str) -> bool:
    """Return whether the outer axes are equal: the angles are singular where b is 0 or 180 deg, otherwise 90 deg."""
    return sequence[0] == sequence[2]


def angles_of(sequence: str, rotation: Quaternion) -> tuple[float, float, float]:
    """Return the angles of a rotation, rad.

    b is in [0, pi] with equal outer axes, else in [-pi/2, pi/2].  At a singular rotation the angles are one choice of
    many.
    """
    i, j, k = ("xyz".index(letter) for letter in sequence)
    sign = 1.0 if (i - j) % 3 == 1 else -1.0  # of e_j x e_i
    if i == k:
        return _angles_of_equal_ends(i, j, sign, rotation)
    quarter = quaternion_of_vector([0.5 * math.pi * component for component in AXES[sequence[1]]])
    a, b, c = _angles_of_equal_ends(i, j, sign, quaternion_product(rotation, quarter))
    return a, b - 0.5 * math.pi, sign * c


def _angles_of_equal_ends(i: int, j: int, sign: float, rotation: Quaternion) -> tuple[float, float, float]:
    w, q = rotation[0], rotation[1:]
    n = 3 - i - j
    half_sum, half_difference = math.atan2(q[i], w), math.atan2(-sign * q[n], q[j])
    b = 2.0 * math.atan2(math.hypot(q[j], q[n]), math.hypot(w, q[i]))
    return half_sum + half_difference, b, half_sum - half_difference


def rates_of(sequence: str, angles: Sequence[float], w: Vector) -> tuple[float, ...]:
    """Return the rates of the angles of a rotation, given its angular velocity in its own axes, rad/s.

    The angles must not be singular.
    """
    columns, inner = [], np.eye(3)
    for letter, angle in zip(reversed(sequence), reversed(angles), strict=True):
        axis = np.array(AXES[letter])
        columns.append(inner.T @ axis)
        inner = rotation_matrix(quaternion_of_vector((angle * axis).tolist())) @ inner
    return tuple(np.linalg.solve(np.column_stack(columns[::-1]), np.array(w)).tolist())
