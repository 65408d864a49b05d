"""Unsymmetric 6 x 6 matrices from Motion to Force: articulated inertias of joints whose force depends on their load."""

from __future__ import annotations

from typing import NamedTuple

from multibody_cli.kernel import formula
from multibody_cli.spatial.products import cross, outer, times_skew, transposed_times
from multibody_cli.spatial.values import Force, Mat3, Vec3


class UnsymmetricInertia(NamedTuple):
    """A 6 x 6 matrix [[J, H], [K, M]] from Motion to Force."""

    J: Mat3
    H: Mat3
    K: Mat3
    M: Mat3


@formula
def full(A):
    """Return the Mat3 of a Sym3."""
    return Mat3(Vec3(A.xx, A.xy, A.xz), Vec3(A.xy, A.yy, A.yz), Vec3(A.xz, A.yz, A.zz))


@formula
def times(A, s):
    """Return A s, a Force, for a Motion s."""
    return Force(A.J @ s.w + A.H @ s.v, A.K @ s.w + A.M @ s.v)


@formula
def transposed(A, s):
    """Return A^T s, a Force, for a Motion s: its power with a Motion b is that of s with A b."""
    return Force(
        transposed_times(A.J, s.w) + transposed_times(A.K, s.v), transposed_times(A.H, s.w) + transposed_times(A.M, s.v)
    )


@formula
def minus_outer(A, a, b):
    """Return A - a b^T for two forces."""
    return UnsymmetricInertia(
        A.J - outer(a.t, b.t), A.H - outer(a.t, b.f), A.K - outer(a.f, b.t), A.M - outer(a.f, b.f)
    )


@formula
def skewed(r, A):
    """Return [r] A for a Mat3."""
    return Mat3(cross(r, A.x), cross(r, A.y), cross(r, A.z))


@formula
def shifted(A, r):
    """Return the inertia A at r, referred to the origin of r."""
    J, K = A.J - times_skew(A.H, r), A.K - times_skew(A.M, r)
    return UnsymmetricInertia(J + skewed(r, K), A.H + skewed(r, A.M), K, A.M)
