"""L U of an unsymmetric 3 x 3 matrix without pivoting, by value.

L and `solve_lower` are those of `spatial.factor`.
"""

from __future__ import annotations

from typing import NamedTuple

from multibody_cli.kernel import formula
from multibody_cli.spatial.factor import solve_upper as solve_lower_transposed
from multibody_cli.spatial.values import Mat3, Vec3


class Lu3(NamedTuple):
    """Reciprocal pivots of U, its entries u12, u13, u23, and l21, l31, l32 of the unit lower factor."""

    dinv: Vec3
    upper: Vec3
    lower: Vec3


@formula
def factor(A):
    """A = L U of a Mat3 with positive definite symmetric part."""
    x, y, z = A.x, A.y, A.z
    dx = 1.0 / x.x
    l21, l31 = x.y * dx, x.z * dx
    dy = 1.0 / (y.y - l21 * y.x)
    u23 = z.y - l21 * z.x
    l32 = (y.z - l31 * y.x) * dy
    return Lu3(Vec3(dx, dy, 1.0 / (z.z - l31 * z.x - l32 * u23)), Vec3(y.x, z.x, u23), Vec3(l21, l31, l32))


@formula
def solve_upper(lu, b):
    """U^-1 b."""
    z = b.z * lu.dinv.z
    y = (b.y - lu.upper.z * z) * lu.dinv.y
    return Vec3((b.x - lu.upper.x * y - lu.upper.y * z) * lu.dinv.x, y, z)


@formula
def solve_upper_transposed(lu, b):
    """U^-T b."""
    x = b.x * lu.dinv.x
    y = (b.y - lu.upper.x * x) * lu.dinv.y
    return Vec3(x, y, (b.z - lu.upper.y * x - lu.upper.z * y) * lu.dinv.z)


@formula
def determinant_of(A):
    """Return the determinant of a Mat3, to round-off also where A is stiff in some directions, unlike by cofactors."""
    dinv = factor(A).dinv
    return 1.0 / (dinv.x * dinv.y * dinv.z)


@formula
def inverse(A):
    """Return a Mat3 whose columns are the rows of A^-1, as accurate as `determinant_of`."""
    lu = factor(A)
    x, y, z = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
    return Mat3(solve_transposed(lu, x), solve_transposed(lu, y), solve_transposed(lu, z))


@formula
def solve_transposed(lu, b):
    """A^-T b."""
    return solve_lower_transposed(lu, solve_upper_transposed(lu, b))
