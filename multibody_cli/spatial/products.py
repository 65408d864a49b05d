"""Products of vectors, matrices and spatial values.

Spatial values are in world axes about a point; `r` is the vector from the point of the result to the point of the
argument.
"""

from __future__ import annotations

from multibody_cli.kernel import formula
from multibody_cli.spatial.values import Force, Inertia, Mat3, Motion, RigidInertia, Sym3, Vec3, product

ZERO = Vec3(0.0, 0.0, 0.0)
UNIT = Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


# --- vectors ------------------------------------------------------------------------------------------------------
@formula
def dot(a, b):
    """a . b."""
    return a.x * b.x + a.y * b.y + a.z * b.z


@formula
def cross(a, b):
    """a x b."""
    return Vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


@formula
def scaled(d, b):
    """diag(d) b."""
    return Vec3(d.x * b.x, d.y * b.y, d.z * b.z)


# --- matrices -----------------------------------------------------------------------------------------------------
@product(Mat3, Vec3)
def _(A, b):
    return Vec3(
        A.x.x * b.x + A.y.x * b.y + A.z.x * b.z,
        A.x.y * b.x + A.y.y * b.y + A.z.y * b.z,
        A.x.z * b.x + A.y.z * b.y + A.z.z * b.z,
    )


@product(Mat3, Mat3)
def _(A, B):
    return Mat3(A @ B.x, A @ B.y, A @ B.z)


@product(Sym3, Vec3)
def _(A, b):
    return Vec3(
        A.xx * b.x + A.xy * b.y + A.xz * b.z,
        A.xy * b.x + A.yy * b.y + A.yz * b.z,
        A.xz * b.x + A.yz * b.y + A.zz * b.z,
    )


@formula
def transposed_times(A, b):
    """A^T b."""
    return Vec3(dot(A.x, b), dot(A.y, b), dot(A.z, b))


@formula
def transposed_product(A, B):
    """A^T B."""
    return Mat3(transposed_times(A, B.x), transposed_times(A, B.y), transposed_times(A, B.z))


@formula
def transposed(A):
    """A^T."""
    return Mat3(Vec3(A.x.x, A.y.x, A.z.x), Vec3(A.x.y, A.y.y, A.z.y), Vec3(A.x.z, A.y.z, A.z.z))


@formula
def outer(a, b):
    """a b^T."""
    return Mat3(b.x * a, b.y * a, b.z * a)


@formula
def skew(r):
    """[r], with [r] b = r x b."""
    return Mat3(Vec3(0.0, r.z, -r.y), Vec3(-r.z, 0.0, r.x), Vec3(r.y, -r.x, 0.0))


@formula
def times_skew(A, r):
    """A [r]."""
    return Mat3(r.z * A.y - r.y * A.z, r.x * A.z - r.z * A.x, r.y * A.x - r.x * A.y)


@formula
def skew_times(r, M):
    """[r] M for a symmetric M."""
    return Mat3(cross(r, Vec3(M.xx, M.xy, M.xz)), cross(r, Vec3(M.xy, M.yy, M.yz)), cross(r, Vec3(M.xz, M.yz, M.zz)))


# --- symmetric results --------------------------------------------------------------------------------------------
@formula
def symmetric_outer(a, b):
    """a b^T if known to be symmetric."""
    return Sym3(a.x * b.x, a.x * b.y, a.x * b.z, a.y * b.y, a.y * b.z, a.z * b.z)


@formula
def symmetric_sum(A, B):
    """A + B^T if known to be symmetric."""
    return Sym3(
        A.x.x + B.x.x, A.y.x + B.x.y, A.z.x + B.x.z, A.y.y + B.y.y, A.z.y + B.y.z, A.z.z + B.z.z
    )  # fmt: skip


@formula
def symmetric_product(A, B):
    """A^T B if known to be symmetric."""
    return Sym3(
        dot(A.x, B.x), dot(A.x, B.y), dot(A.x, B.z), dot(A.y, B.y), dot(A.y, B.z), dot(A.z, B.z)
    )  # fmt: skip


@formula
def isotropic(m):
    """The matrix m 1."""
    return Sym3(m, 0.0, 0.0, m, 0.0, m)


@formula
def rotated_diagonal(R, d):
    """R diag(d) R^T; uses R R^T = 1 to save a third of the products."""
    Y, Z = (d.y - d.x) * R.y, (d.z - d.x) * R.z
    return Sym3(
        d.x + Y.x * R.y.x + Z.x * R.z.x,
        Y.x * R.y.y + Z.x * R.z.y,
        Y.x * R.y.z + Z.x * R.z.z,
        d.x + Y.y * R.y.y + Z.y * R.z.y,
        Y.y * R.y.z + Z.y * R.z.z,
        d.x + Y.z * R.y.z + Z.z * R.z.z,
    )


@formula
def rotated(R, A):
    """R A R^T for a symmetric A."""
    X = R @ Vec3(A.xx, A.xy, A.xz)
    Y = R @ Vec3(A.xy, A.yy, A.yz)
    Z = R @ Vec3(A.xz, A.yz, A.zz)
    return Sym3(
        X.x * R.x.x + Y.x * R.y.x + Z.x * R.z.x,
        X.x * R.x.y + Y.x * R.y.y + Z.x * R.z.y,
        X.x * R.x.z + Y.x * R.y.z + Z.x * R.z.z,
        X.y * R.x.y + Y.y * R.y.y + Z.y * R.z.y,
        X.y * R.x.z + Y.y * R.y.z + Z.y * R.z.z,
        X.z * R.x.z + Y.z * R.y.z + Z.z * R.z.z,
    )


@formula
def steiner(J, m, c):
    """J + m (|c|^2 1 - c c^T): a central inertia J referred to the point at -c."""
    h = m * c
    return Sym3(
        J.xx + h.y * c.y + h.z * c.z,
        J.xy - h.x * c.y,
        J.xz - h.x * c.z,
        J.yy + h.x * c.x + h.z * c.z,
        J.yz - h.y * c.z,
        J.zz + h.x * c.x + h.y * c.y,
    )


# --- spatial values -----------------------------------------------------------------------------------------------
@product(Inertia, Motion)
def _(A, s):
    return Force(A.J @ s.w + A.H @ s.v, transposed_times(A.H, s.w) + A.M @ s.v)


@product(RigidInertia, Motion)
def _(A, s):
    return Force(A.J @ s.w + cross(A.h, s.v), A.m * s.v - cross(A.h, s.w))


@formula
def power(s, p):
    """s . p, the scalar product of a motion and a force."""
    return dot(s.w, p.t) + dot(s.v, p.f)


@formula
def inner(a, b):
    """Inner product of two Forces as vectors of six numbers."""
    return dot(a.t, b.t) + dot(a.f, b.f)


@formula
def rank_one(a, b):
    """The Inertia a b^T of two parallel forces."""
    return Inertia(symmetric_outer(a.t, b.t), outer(a.t, b.f), symmetric_outer(a.f, b.f))


@formula
def no_inertia():
    """The Inertia 0."""
    return Inertia(isotropic(0.0), Mat3(ZERO, ZERO, ZERO), isotropic(0.0))


@formula
def no_force():
    """The Force 0."""
    return Force(ZERO, ZERO)


@formula
def shift_motion(s, r):
    """The motion of a rigid body at the point at r from the reference point."""
    return Motion(s.w, s.v + cross(s.w, r))


@formula
def shift_force(p, r):
    """The wrench p at r, referred to the origin of r."""
    return Force(p.t + cross(r, p.f), p.f)


@formula
def rotated_force(R, p):
    """The wrench p in the axes to which R leads."""
    return Force(R @ p.t, R @ p.f)


@formula
def motion_in_axes(R, s):
    """The motion s in the axes from which R leads."""
    return Motion(transposed_times(R, s.w), transposed_times(R, s.v))


@formula
def rotated_inertia(R, A):
    """The Inertia A in the axes to which R leads."""
    return Inertia(rotated(R, A.J), R @ (A.H @ transposed(R)), rotated(R, A.M))


@formula
def shift_inertia(A, r):
    """The inertia A at r, referred to the origin of r."""
    K = A.H + skew_times(r, A.M)
    return Inertia(A.J - symmetric_sum(times_skew(K, r), times_skew(A.H, r)), K, A.M)


@formula
def shift_rigid_inertia(A, r):
    """`shift_inertia` of rigid bodies: J + |d|^2 m 1 - m d d^T, term by term, for every mass moved from d - r to d."""
    k = A.h + (0.5 * A.m) * r
    s, rk = 2.0 * dot(r, k), symmetric_sum(outer(r, k), outer(r, k))
    return RigidInertia(A.J + isotropic(s) - rk, A.h + A.m * r, A.m)
