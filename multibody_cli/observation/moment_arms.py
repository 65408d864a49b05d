"""Moment arms of muscles: -dl/dq of the path length l for each joint coordinate, m/rad or m/m.

A moment arm is the generalized force of a unit tension: with S the column of the motion subspace about the origin of
the joint frame, and f_k = u_k - u_{k-1} the force on path point k, the arm is sum_k f_k . (S.v + S.w x r_k), summed
over the points that the joint moves; a surface has a force at either end of its arc.  A point that moves in its body
with the coordinate adds f_k . R p'.  A joint that moves all points of a path, or none, has no moment arm.

Source: Delp and Loan, Computers in Biology and Medicine 25 (1995); -dl/dq as in Sherman, Seth and Delp (2013).
"""

from __future__ import annotations

import numpy as np

from multibody_cli.cables.lines import is_passed, line_to, moves, trace
from multibody_cli.cables.moving import slope_of
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, dot, no_force, power
from multibody_cli.spatial.values import Force
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


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store the moment arm of every entry of `system.arms`."""
    tree, points, bodies, arms = system.tree, system.forces.points, work.bodies, system.arms
    carried = system.carried
    if len(arms) > 0:
        write_ball_columns(tree, work)
    for a in range(len(arms)):
        arm = arms[a]
        trace(points, arm.begin, arm.end, bodies)
        S, x = column_of(work.columns[arm.iv]), load(bodies[arm.row].x)
        total = 0.0
        for place in range(arm.first, arm.last):
            if is_passed(points, carried[place]):
                total += power(S, unit_tension_wrench(points, carried[place], arm.begin, arm.end, bodies, x))
        if len(points.motions) > 0:
            total += arm_of_moving_points(points, arm, bodies, x)
        samples.moment_arm[k, a] = total


@kernel
def arm_of_moving_points(points, arm, bodies, x):
    """Generalized force of a unit tension on a coordinate by the points that move with it in their bodies."""
    entries, motions, total = points.entries, points.motions, 0.0
    for k in range(arm.begin, arm.end):
        if moves(points, entries[k]) and motions[entries[k].motion].iv == arm.iv and is_passed(points, k):
            pull = unit_tension_wrench(points, k, arm.begin, arm.end, bodies, x).f
            total += dot(pull, slope_of(motions[entries[k].motion], bodies[entries[k].row]))
    return total


@formula
def unit_tension_wrench(points, k, begin, end, bodies, x):
    """Wrench about x of a unit tension on entry k of the cable with the entries `begin` to `end` - 1."""
    entries, wrench, i, j = points.entries, no_force(), k - 1, k + 1
    while i > begin and not is_passed(points, i):
        i -= 1
    while j < end - 1 and not is_passed(points, j):
        j += 1
    origin = load(bodies[entries[k].row].x) - x
    if i >= begin:
        _, s, u, _ = line_to(points, i, k, bodies)
        pull = -entries[k].factor * u
        wrench = wrench + Force(cross(origin + s, pull), pull)
    if j < end:
        r, _, u, _ = line_to(points, k, j, bodies)
        pull = entries[j].factor * u
        wrench = wrench + Force(cross(origin + r, pull), pull)
    return wrench
