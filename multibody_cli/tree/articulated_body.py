"""Articulated bodies: forward dynamics of any tree in O(n).

World axes; body i's quantities refer to the origin of its own joint frame, so that an inertia is handed to the
parent by a translation and never by a rotation.

    outward   place every body; its wrench p if no free coordinate accelerated        (kinematics.place_all)
    inward    A, p = articulated inertia and bias force; each joint is eliminated and the rest handed on
    outward   dv/dt of each joint, and the accelerations it causes

Eliminating one column S with force tau:  U = A S,  D = S . U,  u = tau - S . p,
A' = A - U U^T / D,  p' = p + U u / D;  then  dv/dt = (u - U . da) / D  for a parent that accelerates by da.
A joint of k freedoms is eliminated column by column, which is L D L^T of its k x k matrix.  A ball is eliminated as
a block: it hands on no rotational inertia at all, exactly, and long chains of balls keep their digits for it.

Sources: Featherstone 1983; Sueda, notes 2.9 and 2.12, Alg. 9-10; Si and Guenter, (30)-(35).
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.model import WAY_BALL, WAY_GENERAL
from multibody_cli.spatial.factor import Ldl3, factor, solve, solve_lower
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import (
    ZERO,
    dot,
    isotropic,
    no_force,
    no_inertia,
    power,
    rank_one,
    scaled,
    shift_force,
    shift_inertia,
    shift_motion,
    skew,
    symmetric_product,
    transposed_times,
)
from multibody_cli.spatial.values import Force, Inertia, Mat3, Motion, Vec3


@kernel
def accelerate(system, work, a):
    """dv/dt of every free coordinate into `a` (nv,); the bodies were placed and pushed before."""
    gather(system.tree, work.tau, work)
    respond_all(system.tree, a, work)


@kernel
def gather(tree, tau, work):
    """Inward pass: eliminate every joint, from the leaves to the ground."""
    links, bodies, columns, inboxes, driven = tree.links, work.bodies, work.columns, work.inboxes, tree.driven
    armature = work.armature
    for i in range(len(links)):
        if links[i].branches:
            fill_inbox(inboxes[i], no_inertia(), no_force())
    if len(work.foresight.blocks) > 0:
        hand_in_blocks(links, work.foresight.blocks, inboxes)
    A_in, p_in = no_inertia(), no_force()
    for i in range(len(links) - 1, 0, -1):
        link, body = links[i], bodies[i]
        A, p = own_inertia(link, body) + A_in, load_force(body) + p_in
        if link.branches:
            A_side, p_side = inbox_of(inboxes[i])
            A, p = A + A_side, p + p_side
        if link.way == WAY_GENERAL:
            eliminate_general(link, driven, body, A, p, tau, armature, columns, inboxes[link.parent])
            A_in, p_in = no_inertia(), no_force()
            continue
        A, p = eliminate(link, body, A, p, tau, armature, columns)
        r = load(body.r)
        A, p = shift_inertia(A, r), shift_force(p, r)
        if link.parent == i - 1:
            A_in, p_in = A, p
        else:
            add_to_inbox(inboxes[link.parent], A, p)
            A_in, p_in = no_inertia(), no_force()


@kernel
def hand_in_blocks(links, blocks, inboxes):
    """Hand in what implicit forces add to the inertia of single bodies (`implicit.implicit_forces`)."""
    for i in range(1, len(links)):
        if links[i].branches:
            add_to_inbox(inboxes[i], inertia_in(blocks[i]), no_force())


@kernel
def respond_all(tree, a, work):
    """Outward pass: dv/dt of every joint, and what it adds to the acceleration of every body."""
    links, bodies, columns, driven = tree.links, work.bodies, work.columns, tree.driven
    keep_change(bodies[0], Motion(ZERO, ZERO))
    for i in range(1, len(links)):
        link, body = links[i], bodies[i]
        parent = bodies[link.parent]
        da = shift_motion(change_of(parent), load(body.r))
        if link.way == WAY_GENERAL:
            respond_general(link, driven, body, da, a, columns)
        else:
            keep_change(body, respond_link(link, body, da, a, columns))


# --- a body's own share -------------------------------------------------------------------------------------------
@formula
def own_inertia(link, body):
    """The rigid inertia of a body about its origin."""
    return Inertia(load(body.J), skew(load(body.h)), isotropic(link.mass))


@formula
def change_of(body):
    """What the joints add to the acceleration that placing found."""
    return Motion(load(body.dw), load(body.dv))


@formula
def keep_change(body, da):
    """Keep what the joints add to the acceleration of a body."""
    store(body.dw, da.w)
    store(body.dv, da.v)


# --- what side branches hand in -----------------------------------------------------------------------------------
@formula
def inertia_in(record):
    """The inertia that lies in a record."""
    return Inertia(load(record.J), load(record.H), load(record.M))


@formula
def keep_inertia(record, A):
    """Keep an inertia in a record."""
    store(record.J, A.J)
    store(record.H, A.H)
    store(record.M, A.M)


@formula
def inbox_of(inbox):
    """Inertia and bias force that lie there."""
    return inertia_in(inbox), load_force(inbox)


@formula
def fill_inbox(inbox, A, p):
    """Put an inertia and a bias force there."""
    keep_inertia(inbox, A)
    store_force(inbox, p)


@formula
def add_to_inbox(inbox, A, p):
    """Add an inertia and a bias force to those that lie there."""
    B, b = inbox_of(inbox)
    fill_inbox(inbox, B + A, b + p)


# --- one column, the fast way and the general way ------------------------------------------------------------------
@formula
def eliminate_column(column, A, p, tau, armature):
    """Let one coordinate move freely under its tau: the inertia and bias force that are still felt.

    The armature is inertia of the coordinate alone, as of a rotor behind a gear.
    """
    S = Motion(load(column.angular), load(column.linear))
    U = A @ S
    return eliminate_along(column, A, p, U, power(S, U) + armature, tau - power(S, p))


@formula
def eliminate_turn(column, A, p, tau, armature):
    """`eliminate_column` for a column without linear part, at half the cost."""
    s = load(column.angular)
    U = Force(A.J @ s, transposed_times(A.H, s))
    return eliminate_along(column, A, p, U, dot(s, U.t) + armature, tau - dot(s, p.t))


@formula
def eliminate_along(column, A, p, U, d, u):
    """Take away what moves along one column, from U = A S, d = S . U + armature and u = tau - S . p."""
    dinv = 1.0 / d
    store(column.Ut, U.t)
    store(column.Uf, U.f)
    column.dinv = dinv
    column.u = u
    V = dinv * U
    return A - rank_one(V, U), p + u * V


@formula
def respond_column(column, da):
    """dv/dt of one coordinate, for a frame that accelerates by da beyond what was assumed."""
    return column.dinv * (column.u - power(da, Force(load(column.Ut), load(column.Uf))))


@formula
def moved(da, column, rate):
    """The acceleration da plus that of one coordinate."""
    return Motion(da.w + rate * load(column.angular), da.v + rate * load(column.linear))


@formula
def eliminate(link, body, A, p, tau, armature, columns):
    """Eliminate a screw or a ball; the latter without armature."""
    if link.way == WAY_BALL:
        return eliminate_ball(body, A, p, Vec3(tau[link.iv], tau[link.iv + 1], tau[link.iv + 2]))
    if link.slides:
        return eliminate_column(columns[link.iv], A, p, tau[link.iv], armature[link.iv])
    return eliminate_turn(columns[link.iv], A, p, tau[link.iv], armature[link.iv])


@formula
def respond_link(link, body, da, a, columns):
    """dv/dt of a screw or a ball, and the body's own change of acceleration."""
    if link.way == WAY_BALL:
        return respond_ball(link, body, da, a)
    column = columns[link.iv]
    rate = respond_column(column, da)
    a[link.iv] = rate
    return moved(da, column, rate)


@kernel
def eliminate_general(link, driven, body, A, p, tau, armature, columns, inbox):
    """Eliminate the free columns of any joint, one after the other, and hand the rest to the parent's inbox."""
    for j in range(link.iv, link.iv + link.nv):
        if not driven[j]:
            A, p = eliminate_column(columns[j], A, p, tau[j], armature[j])
    r = load(body.r)
    add_to_inbox(inbox, shift_inertia(A, r), shift_force(p, r))


@kernel
def respond_general(link, driven, body, da, a, columns):
    """dv/dt of the free columns of any joint, last eliminated first."""
    for j in range(link.iv + link.nv - 1, link.iv - 1, -1):
        if not driven[j]:
            rate = respond_column(columns[j], da)
            a[j] = rate
            da = moved(da, columns[j], rate)
    keep_change(body, da)


# --- a ball, as a block -------------------------------------------------------------------------------------------
@formula
def eliminate_ball(body, A, p, tau):
    """A ball hands on no moment but its own and no rotational inertia; the rest is M - H^T J^-1 H."""
    F, drive = factor(A.J), load(body.R) @ tau
    u = drive - p.t
    store(body.dinv, F.dinv)
    store(body.lower, F.lower)
    store(body.drive, u)
    store(body.H, A.H)
    Y = Mat3(solve_lower(F, A.H.x), solve_lower(F, A.H.y), solve_lower(F, A.H.z))
    Z = Mat3(scaled(F.dinv, Y.x), scaled(F.dinv, Y.y), scaled(F.dinv, Y.z))
    rest_of_p = Force(drive, p.f + transposed_times(Z, solve_lower(F, u)))
    return Inertia(isotropic(0.0), Mat3(ZERO, ZERO, ZERO), A.M - symmetric_product(Y, Z)), rest_of_p


@formula
def respond_ball(link, body, da, a):
    """dv/dt of a ball, in the axes of its joint frame."""
    F = Ldl3(load(body.dinv), load(body.lower))
    alpha = solve(F, load(body.drive) - load(body.H) @ da.v)
    rate = transposed_times(load(body.R), alpha - da.w)
    a[link.iv] = rate.x
    a[link.iv + 1] = rate.y
    a[link.iv + 2] = rate.z
    return Motion(alpha, da.v)


# --- the inverse mass matrix, applied ------------------------------------------------------------------------------
@kernel
def respond(system, work, x, y):
    """y (nv,) = M^-1 (x + J^T of the impulses in `work.wrenches`) in O(n); driven coordinates stay 0.

    The same two passes as in `accelerate`, without inertias to compute: only impulses run inward.  They are taken at
    the configuration that was gathered last; its drives and bias forces are overwritten, the factors are kept.
    """
    tree = system.tree
    links, bodies, columns, wrenches, driven = tree.links, work.bodies, work.columns, work.wrenches, tree.driven
    for i in range(len(links) - 1, 0, -1):
        link, body = links[i], bodies[i]
        p = -load_force(wrenches[i])
        if link.way == WAY_BALL:
            p = impulse_past_ball(body, p, Vec3(x[link.iv], x[link.iv + 1], x[link.iv + 2]))
        else:
            for j in range(link.iv, link.iv + link.nv):
                if not driven[j]:
                    p = impulse_past_column(columns[j], p, x[j])
        outer = wrenches[link.parent]
        store_force(outer, load_force(outer) - shift_force(p, load(body.r)))
    for j in range(len(y)):
        y[j] = 0.0
    respond_all(tree, y, work)


@formula
def impulse_past_column(column, p, x):
    """The bias impulse that the parent feels when one coordinate is pushed by x."""
    u = x - power(Motion(load(column.angular), load(column.linear)), p)
    column.u = u
    return p + (column.dinv * u) * Force(load(column.Ut), load(column.Uf))


@formula
def impulse_past_ball(body, p, x):
    """The bias impulse that the parent feels when a ball is pushed by x."""
    drive = load(body.R) @ x
    u = drive - p.t
    store(body.drive, u)
    F = Ldl3(load(body.dinv), load(body.lower))
    return Force(drive, p.f + transposed_times(load(body.H), solve(F, u)))
