"""Poses of the bodies and constraint errors at the iterate.

Velocities and inertias are not needed there, nor the coordinates of maximal-coordinate joints.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_frames import update_loop_frames
from multibody_cli.constraint_solver.loop_joints import write_loop_rows
from multibody_cli.constraints.elements import write_all
from multibody_cli.constraints.reduction import update_dependent_coordinates
from multibody_cli.joints.directions import orthonormalize, store_row, write_axes
from multibody_cli.joints.motion import prescribe
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.tree.markers import update_markers
from multibody_cli.variational.maximal_joints import write_maximal_joint_errors
from multibody_cli.variational.poses import compute_poses


@kernel
def evaluate_iterate_constrained(system, work, step, t):
    """Compute the poses of the bodies and the errors of the constraint rows at the iterate."""
    constrained, discrete_motions = step.constrained, step.discrete_motions
    prescribe(system.motions, t, step.q, constrained.v, constrained.a)
    update_dependent_coordinates(system.reductions, step.q, constrained.v)
    compute_poses(system.tree, step.q, discrete_motions, step.pose_work)
    write_maximal_joint_errors(constrained.maximal_joints, discrete_motions, constrained.errors)
    if len(constrained.tree.closures) > 0 or len(system.rows) > len(system.tree.constraint_axes):
        write_remaining_rows(system, work, constrained, t, step.q, discrete_motions)


@kernel
def write_remaining_rows(system, work, constrained, t, q, discrete_motions):
    """Write the rows that maximal-coordinate joints do not provide, at the poses of the iterate and zero velocity."""
    bodies, rows, closures = constrained.work.bodies, constrained.work.rows, constrained.tree.closures
    for i in range(1, len(discrete_motions)):
        store(bodies[i].x, load(discrete_motions[i].x))
        store(bodies[i].R, load(discrete_motions[i].R))
    update_markers(system.tree, bodies)
    update_loop_frames(constrained.tree, q, constrained.v, constrained.a, constrained.work)
    for k in range(len(closures)):
        if not (closures[k].constant_axes or closures[k].one_plane):
            track_constraint_axes(constrained.tree, closures[k], work.constraint_axes, constrained.work)
    write_loop_rows(constrained.tree, constrained.v, constrained.work)
    write_all(system.constraints, t, bodies, q, rows, constrained.work.terms)
    for k in range(len(closures)):
        store_errors(rows, closures[k].first_row, closures[k].last_row, constrained.errors)
    store_errors(rows, len(constrained.work.constraint_axes), len(rows), constrained.errors)


@formula
def store_errors(rows, first, last, errors):
    """Copy the errors of the rows from `first` to `last`."""
    for r in range(first, last):
        errors[r] = rows[r].error


@kernel
def track_constraint_axes(tree, closure, before, work):
    """Choose the constraint axes of a joint that are closest to those at the start, in the same order.

    Start and end axes are eliminated in pairs, without pivoting.
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
        store_row(work.constraint_axes[r], basis[k - 1])
