"""Elimination of one joint from an articulated body; `constraint_solver.constrained_bodies` passes over the tree.

All quantities are in world axes. Those of body i refer to the origin of its own joint frame, so that an inertia is
transferred to the parent by a translation, without any rotation.

Elimination of one column S with generalized force tau:  U = A S,  D = S . U,  u = tau - S . p,
A' = A - U U^T / D,  p' = p + U u / D;  then  dv/dt = (u - U . da) / D  for a parent that accelerates by da.
A joint with k degrees of freedom is eliminated column by column, which is L D L^T of its k x k matrix.  A ball is
eliminated as a block: its rotational inertia then vanishes exactly, which preserves accuracy in long chains of balls.

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), table 7.1; Sueda, notes 2.9; 2.12, Alg. 9; 2.13, Alg. 10;
Si and Guenter, (30)-(35).
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.model import KERNEL_BALL
from multibody_cli.spatial.factor import Ldl3, factor, solve, solve_lower
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import (
    ZERO,
    dot,
    isotropic,
    power,
    rank_one,
    scaled,
    shift_force,
    shift_inertia,
    skew,
    symmetric_product,
    transposed_times,
)
from multibody_cli.spatial.values import Force, Inertia, Mat3, Motion, Vec3


# --- records of bodies --------------------------------------------------------------------------------------------
@formula
def rigid_body_inertia(link, body):
    """Spatial inertia of a rigid body about the origin of its joint frame."""
    return Inertia(load(body.J), skew(load(body.h)), isotropic(link.mass))


@formula
def load_motion_change(body):
    """Return the change (dw, dv) of the acceleration of a body, relative to that from forward kinematics."""
    return Motion(load(body.dw), load(body.dv))


@formula
def store_motion_change(body, da):
    """Store the change (dw, dv) of the acceleration of a body."""
    store(body.dw, da.w)
    store(body.dv, da.v)


# --- child inertia accumulators -----------------------------------------------------------------------------------
@formula
def load_inertia(record):
    """Return the spatial inertia in a record."""
    return Inertia(load(record.J), load(record.H), load(record.M))


@formula
def store_inertia(record, A):
    """Store a spatial inertia in a record."""
    store(record.J, A.J)
    store(record.H, A.H)
    store(record.M, A.M)


@formula
def load_child_inertia(child_inertia):
    """Return the accumulated inertia and bias force of side children."""
    return load_inertia(child_inertia), load_force(child_inertia)


@formula
def store_child_inertia(child_inertia, A, p):
    """Set the accumulated inertia and bias force of side children."""
    store_inertia(child_inertia, A)
    store_force(child_inertia, p)


@formula
def add_child_inertia(child_inertia, A, p):
    """Add an inertia and a bias force to those accumulated."""
    B, b = load_child_inertia(child_inertia)
    store_child_inertia(child_inertia, B + A, b + p)


# --- one column, specialised and general kernels ------------------------------------------------------------------
@formula
def eliminate_column(column, A, p, tau, armature):
    """Eliminate one coordinate with force tau: return the remaining inertia and bias force.

    The armature is an inertia of the coordinate alone, as of a rotor behind a gear.
    """
    S = Motion(load(column.angular), load(column.linear))
    U = A @ S
    return eliminate_rank_one(column, A, p, U, power(S, U) + armature, tau - power(S, p))


@formula
def eliminate_rotation(column, A, p, tau, armature):
    """`eliminate_column` for a column without linear part, at half the cost."""
    s = load(column.angular)
    U = Force(A.J @ s, transposed_times(A.H, s))
    return eliminate_rank_one(column, A, p, U, dot(s, U.t) + armature, tau - dot(s, p.t))


@formula
def eliminate_rank_one(column, A, p, U, d, u):
    """Subtract the rank-one term of one column, from U = A S, d = S . U + armature and u = tau - S . p."""
    dinv = 1.0 / d
    store(column.Ut, U.t)
    store(column.Uf, U.f)
    column.dinv = dinv
    column.u = u
    V = dinv * U
    return A - rank_one(V, U), p + u * V


@formula
def accelerate_column(column, da):
    """Return dv/dt of one coordinate, for a parent frame with the additional acceleration da."""
    return column.dinv * (column.u - power(da, Force(load(column.Ut), load(column.Uf))))


@formula
def add_column_motion(da, column, rate):
    """Return da plus the motion of one coordinate at a rate."""
    return Motion(da.w + rate * load(column.angular), da.v + rate * load(column.linear))


@formula
def eliminate(link, body, A, p, tau, armature, columns):
    """Eliminate a single screw or ball; a ball has no armature."""
    if link.joint_kernel == KERNEL_BALL:
        return eliminate_ball(body, A, p, Vec3(tau[link.iv], tau[link.iv + 1], tau[link.iv + 2]))
    if link.slides:
        return eliminate_column(columns[link.iv], A, p, tau[link.iv], armature[link.iv])
    return eliminate_rotation(columns[link.iv], A, p, tau[link.iv], armature[link.iv])


@formula
def accelerate_link(link, body, da, a, columns):
    """Write dv/dt of a single screw or ball; return the change of acceleration of its body."""
    if link.joint_kernel == KERNEL_BALL:
        return accelerate_ball(link, body, da, a)
    column = columns[link.iv]
    rate = accelerate_column(column, da)
    a[link.iv] = rate
    return add_column_motion(da, column, rate)


@kernel
def eliminate_general(link, driven, body, A, p, tau, armature, columns, child_inertia):
    """Eliminate the free columns of any joint in order, and add the result to `child_inertia` of the parent."""
    for j in range(link.iv, link.iv + link.nv):
        if not driven[j]:
            A, p = eliminate_column(columns[j], A, p, tau[j], armature[j])
    r = load(body.r)
    add_child_inertia(child_inertia, shift_inertia(A, r), shift_force(p, r))


@kernel
def accelerate_general(link, driven, body, da, a, columns):
    """Write dv/dt of the free columns of any joint, in the reverse order of elimination."""
    for j in range(link.iv + link.nv - 1, link.iv - 1, -1):
        if not driven[j]:
            rate = accelerate_column(columns[j], da)
            a[j] = rate
            da = add_column_motion(da, columns[j], rate)
    store_motion_change(body, da)


# --- a ball, as a block -------------------------------------------------------------------------------------------
@formula
def eliminate_ball(body, A, p, tau):
    """Eliminate a ball as a block; the moment that remains is that of the ball itself."""
    F, Z, rest_of_A = factor_ball(body, A)
    drive = load(body.R) @ tau
    u = drive - p.t
    store(body.drive, u)
    store(body.H, A.H)
    return rest_of_A, Force(drive, p.f + transposed_times(Z, solve_lower(F, u)))


@formula
def factor_ball(body, A):
    """Factor the block of a ball: return its factors L D L^T of J, D^-1 L^-1 H, and the inertia M - H^T J^-1 H.

    The inertia that remains has no rotational part.
    """
    F = factor(A.J)
    store(body.dinv, F.dinv)
    store(body.lower, F.lower)
    Y = Mat3(solve_lower(F, A.H.x), solve_lower(F, A.H.y), solve_lower(F, A.H.z))
    Z = Mat3(scaled(F.dinv, Y.x), scaled(F.dinv, Y.y), scaled(F.dinv, Y.z))
    return F, Z, Inertia(isotropic(0.0), Mat3(ZERO, ZERO, ZERO), A.M - symmetric_product(Y, Z))


@formula
def accelerate_ball(link, body, da, a):
    """Write dv/dt of a ball, in the axes of its joint frame; return the change of acceleration of its body."""
    F = Ldl3(load(body.dinv), load(body.lower))
    alpha = solve(F, load(body.drive) - load(body.H) @ da.v)
    rate = transposed_times(load(body.R), alpha - da.w)
    a[link.iv] = rate.x
    a[link.iv + 1] = rate.y
    a[link.iv + 2] = rate.z
    return Motion(alpha, da.v)


# --- impulses alone, by stored factors ----------------------------------------------------------------------------
@formula
def impulse_past_column(column, p, x):
    """Return the bias impulse on the parent, after elimination of one coordinate with generalized impulse x."""
    u = x - power(Motion(load(column.angular), load(column.linear)), p)
    column.u = u
    return p + (column.dinv * u) * Force(load(column.Ut), load(column.Uf))


@formula
def impulse_past_ball(body, p, x):
    """Return the bias impulse on the parent, after elimination of a ball with generalized impulse x."""
    drive = load(body.R) @ x
    u = drive - p.t
    store(body.drive, u)
    F = Ldl3(load(body.dinv), load(body.lower))
    return Force(drive, p.f + transposed_times(load(body.H), solve(F, u)))
