"""Rotations of formulas: about a coordinate axis, which mixes two components only, and general ones.

A rotation R leads from the axes of the outer frame to those of the inner one: a = R a_outer.
"""

from __future__ import annotations

from typing import NamedTuple

from multibody_cli.kernel import in_python
from multibody_cli.spatial import products
from multibody_cli.spatial.values import Force, Inertia, Mat3, Motion, Sym3, Vec3
from multibody_cli.symbolic.scalar import Value

transposed, transposed_times, rotated_inertia = map(
    in_python, (products.transposed, products.transposed_times, products.rotated_inertia)
)
shift_inertia, shift_force, shift_motion = map(
    in_python, (products.shift_inertia, products.shift_force, products.shift_motion)
)


class AxisRotation(NamedTuple):
    """Rotation about coordinate axis `k` by an angle of sine `s` and cosine `c`."""

    k: int
    s: Value
    c: Value


Rotation = AxisRotation | Mat3


# --- vectors ------------------------------------------------------------------------------------------------------
def to_inner(R: Rotation, a: Vec3) -> Vec3:
    """Return R a."""
    return _mixed(R.k, R.s, R.c, a) if isinstance(R, AxisRotation) else R @ a


def to_outer(R: Rotation, a: Vec3) -> Vec3:
    """Return R^T a."""
    return _mixed(R.k, -R.s, R.c, a) if isinstance(R, AxisRotation) else transposed_times(R, a)


def _mixed(k: int, s: Value, c: Value, a: Vec3) -> Vec3:
    i, j = (k + 1) % 3, (k + 2) % 3
    mixed = list(a)
    mixed[i], mixed[j] = c * a[i] - s * a[j], s * a[i] + c * a[j]
    return Vec3(*mixed)


# --- transformations between frames -------------------------------------------------------------------------------
def force_to_inner(R: Rotation, p: Vec3, b: Force) -> Force:
    """Return Ad^* b: a wrench, from the outer frame to the inner one; p is the outer origin in the inner frame."""
    shifted: Force = shift_force(Force(to_inner(R, b.t), to_inner(R, b.f)), p)
    return shifted


def motion_to_outer(R: Rotation, p: Vec3, s: Motion) -> Motion:
    """Return Ad s: a motion, from the inner frame to the outer one."""
    there = shift_motion(s, p)
    return Motion(to_outer(R, there.w), to_outer(R, there.v))


def inertia_to_inner(R: Rotation, p: Vec3, A: Inertia) -> Inertia:
    """Return Ad^* A Ad: an articulated inertia, from the outer frame to the inner one."""
    if isinstance(R, Mat3):
        rotated = rotated_inertia(R, A)
    else:
        J, H, M = _rotated(R, _rows(A.J)), _rotated(R, transposed(A.H)), _rotated(R, _rows(A.M))
        rotated = Inertia(_upper(J), transposed(H), _upper(M))
    shifted: Inertia = shift_inertia(rotated, p)
    return shifted


def _rotated(R: AxisRotation, B: Mat3) -> Mat3:
    """Return R B R^T of a matrix, by its rows.

    Of the block in the plane of rotation, trace and skew part are invariant, and the rest rotates by the double angle.
    This takes half the products of two rotations, with s^2 + c^2 = 1.
    """
    k, i, j = R.k, (R.k + 1) % 3, (R.k + 2) % 3
    across = _mixed(k, R.s, R.c, Vec3(*(row[k] for row in B)))
    along = _mixed(k, R.s, R.c, B[k])
    t = R.s * (B[i][i] - B[j][j]) + R.c * (B[i][j] + B[j][i])
    rows = [[0.0] * 3 for _ in range(3)]
    rows[k] = list(along)
    rows[i][k], rows[j][k] = across[i], across[j]
    rows[i][i], rows[i][j] = B[i][i] - R.s * t, R.c * t - B[j][i]
    rows[j][i], rows[j][j] = R.c * t - B[i][j], B[j][j] + R.s * t
    return Mat3(*(Vec3(*row) for row in rows))


def _rows(A: Sym3) -> Mat3:
    return Mat3(Vec3(A.xx, A.xy, A.xz), Vec3(A.xy, A.yy, A.yz), Vec3(A.xz, A.yz, A.zz))


def _upper(B: Mat3) -> Sym3:
    return Sym3(B.x.x, B.x.y, B.x.z, B.y.y, B.y.z, B.z.z)
