"""The end of a step that is being looked for: poses of the bodies there, and errors of the rows.

Nothing else is asked for on the way: no velocities, no inertias, and of bonds not even coordinates.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_frames import place_closures
from multibody_cli.constraint_solver.loop_joints import write_closures
from multibody_cli.constraints.elements import write_all
from multibody_cli.constraints.reduction import follow
from multibody_cli.joints.directions import orthonormalize, store_row, write_axes
from multibody_cli.joints.motion import prescribe
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.tree.markers import place_markers
from multibody_cli.variational.maximal_joints import write_errors
from multibody_cli.variational.poses import pose_all


@kernel
def look_held(system, work, ahead, t):
    """Place the bodies at the coordinates ahead, and find the errors of the rows there."""
    held, strides = ahead.held, ahead.strides
    prescribe(system.motions, t, ahead.q, held.v, held.a)
    follow(system.reductions, ahead.q, held.v)
    pose_all(system.tree, ahead.q, strides, ahead.crosser)
    write_errors(held.bonds, strides, held.errors)
    if len(held.tree.closures) > 0 or len(system.rows) > len(system.tree.locks):
        place_others(system, work, held, t, ahead.q, strides)


@kernel
def place_others(system, work, held, t, q, strides):
    """Write the rows that are not of bonds, terms included, at the poses ahead, for bodies that rest there."""
    bodies, rows, closures = held.work.bodies, held.work.rows, held.tree.closures
    for i in range(1, len(strides)):
        store(bodies[i].x, load(strides[i].x))
        store(bodies[i].R, load(strides[i].R))
    place_markers(system.tree, bodies)
    place_closures(held.tree, q, held.v, held.a, held.work)
    for k in range(len(closures)):
        if not (closures[k].steady or closures[k].one_plane):
            follow_locks(held.tree, closures[k], work.locks, held.work)
    write_closures(held.tree, held.v, held.work)
    write_all(system.constraints, t, bodies, q, rows, held.work.terms)
    for k in range(len(closures)):
        keep_errors(rows, closures[k].first_row, closures[k].last_row, held.errors)
    keep_errors(rows, len(held.work.locks), len(rows), held.errors)


@formula
def keep_errors(rows, first, last, errors):
    """Keep the errors of some rows."""
    for r in range(first, last):
        errors[r] = rows[r].error


@kernel
def follow_locks(tree, closure, before, work):
    """Take for the locks of a joint those that are nearest to what they were at the start, in the same order.

    Their pairs, at the start and at the end, are eliminated one after the other, without a choice of pivots.
    """
    basis, k = work.basis, 0
    for j in range(closure.iv, closure.iv + closure.nv):
        if not tree.driven[j]:
            write_axes(basis[k], load(work.columns[j].angular))
            write_axes(basis[k, 3:], load(work.columns[j].linear))
            k += orthonormalize(basis, k)
    for r in range(closure.first_row, closure.last_row):
        write_axes(basis[k], load(before[r].t))
        write_axes(basis[k, 3:], load(before[r].f))
        k += orthonormalize(basis, k)
        store_row(work.locks[r], basis[k - 1])
