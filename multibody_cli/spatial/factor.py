"""L D L^T of a symmetric 3 x 3 matrix, by value: used to eliminate a ball joint."""

from __future__ import annotations

from typing import NamedTuple

from multibody_cli.kernel import formula
from multibody_cli.spatial.values import Vec3


class Ldl3(NamedTuple):
    """Reciprocal pivots, and the entries l21, l31, l32 of the unit lower factor."""

    dinv: Vec3
    lower: Vec3


@formula
def factor(A):
    """A = L D L^T for a positive definite Sym3."""
    dx = 1.0 / A.xx
    l21, l31 = A.xy * dx, A.xz * dx
    dy = 1.0 / (A.yy - l21 * A.xy)
    e = A.yz - l31 * A.xy
    l32 = e * dy
    return Ldl3(Vec3(dx, dy, 1.0 / (A.zz - l31 * A.xz - l32 * e)), Vec3(l21, l31, l32))


@formula
def solve_lower(ldl, b):
    """L^-1 b. With it, a^T A^-1 b = (L^-1 a) . D^-1 (L^-1 b), which is exactly symmetric."""
    y = b.y - ldl.lower.x * b.x
    return Vec3(b.x, y, b.z - ldl.lower.y * b.x - ldl.lower.z * y)


@formula
def solve_upper(ldl, b):
    """L^-T b."""
    y = b.y - ldl.lower.z * b.z
    return Vec3(b.x - ldl.lower.x * y - ldl.lower.y * b.z, y, b.z)


@formula
def solve(ldl, b):
    """A^-1 b."""
    y = solve_lower(ldl, b)
    z = y.z * ldl.dinv.z
    x = y.y * ldl.dinv.y - ldl.lower.z * z
    return Vec3(y.x * ldl.dinv.x - ldl.lower.x * x - ldl.lower.y * z, x, z)
