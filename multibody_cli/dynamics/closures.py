"""Joints that close loops: their coordinates follow from the bodies, and their locked directions are rows.

The *ghost* of a closure is its frame M as the joint alone would place it, hung on the parent body with the closure's
own coordinates.  These are fitted so that the ghost meets the frame M of the child as well as it can; what is left is
the gap of the loop.  With S the motion subspace of the joint, D its duals and T its locks, all at the ghost's origin,

    v = D . (V_child - V_parent)            rates of the coordinates
    0 = T . (V_child - V_parent - S_d v_d)  rows; v_d are rates that are prescribed

where V are the twists of the material points of both bodies at the ghost's origin.  The same holds for accelerations,
less what the ghost accelerates by when all rates are constant.

Source: Sueda, notes 1.10 and 2.8 (loop closure), with the directions taken from S for every joint alike.
"""

from __future__ import annotations

import math

from multibody_cli.constraints.rows import write_level, write_wrench
from multibody_cli.dynamics.configuration import displace_some
from multibody_cli.dynamics.kinematics import move_columns
from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.joints.directions import find_duals, find_locks, find_locks_in_plane
from multibody_cli.joints.parts.crossing import carried
from multibody_cli.joints.parts.switch import cross_part
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import (
    UNIT,
    ZERO,
    cross,
    dot,
    power,
    shift_force,
    shift_motion,
    transposed_product,
)
from multibody_cli.spatial.rotations import quaternion_of_rotation, vector_of_quaternion
from multibody_cli.spatial.values import Force, Motion, Vec3

FITS = 30
"""Corrections of a closure's coordinates, at most; one or two are usual, for they are integrated along."""

FITTED = 1e-13
"""A correction below this, in rad or m, is the last."""


# --- where the ghosts are -----------------------------------------------------------------------------------------
@kernel
def place_closures(tree, q, v, a, work):
    """Fit the coordinates q and v of every closure to the placed bodies, and place its ghost."""
    closures, first = tree.closures, len(tree.links)
    for k in range(len(closures)):
        closure, ghost = closures[k], work.bodies[first + k]
        fit_position(tree, closure, ghost, q, v, work)
        fit_velocity(tree, closure, ghost, v, work)
        cross_joint(tree, closure, ghost, q, v, work)
        store_gap(closure, work.bodies[closure.child], ghost)
        drive_ghost(tree.driven, closure, ghost, a, work.columns)
        turn_locks(tree, closure, ghost, work)


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
    cross_parts(tree.parts[closure.first_part : closure.last_part], closure.iv, ghost, q, v, columns)


@kernel
def cross_parts(parts, iv, ghost, q, v, columns):
    """Move the ghost across the parts of a joint whose columns begin at iv."""
    for k in range(len(parts)):
        part, before = parts[k], load(ghost.r)
        cross_part(part, ghost, q, v, columns)
        move_columns(columns, iv, part.iv, load(ghost.r) - before)


@kernel
def find_locks_at(parts, q, v, driven, flat, normal, ghosts, columns, basis, locks):
    """Locks, in the axes of M, of a joint that stands alone at the coordinates q; how many of `locks` are used.

    `flat` and `normal` (3,) are as of a closure; the ghost is left in M, seen from F.
    """
    ghost = ghosts[0]
    store(ghost.R, UNIT)
    store(ghost.r, ZERO)
    cross_parts(parts, 0, ghost, q, v, columns)
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


# --- rows ---------------------------------------------------------------------------------------------------------
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
    if closure.flat:
        find_locks_in_plane(work.columns, closure.iv, last, tree.driven, R, load(closure.normal), work.basis, locks)
    else:
        find_locks(work.columns, closure.iv, last, tree.driven, R, work.basis, locks)
    for r in range(len(locks)):
        store_force(locks[r], Force(R @ load(locks[r].t), R @ load(locks[r].f)))


@kernel
def write_closures(tree, v, work):
    """The rows of every closure."""
    closures, first, bodies, rows, terms = tree.closures, len(tree.links), work.bodies, work.rows, work.terms
    for k in range(len(closures)):
        closure, ghost = closures[k], bodies[first + k]
        parent, child = bodies[closure.parent], bodies[closure.child]
        inner, outer = load(ghost.x) - load(parent.x), load(ghost.x) - load(child.x)
        driven = driven_motion(tree.driven, closure, v, work.columns)
        late = lag_of(child, ghost, outer)
        for r in range(closure.first_row, closure.last_row):
            T, term = load_force(work.locks[r]), closure.first_term + 2 * (r - closure.first_row)
            at_child, at_parent = shift_force(T, outer), shift_force(T, inner)
            write_wrench(terms[term], closure.child, at_child.t, at_child.f)
            write_wrench(terms[term + 1], closure.parent, -at_parent.t, -at_parent.f)
            write_level(rows[r], power(gap_of(ghost), T), -power(driven, T), power(late, T))


@formula
def driven_motion(driven, closure, v, columns):
    """The twist that prescribed coordinates bring."""
    V = Motion(ZERO, ZERO)
    for j in range(closure.iv, closure.iv + closure.nv):
        if driven[j]:
            V = V + v[j] * motion_of(columns[j])
    return V


@formula
def lag_of(child, ghost, r):
    """How much faster the child's point at the ghost accelerates than the ghost, if neither body accelerated."""
    return Motion(-load(ghost.alpha), carried(ZERO, ZERO, load(child.w), r) - load(ghost.a))


# --- coordinates --------------------------------------------------------------------------------------------------
@kernel
def push_closures(tree, tau, work):
    """Generalized forces on the coordinates of closures, as wrenches on both bodies."""
    closures, first, bodies = tree.closures, len(tree.links), work.bodies
    for k in range(len(closures)):
        closure, ghost = closures[k], bodies[first + k]
        W = effort_of(tree.driven, closure, tau, work.duals)
        push_apart(closure, ghost, bodies, W)


@formula
def effort_of(driven, closure, tau, duals):
    """The wrench at the ghost's origin that generalized forces make."""
    W = Force(ZERO, ZERO)
    for j in range(closure.iv, closure.iv + closure.nv):
        if not driven[j]:
            W = W + tau[j] * load_force(duals[j])
    return W


@formula
def push_apart(closure, ghost, bodies, W):
    """Push the child with a wrench at the ghost's origin, and the parent against it."""
    parent, child = bodies[closure.parent], bodies[closure.child]
    at_child, at_parent = shift_force(W, load(ghost.x) - load(child.x)), shift_force(W, load(ghost.x) - load(parent.x))
    apply_wrench(child, at_child.t, at_child.f)
    apply_wrench(parent, -at_parent.t, -at_parent.f)


@kernel
def impel_closures(tree, x, work):
    """Impulses x (nv,) on the coordinates of closures, added to the impulses on both bodies."""
    closures, first, bodies, wrenches = tree.closures, len(tree.links), work.bodies, work.wrenches
    for k in range(len(closures)):
        closure, ghost = closures[k], bodies[first + k]
        W = effort_of(tree.driven, closure, x, work.duals)
        child, parent = wrenches[closure.child], wrenches[closure.parent]
        store_force(child, load_force(child) + shift_force(W, load(ghost.x) - load(bodies[closure.child].x)))
        store_force(parent, load_force(parent) - shift_force(W, load(ghost.x) - load(bodies[closure.parent].x)))


@kernel
def follow_closures(tree, y, work):
    """Rates y of the coordinates of closures, from the changes (dw, dv) of the bodies."""
    closures, first, bodies = tree.closures, len(tree.links), work.bodies
    for k in range(len(closures)):
        closure, ghost = closures[k], bodies[first + k]
        change = change_across(closure, ghost, bodies)
        for j in range(closure.iv, closure.iv + closure.nv):
            y[j] = 0.0 if tree.driven[j] else power(change, load_force(work.duals[j]))


@kernel
def accelerate_closures(tree, a, work):
    """dv/dt of the free coordinates of closures, from the accelerations of the bodies."""
    closures, first, bodies = tree.closures, len(tree.links), work.bodies
    for k in range(len(closures)):
        closure, ghost = closures[k], bodies[first + k]
        parent, child = bodies[closure.parent], bodies[closure.child]
        inner, outer = load(ghost.x) - load(parent.x), load(ghost.x) - load(child.x)
        placed = shift_motion(Motion(load(child.alpha), load(child.a)), outer)
        placed = placed - shift_motion(Motion(load(parent.alpha), load(parent.a)), inner)
        A = placed + change_across(closure, ghost, bodies) + lag_of(child, ghost, outer)
        for j in range(closure.iv, closure.iv + closure.nv):
            if not tree.driven[j]:
                a[j] = power(A, load_force(work.duals[j]))


@formula
def change_across(closure, ghost, bodies):
    """Difference of the changes (dw, dv) of child and parent, at the ghost's origin."""
    parent, child, x = bodies[closure.parent], bodies[closure.child], load(ghost.x)
    outer = shift_motion(Motion(load(child.dw), load(child.dv)), x - load(child.x))
    return outer - shift_motion(Motion(load(parent.dw), load(parent.dv)), x - load(parent.x))


@kernel
def react_closures(tree, work):
    """Reaction of every closure about its origin, world axes: its efforts and its multipliers."""
    first = len(tree.links)
    for k in range(len(tree.closures)):
        closure = tree.closures[k]
        W = effort_of(tree.driven, closure, work.tau, work.duals)
        for r in range(closure.first_row, closure.last_row):
            W = W + work.rows[r].multiplier * load_force(work.locks[r])
        store_force(work.wrenches[first + k], W)
