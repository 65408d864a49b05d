"""Ghosts: where the joint of a closure would put its frame M, hung on the parent body with the closure's coordinates.

The coordinates are fitted so that the ghost meets the frame M of the child as well as it can; what is left is the gap
of the loop.  One screw and one ball are fitted in closed form, any other joint by Gauss and Newton from where it was
last; the coordinates are integrated along with the others, so that it starts next to its end, whole turns included.

With S the motion subspace at the ghost's origin and D its duals, the rates are v = D . (V_child - V_parent), of the
material points of both bodies there.
"""

from __future__ import annotations

import math

from multibody_cli.joints.directions import find_duals, find_locks, find_locks_in_plane
from multibody_cli.joints.parts.crossing import carried
from multibody_cli.joints.parts.screw import NOT_TURNING
from multibody_cli.joints.parts.switch import cross_part
from multibody_cli.kernel import formula, kernel
from multibody_cli.model import WAY_BALL, WAY_SCREW
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import (
    UNIT,
    ZERO,
    cross,
    dot,
    power,
    shift_motion,
    transposed_product,
    transposed_times,
)
from multibody_cli.spatial.rotations import quaternion_of_rotation, vector_of_quaternion
from multibody_cli.spatial.values import Force, Motion, Vec3
from multibody_cli.tree.configuration import displace_some, write_quaternion
from multibody_cli.tree.kinematics import move_columns

FITS = 30
"""Corrections of a closure's coordinates, at most; one or two are usual."""

FITTED = 1e-13
"""A correction below this, in rad or m, is the last."""


@kernel
def place_closures(tree, q, v, a, work):
    """Fit the coordinates q and v of every closure to the placed bodies, and place its ghost."""
    closures = tree.closures
    for k in range(len(closures)):
        closure, ghost = closures[k], work.bodies[closures[k].ghost]
        if closure.way == WAY_SCREW:
            fit_screw(tree.parts[closure.first_part], closure, ghost, q, v, work)
        elif closure.way == WAY_BALL:
            fit_ball(tree.parts[closure.first_part], closure, q, v, work)
        else:
            fit_position(tree, closure, ghost, q, v, work)
            fit_velocity(tree, closure, ghost, v, work)
        cross_joint(tree, closure, ghost, q, v, work)
        store_gap(closure, work.bodies[closure.child], ghost)
        drive_ghost(tree.driven, closure, ghost, a, work.columns)
        turn_locks(tree, closure, ghost, work)


@kernel
def fit_screw(part, closure, ghost, q, v, work):
    """Coordinate, rate and dual of one free screw: the turn, or else the travel, from F to the child's M."""
    parent, child = work.bodies[closure.parent], work.bodies[closure.child]
    P, C = load(parent.R), load(child.R)
    F, x = P @ load(closure.frame), load(parent.x) + P @ load(closure.origin)
    turn, slide = load(part.turn), load(part.slide)
    scale = 1.0 / (dot(turn, turn) + dot(slide, slide))
    if part.along == NOT_TURNING:
        reach = load(child.x) + C @ load(closure.child_origin) - x
        q[part.iq] = scale * dot(slide, transposed_times(F, reach))
    else:
        real, i, j, k = quaternion_of_rotation(transposed_product(F, C @ load(closure.child_frame)))
        change = 2.0 * math.atan2(dot(turn, Vec3(i, j, k)), real) - q[part.iq]
        q[part.iq] += change - 2.0 * math.pi * math.floor(change / (2.0 * math.pi) + 0.5)
    S = Motion(F @ turn, F @ slide)
    store(ghost.x, x + q[part.iq] * S.v)
    store_force(work.duals[part.iv], Force(scale * S.w, scale * S.v))
    v[part.iv] = power(slip_of(closure, ghost, work.bodies), load_force(work.duals[part.iv]))


@kernel
def fit_ball(part, closure, q, v, work):
    """Rotation, angular velocity and duals of one free ball: from F to the child's M."""
    parent, child, duals = work.bodies[closure.parent], work.bodies[closure.child], work.duals
    C = load(child.R) @ load(closure.child_frame)
    w, x, y, z = quaternion_of_rotation(transposed_product(load(parent.R) @ load(closure.frame), C))
    write_quaternion(q, part.iq, w, Vec3(x, y, z))
    spin, iv = load(child.w) - load(parent.w), part.iv
    store_force(duals[iv], Force(C.x, ZERO))
    store_force(duals[iv + 1], Force(C.y, ZERO))
    store_force(duals[iv + 2], Force(C.z, ZERO))
    v[iv], v[iv + 1], v[iv + 2] = dot(C.x, spin), dot(C.y, spin), dot(C.z, spin)


@kernel
def fit_position(tree, closure, ghost, q, v, work):
    """Bring the ghost as close to the child's frame M as its free coordinates can, by Gauss and Newton."""
    last = closure.iv + closure.nv
    plain = tree.plain[closure.first_plain : closure.last_plain]
    quaternions = tree.quaternions[closure.first_quaternion : closure.last_quaternion]
    for _ in range(FITS):
        cross_joint(tree, closure, ghost, q, v, work)
        find_duals(work.columns, closure.iv, last, tree.driven, work.basis, work.duals)
        store_gap(closure, work.bodies[closure.child], ghost)
        gap, largest = gap_of(ghost), 0.0
        for j in range(closure.iv, last):
            work.shift[j] = power(gap, load_force(work.duals[j]))
            largest = max(largest, abs(work.shift[j]))
        if not largest > FITTED:
            return
        displace_some(plain, quaternions, q, work.shift, 1.0)


@kernel
def fit_velocity(tree, closure, ghost, v, work):
    """Rates of the free coordinates, from the twists of both bodies."""
    slip = slip_of(closure, ghost, work.bodies)
    for j in range(closure.iv, closure.iv + closure.nv):
        if tree.driven[j]:
            slip = slip - v[j] * motion_of(work.columns[j])
    for j in range(closure.iv, closure.iv + closure.nv):
        if not tree.driven[j]:
            v[j] = power(slip, load_force(work.duals[j]))


@kernel
def cross_joint(tree, closure, ghost, q, v, work):
    """Place the ghost behind the parent, which itself is taken not to accelerate."""
    parent, columns = work.bodies[closure.parent], work.columns
    P, w = load(parent.R), load(parent.w)
    r = P @ load(closure.origin)
    store(ghost.R, P @ load(closure.frame))
    store(ghost.r, r)
    store(ghost.x, load(parent.x) + r)
    store(ghost.w, w)
    store(ghost.v, load(parent.v) + cross(w, r))
    store(ghost.alpha, ZERO)
    store(ghost.a, carried(ZERO, ZERO, w, r))
    cross_parts(tree.parts[closure.first_part : closure.last_part], closure.iv, ghost, q, v, columns, work.shaping)


@kernel
def cross_parts(parts, iv, ghost, q, v, columns, shaping):
    """Move the ghost across the parts of a joint whose columns begin at iv."""
    for k in range(len(parts)):
        part, before = parts[k], load(ghost.r)
        cross_part(part, ghost, q, v, columns, shaping)
        move_columns(columns, iv, part.iv, load(ghost.r) - before)


@kernel
def find_locks_at(parts, q, v, driven, flat, normal, ghosts, columns, shaping, basis, locks) -> int:
    """Locks, in the axes of M, of a joint that stands alone at the coordinates q; how many of `locks` are used.

    `flat` and `normal` (3,) are as of a closure; the ghost is left in M, seen from F.
    """
    ghost = ghosts[0]
    store(ghost.R, UNIT)
    store(ghost.r, ZERO)
    cross_parts(parts, 0, ghost, q, v, columns, shaping)
    if flat:
        n = Vec3(normal[0], normal[1], normal[2])
        return find_locks_in_plane(columns, 0, len(driven), driven, load(ghost.R), n, basis, locks)
    find_locks(columns, 0, len(driven), driven, load(ghost.R), basis, locks)
    return len(locks)


@kernel
def drive_ghost(driven, closure, ghost, a, columns):
    """Add what prescribed accelerations bring."""
    for j in range(closure.iv, closure.iv + closure.nv):
        if driven[j]:
            store(ghost.alpha, load(ghost.alpha) + a[j] * load(columns[j].angular))
            store(ghost.a, load(ghost.a) + a[j] * load(columns[j].linear))


@kernel
def store_gap(closure, child, ghost):
    """Keep the rotation vector and the displacement from the ghost to the child's frame M."""
    C = load(child.R)
    w, x, y, z = quaternion_of_rotation(transposed_product(load(ghost.R), C @ load(closure.child_frame)))
    store(ghost.dw, load(ghost.R) @ vector_of_quaternion(w, Vec3(x, y, z)))
    store(ghost.dv, load(child.x) + C @ load(closure.child_origin) - load(ghost.x))


@formula
def gap_of(ghost):
    """What was kept by `store_gap`, as a small motion."""
    return Motion(load(ghost.dw), load(ghost.dv))


@formula
def gap_length(ghost):
    """How far apart a loop is where its joint does not let it move, m and rad alike."""
    gap = gap_of(ghost)
    return math.sqrt(dot(gap.w, gap.w) + dot(gap.v, gap.v))


@formula
def motion_of(column):
    """A column of S."""
    return Motion(load(column.angular), load(column.linear))


@formula
def slip_of(closure, ghost, bodies):
    """Twist of the child against the parent, at the ghost's origin."""
    parent, child, x = bodies[closure.parent], bodies[closure.child], load(ghost.x)
    outer = shift_motion(Motion(load(child.w), load(child.v)), x - load(child.x))
    inner = shift_motion(Motion(load(parent.w), load(parent.v)), x - load(parent.x))
    return outer - inner


@kernel
def turn_locks(tree, closure, ghost, work):
    """The locked directions, in world axes."""
    R, locks = load(ghost.R), work.locks[closure.first_row : closure.last_row]
    if closure.steady:
        given = tree.locks[closure.first_row : closure.last_row]
        for r in range(len(locks)):
            store_force(locks[r], Force(R @ load(given[r].t), R @ load(given[r].f)))
        return
    last = closure.iv + closure.nv
    if closure.one_plane:
        find_locks_in_plane(work.columns, closure.iv, last, tree.driven, R, load(closure.normal), work.basis, locks)
    else:
        find_locks(work.columns, closure.iv, last, tree.driven, R, work.basis, locks)
    for r in range(len(locks)):
        store_force(locks[r], Force(R @ load(locks[r].t), R @ load(locks[r].f)))
