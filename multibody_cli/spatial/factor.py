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
def solve_lower(F, b):
    """L^-1 b. With it, a^T A^-1 b = (L^-1 a) . D^-1 (L^-1 b), which is exactly symmetric."""
    y = b.y - F.lower.x * b.x
    return Vec3(b.x, y, b.z - F.lower.y * b.x - F.lower.z * y)


@formula
def solve_upper(F, b):
    """L^-T b."""
    y = b.y - F.lower.z * b.z
    return Vec3(b.x - F.lower.x * y - F.lower.y * b.z, y, b.z)


@formula
def solve(F, b):
    """A^-1 b."""
    y = solve_lower(F, b)
    z = y.z * F.dinv.z
    x = y.y * F.dinv.y - F.lower.z * z
    return Vec3(y.x * F.dinv.x - F.lower.x * x - F.lower.y * z, x, z)
