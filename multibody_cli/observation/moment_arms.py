"""Moment arms of muscles: -dl/dq of the path length l for each joint coordinate, m/rad or m/m.

A moment arm is the generalized force of a unit tension: with S the column of the motion subspace about the origin of
the joint frame, and f_k = u_k - u_{k-1} the force on path point k, the arm is sum_k f_k . (S.v + S.w x r_k), summed
over the points that the joint moves.  A joint that moves all points of a path, or none, has no moment arm.

Source: Delp and Loan, Computers in Biology and Medicine 25 (1995); -dl/dq as in Sherman, Seth and Delp (2013).
"""

from __future__ import annotations

import numpy as np

from multibody_cli.forces.cable import lever_of, line_between
from multibody_cli.kernel import formula, kernel
from multibody_cli.model import KERNEL_GENERAL
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import ZERO, cross, dot
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.jacobian import column_of, write_ball_columns

ARM = np.dtype(
    [
        ("row", "i8"),  # of the joint frame to which the coordinate belongs
        ("iv", "i8"),
        ("begin", "i8"),  # points of the path
        ("end", "i8"),
        ("first", "i8"),  # the points that the joint carries, in a list
        ("last", "i8"),
    ]
)
"""One row per moment arm of a muscle about a coordinate of a joint that it crosses."""


@kernel
def observe(system, state, work, rows, samples, k):
    """Store the moment arm of every entry of `system.arms`."""
    tree, points, bodies, arms = system.tree, system.forces.points, work.bodies, system.arms
    carried = system.carried
    if len(arms) > 0:
        write_ball_columns(tree, work)
    for a in range(len(arms)):
        arm = arms[a]
        S, x = unit_rate_twist(tree, arm, work), load(bodies[arm.row].x)
        total = 0.0
        for place in range(arm.first, arm.last):
            point = carried[place]
            r = load(bodies[points[point].row].x) + lever_of(points[point], bodies) - x
            total += dot(unit_tension_force(points, point, arm.begin, arm.end, bodies), S.v + cross(S.w, r))
        samples.moment_arm[k, a] = total


@formula
def unit_rate_twist(tree, arm, work):
    """Twist of the child for a unit rate of a coordinate, about the origin of the joint frame, world axes."""
    if arm.row >= len(tree.links) and tree.closures[arm.row - len(tree.links)].joint_kernel != KERNEL_GENERAL:
        D = load_force(work.dual_basis[arm.iv])  # of one screw or ball it is parallel to S, and S . D = 1
        scale = 1.0 / (dot(D.t, D.t) + dot(D.f, D.f))
        return Motion(scale * D.t, scale * D.f)
    return column_of(work.columns[arm.iv])


@formula
def unit_tension_force(points, k, begin, end, bodies):
    """Force of a unit tension on point k of the cable with points `begin` to `end` - 1."""
    pull = ZERO
    if k > begin:
        u, _ = line_between(points[k - 1], points[k], bodies)
        pull = pull - points[k].factor * u
    if k < end - 1:
        u, _ = line_between(points[k], points[k + 1], bodies)
        pull = pull + points[k + 1].factor * u
    return pull
