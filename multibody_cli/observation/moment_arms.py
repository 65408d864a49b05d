"""Moment arms of muscles: how much shorter the path gets for each unit of a joint coordinate, -dl/dq, m/rad or m/m.

They are the generalized forces of a unit tension: with S the direction of a coordinate, about the origin of its joint
frame, and f_k = u_k - u_{k-1} the pull on the points that the joint carries, the arm is sum_k f_k . (S.v + S.w x r_k).
A joint that carries all points of a path, or none, has none.

Source: Delp and Loan, Computers in Biology and Medicine 25 (1995); -dl/dq as in Sherman, Seth and Delp (2013).
"""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_frames import motion_of
from multibody_cli.forces.cable import lever_of, line_between
from multibody_cli.kernel import formula, kernel
from multibody_cli.model import WAY_GENERAL
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import ZERO, cross, dot
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.jacobian import complete_columns


@kernel
def find_arms(system, work, found):
    """Arm of every entry of `system.arms`, into `found`."""
    tree, points, bodies, arms = system.tree, system.forces.points, work.bodies, system.arms
    carried = system.carried
    if len(arms) > 0:
        complete_columns(tree, work)
    for a in range(len(arms)):
        arm = arms[a]
        S, x = direction_of(tree, arm, work), load(bodies[arm.row].x)
        total = 0.0
        for k in range(arm.first, arm.last):
            point = carried[k]
            r = load(bodies[points[point].row].x) + lever_of(points[point], bodies) - x
            total += dot(pull_at(points, point, arm.begin, arm.end, bodies), S.v + cross(S.w, r))
        found[a] = total


@formula
def direction_of(tree, arm, work):
    """How a unit rate of a coordinate moves what the joint carries, about the origin of the joint frame."""
    if arm.row >= len(tree.links) and tree.closures[arm.row - len(tree.links)].way != WAY_GENERAL:
        D = load_force(work.duals[arm.iv])  # of one screw or ball it is parallel to S, and S . D = 1
        scale = 1.0 / (dot(D.t, D.t) + dot(D.f, D.f))
        return Motion(scale * D.t, scale * D.f)
    return motion_of(work.columns[arm.iv])


@formula
def pull_at(points, k, begin, end, bodies):
    """What a unit tension does at a point of the cable whose points are those from `begin` up to `end`."""
    pull = ZERO
    if k > begin:
        u, _ = line_between(points[k - 1], points[k], bodies)
        pull = pull - u
    if k < end - 1:
        u, _ = line_between(points[k], points[k + 1], bodies)
        pull = pull + u
    return pull
