"""Affine bodies: frame and angular velocity from their four rows, the centre of mass p and the directors a_k.

With D = (a_1 a_2 a_3) = A E, where the columns of E are the principal axes in the body frame, the orientation of the
body frame is the rotation R of the polar decomposition A = R U.  Its angular velocity w follows from

    (tr U - U) R^T w = the axial vector of  R^T dA/dt - (R^T dA/dt)^T.
"""

from __future__ import annotations

import math

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.factor import factor, solve
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import UNIT, cross, dot, transposed_product, transposed_times
from multibody_cli.spatial.values import Mat3, Sym3, Vec3

MAX_ITERATIONS = 30
"""Maximum number of Newton steps; six are usual."""

CONVERGED = 1e-30
"""Squared size of the step below which the iteration has converged."""


@formula
def directors_of(bodies, row):
    """D, from the three rows behind that of the centre of mass."""
    return Mat3(load(bodies[row + 1].x), load(bodies[row + 2].x), load(bodies[row + 3].x))


@formula
def director_rates_of(bodies, row):
    """dD/dt."""
    return Mat3(load(bodies[row + 1].v), load(bodies[row + 2].v), load(bodies[row + 3].v))


@formula
def determinant(A):
    """Determinant, from the columns."""
    return dot(A.x, cross(A.y, A.z))


@formula
def size(A):
    """Squared Frobenius norm."""
    return dot(A.x, A.x) + dot(A.y, A.y) + dot(A.z, A.z)


@formula
def cofactors(A):
    """det(A) A^-T."""
    return Mat3(cross(A.y, A.z), cross(A.z, A.x), cross(A.x, A.y))


@formula
def combined(a, A, b, B):
    """The matrix a A + b B."""
    return Mat3(a * A.x + b * B.x, a * A.y + b * B.y, a * A.z + b * B.z)


@kernel
def polar_rotation(A) -> Mat3:
    """R of A = R U by Newton's method; of -A for an inverted body, and 1 for a flat one.

    Source: Higham 1986, Computing the polar decomposition, with the scaling by Frobenius norms.
    """
    sign = determinant(A)
    if sign == 0.0:
        return UNIT
    R = combined(math.copysign(1.0, sign), A, 0.0, A)
    for _ in range(MAX_ITERATIONS):
        C, d = cofactors(R), determinant(R)
        scale = math.sqrt(math.sqrt(size(C) / size(R)) / d)
        Q = combined(0.5 * scale, R, 0.5 / (scale * d), C)
        change = size(combined(1.0, Q, -1.0, R))
        R = Q
        if change <= CONVERGED:
            break
    return R


@kernel
def angular_velocity_of(R, D, rate) -> Vec3:
    """Angular velocity of the rotation R of D = R U, from the rate of D."""
    return R @ solve(factor(stretch_of(R, D)), axial(transposed_product(R, rate)))


@formula
def stretch_of(R, D):
    """K = (tr U) 1 - U, symmetric, with U = R^T D."""
    return complement(transposed_product(R, D))


@formula
def complement(U):
    """(tr U) 1 - U of a symmetric matrix U."""
    return Sym3(U.y.y + U.z.z, -U.y.x, -U.z.x, U.x.x + U.z.z, -U.z.y, U.x.x + U.y.y)


@formula
def axial(M):
    """The axial vector of M - M^T."""
    return Vec3(M.y.z - M.z.y, M.z.x - M.x.z, M.x.y - M.y.x)


@kernel
def angular_acceleration_of(R, D, rate, acceleration, w) -> Vec3:
    """Angular acceleration of the rotation R of D = R U with the angular velocity w, from both derivatives of D.

    With W = R^T w and M = R^T dD/dt, the rate of K W = axial(M) is

        K dW/dt = axial(R^T d2D/dt2 - W x M) - dK/dt W,    dU/dt = M - W x U,

    and R dW/dt is the angular acceleration.
    """
    U, M, W = transposed_product(R, D), transposed_product(R, rate), transposed_times(R, w)
    bend = combined(1.0, transposed_product(R, acceleration), -1.0, crossed(W, M))
    rest = axial(bend) - complement(combined(1.0, M, -1.0, crossed(W, U))) @ W
    return R @ solve(factor(complement(U)), rest)


@formula
def crossed(w, A):
    """The matrix with the columns w x a of A."""
    return Mat3(cross(w, A.x), cross(w, A.y), cross(w, A.z))
