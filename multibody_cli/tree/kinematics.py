"""Outward pass: pose, twist and acceleration of every body from q, v and the prescribed accelerations.

World axes throughout; a body's quantities refer to the origin of its own joint frame.  The accelerations are those
that the bodies would have if every coordinate that is free to move had dv/dt = 0 (Featherstone's velocity-product
terms, gathered in one pass).
"""

from __future__ import annotations

from multibody_cli.joints.motion import prescribe
from multibody_cli.joints.parts import ball, screw
from multibody_cli.joints.parts.crossing import carried
from multibody_cli.joints.parts.switch import cross_part, differentiate_columns
from multibody_cli.kernel import formula, kernel
from multibody_cli.model import WAY_BALL, WAY_GENERAL
from multibody_cli.spatial.memory import load, store, store_force
from multibody_cli.spatial.products import ZERO, cross, rotated, rotated_diagonal, steiner
from multibody_cli.spatial.values import Force, Vec3


@kernel
def place_tree(system, t, q, v, a, work):
    """Prescribe, and place the bodies of a system without closures, rows and markers."""
    prescribe(system.motions, t, q, v, a)
    place_all(system.tree, q, v, a, work)


@kernel
def place_all(tree, q, v, a, work):
    """Place every body; `a` (nv,) is read where the motion of a coordinate is prescribed."""
    links, bodies, columns, rates = tree.links, work.bodies, work.columns, work.column_rates
    for j in range(len(work.q)):
        work.q[j] = q[j]
    for j in range(len(work.v)):
        work.v[j] = v[j]
    for i in range(1, len(links)):
        link = links[i]
        if link.way == WAY_GENERAL:
            place_general(link, tree, bodies[link.parent], bodies[i], q, v, a, columns, rates, work.shaping)
        else:
            place(link, bodies[link.parent], bodies[i], q, v, columns)


@formula
def place(link, parent, body, q, v, columns):
    """Place a body that hangs on one screw or one ball.

    Each way keeps its own results: were they to meet in one variable, the rare ways would slow down the common one.
    """
    P = load(parent.R)
    r = P @ load(link.origin)
    if link.tilted:
        P = P @ load(link.frame)
    if link.way == WAY_BALL:
        R, spin = ball.turn(P, link.iq, link.iv, q, v)
        arrive(link, parent, body, R, r, spin, ZERO, ZERO)
    elif link.slides:
        R, spin = screw.turn(link, P, q[link.iq], v[link.iv], columns[link.iv])
        d, slip = screw.slide(link, P, q[link.iq], v[link.iv], columns[link.iv])
        arrive(link, parent, body, R, r + d, spin, slip, 2.0 * cross(load(parent.w), slip))
    else:
        R, spin = screw.turn(link, P, q[link.iq], v[link.iv], columns[link.iv])
        arrive(link, parent, body, R, r, spin, ZERO, ZERO)


@formula
def arrive(link, parent, body, R, r, spin, slip, coriolis):
    """The motion of a body at r from its parent's origin, turning by spin and moving by slip against the parent."""
    w, alpha = load(parent.w), load(parent.alpha)
    store(body.R, R)
    store(body.r, r)
    store(body.x, load(parent.x) + r)
    store(body.v, load(parent.v) + cross(w, r) + slip)
    a = carried(load(parent.a), alpha, w, r) + coriolis
    settle(link, body, R, w + spin, alpha + cross(w, spin), a)


@kernel
def place_general(link, tree, parent, body, q, v, a, columns, rates, shaping):
    """Place a body that hangs on any run of parts, through memory."""
    P, w, alpha = load(parent.R), load(parent.w), load(parent.alpha)
    r = P @ load(link.origin)
    store(body.R, P @ load(link.frame))
    store(body.r, r)
    store(body.x, load(parent.x) + r)
    store(body.w, w)
    store(body.v, load(parent.v) + cross(w, r))
    store(body.alpha, alpha)
    store(body.a, ZERO if link.weightless else carried(load(parent.a), alpha, w, r))
    for k in range(link.first_part, link.last_part):
        part, r_before, w_before, v_before = tree.parts[k], load(body.r), load(body.w), load(body.v)
        cross_part(part, body, q, v, columns, shaping)
        d = load(body.r) - r_before
        move_columns(columns, link.iv, part.iv, d)
        if len(rates) > 0:
            differentiate_columns(part, w_before, body, q, v, columns, rates, shaping)
            move_rates(columns, rates, link.iv, part.iv, d, load(body.v) - v_before)
    drive(link, tree.driven, body, a, columns)
    settle(link, body, load(body.R), load(body.w), load(body.alpha), load(body.a))


@formula
def move_columns(columns, first, last, d):
    """Refer the columns of earlier parts to the new origin at d."""
    for j in range(first, last):
        column = columns[j]
        store(column.linear, load(column.linear) + cross(load(column.angular), d))


@formula
def move_rates(columns, rates, first, last, d, d_rate):
    """Refer the rates of the columns of earlier parts to the new origin at d, which moves by d_rate."""
    for j in range(first, last):
        angular, rate = load(columns[j].angular), rates[j]
        change = cross(load(rate.angular_rate), d) + cross(angular, d_rate)
        store(rate.linear_rate, load(rate.linear_rate) + change)


@formula
def drive(link, driven, body, a, columns):
    """Add the accelerations that prescribed coordinates bring."""
    for j in range(link.iv, link.iv + link.nv):
        if driven[j]:
            store(body.alpha, load(body.alpha) + a[j] * load(columns[j].angular))
            store(body.a, load(body.a) + a[j] * load(columns[j].linear))


@formula
def settle(link, body, R, w, alpha, a):
    """Keep the motion of a body, its inertia about its origin, and the wrench that the motion takes."""
    c = R @ load(link.com)
    J = central_inertia(link, R)
    store(body.w, w)
    store(body.alpha, alpha)
    store(body.a, a)
    store_force(body, inertial_wrench(link, J, c, w, alpha, a))
    store(body.J, steiner(J, link.mass, c))
    store(body.h, link.mass * c)


@formula
def inertial_wrench(link, J, c, w, alpha, a):
    """The wrench that a motion takes, about the origin; c leads to the centre of mass, J is the inertia about that."""
    f = link.mass * carried(a, alpha, w, c)
    return Force(J @ alpha + cross(w, J @ w) + cross(c, f), f)


@formula
def central_inertia(link, R):
    """Inertia about the centre of mass in world axes."""
    A = load(link.central)
    if link.principal:
        return rotated_diagonal(R, Vec3(A.xx, A.yy, A.zz))
    return rotated(R, A)
