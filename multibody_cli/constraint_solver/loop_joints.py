"""Joints that close loops: their coordinates follow from the bodies, and their locked directions are rows.

With S the motion subspace of the joint, D its duals and T its locks, all at the ghost's origin,

    v = D . (V_child - V_parent)            rates of the coordinates
    0 = T . (V_child - V_parent - S_d v_d)  rows; v_d are rates that are prescribed

where V are the twists of the material points of both bodies at the origin of the loop frame
(`constraint_solver.loop_frames`).  The same holds for accelerations, less the acceleration of the loop frame at
constant rates.

Source: Sueda, notes 1.10 and 2.8 (loop closure), with the directions taken from S for every joint alike.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_frames import gap_of, motion_of
from multibody_cli.constraints.rows import write_level, write_wrench
from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.joints.parts.crossing import carried
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import (
    ZERO,
    power,
    shift_force,
    shift_motion,
)
from multibody_cli.spatial.values import Force, Motion


# --- rows ---------------------------------------------------------------------------------------------------------
@kernel
def write_closures(tree, v, work):
    """The rows of every closure."""
    closures, bodies, rows, terms = tree.closures, work.bodies, work.rows, work.terms
    for k in range(len(closures)):
        closure, ghost = closures[k], bodies[closures[k].ghost]
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
    closures, bodies = tree.closures, work.bodies
    for k in range(len(closures)):
        closure, ghost = closures[k], bodies[closures[k].ghost]
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
    closures, bodies, wrenches = tree.closures, work.bodies, work.wrenches
    for k in range(len(closures)):
        closure, ghost = closures[k], bodies[closures[k].ghost]
        W = effort_of(tree.driven, closure, x, work.duals)
        child, parent = wrenches[closure.child], wrenches[closure.parent]
        store_force(child, load_force(child) + shift_force(W, load(ghost.x) - load(bodies[closure.child].x)))
        store_force(parent, load_force(parent) - shift_force(W, load(ghost.x) - load(bodies[closure.parent].x)))


@kernel
def follow_closures(tree, y, work):
    """Rates y of the coordinates of closures, from the changes (dw, dv) of the bodies."""
    closures, bodies = tree.closures, work.bodies
    for k in range(len(closures)):
        closure, ghost = closures[k], bodies[closures[k].ghost]
        change = change_across(closure, ghost, bodies)
        for j in range(closure.iv, closure.iv + closure.nv):
            y[j] = 0.0 if tree.driven[j] else power(change, load_force(work.duals[j]))


@kernel
def accelerate_closures(tree, a, work):
    """dv/dt of the free coordinates of closures, from the accelerations of the bodies."""
    closures, bodies = tree.closures, work.bodies
    for k in range(len(closures)):
        closure, ghost = closures[k], bodies[closures[k].ghost]
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
    for k in range(len(tree.closures)):
        closure = tree.closures[k]
        W = effort_of(tree.driven, closure, work.tau, work.duals)
        for r in range(closure.first_row, closure.last_row):
            W = W + work.rows[r].multiplier * load_force(work.locks[r])
        store_force(work.wrenches[closure.ghost], W)
