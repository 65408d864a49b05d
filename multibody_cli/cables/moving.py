"""Points of cables that move in their bodies, p(q) for a coordinate q of a joint, or that exist in a range of it.

Relative to the body, such a point has the velocity R p' dq/dt, so that a force f on it is the force f on the body, and
the generalized force f . R p' on the coordinate.  With the dual wrench D of the coordinate, for which D . V = dq/dt for
the twist V of the child relative to the parent of its joint, this is the wrench (f . R p') D on the child, and its
opposite on the parent: forces and motions of bodies alone, in any coordinates.

A conditional point is part of the cable while the coordinate is within a range.  The length jumps at an end of the
range unless the point is on the line between its neighbors there.

Source: Delp and Loan, Computers in Biology and Medicine 25 (1995); for the generalized force, Seth et al., PLOS Comp.
Biol. 14 (2018).
"""

from __future__ import annotations

import math

import numpy as np

from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import cross, dot, power, shift_force, shift_motion
from multibody_cli.spatial.values import Force, Motion, Vec3
from multibody_cli.symbolic.generated import call_on_arrays

JET = 9
"""Numbers of p, p' and p''."""

POINT_MOTION = np.dtype(
    [
        ("entry", "i8"),
        ("address", "i8"),  # of the generated code of p, p' and p'' in the joint frame; 0 for a point that is fixed
        ("iq", "i8"),
        ("iv", "i8"),
        ("first", "i8"),  # coordinates of the joint, in v
        ("last", "i8"),
        ("frame", "i8"),  # row of the joint frame of the child, or of the loop frame
        ("parent", "i8"),
        ("child", "i8"),
        ("lower", "f8"),  # range of the coordinate in which the point exists
        ("upper", "f8"),
        ("existed", "i8"),  # at the last `watch_points`, at this time
        ("time", "f8"),
        ("switched", "i8"),  # whether it appeared or vanished there
        ("exists", "i8"),  # as the following, at the last state
        ("value", "f8", (1,)),  # of the coordinate
        ("jet", "f8", (JET,)),
        ("rate", "f8"),
        ("t", "f8", 3),  # D about the origin of the frame, world axes
        ("f", "f8", 3),
    ]
)
"""The dependence of a point on a coordinate."""

AXIS = np.dtype([("t", "f8", 3), ("f", "f8", 3)])
"""One of an orthonormal basis of motions."""

DEPENDENT = 1e-9
"""Part of a column of the motion subspace outside the span of the others below which it has no dual wrench."""


@kernel
def place_points(points, q):
    """Compute positions and slopes of all points that move, and which conditional ones exist."""
    motions = points.motions
    for m in range(len(motions)):
        motion = motions[m]
        motion.value[0] = q[motion.iq]
        motion.exists = motion.lower <= motion.value[0] <= motion.upper
        if motion.address != 0:
            call_on_arrays(motion.address, (motion.value, motion.jet))
            for k in range(3):
                points.entries[motion.entry].point[k] = motion.jet[k]


@kernel
def update_points(points, q, v):
    """Compute positions, slopes and rates of all points that move, and which conditional ones exist."""
    place_points(points, q)
    motions = points.motions
    for m in range(len(motions)):
        motions[m].rate = v[motions[m].iv]


@kernel
def watch_points(points, t):
    """Note which conditional points appeared or vanished since the last time that was watched, unless it is later."""
    motions = points.motions
    for m in range(len(motions)):
        motion = motions[m]
        motion.switched = motion.time < t and motion.exists != motion.existed
        motion.existed, motion.time = motion.exists, t


@kernel
def switch_points(points, first, last):
    """Let the points of a cable that appeared or vanished do the opposite; return their number."""
    motions, count = points.motions, 0
    for m in range(len(motions)):
        motion = motions[m]
        if motion.switched and first <= motion.entry < last:
            motion.exists = 1 - motion.exists
            count += 1
    return count


@lazy_kernel
def write_dual_wrenches(points, columns):
    """Compute the dual wrenches of the coordinates of all points that move, from the motion subspaces."""
    motions, axes = points.motions, points.axes
    for m in range(len(motions)):
        motion, count = motions[m], 0
        for j in range(motion.first, motion.last):
            if j != motion.iv:
                S = load_column(columns[j])
                rest = across(axes, count, S)
                if norm(rest) > DEPENDENT * norm(S):
                    store_force(axes[count], (1.0 / norm(rest)) * rest)
                    count += 1
        S = load_column(columns[motion.iv])
        rest = across(axes, count, S)
        scale = 1.0 / inner(rest, rest) if norm(rest) > DEPENDENT * norm(S) else 0.0
        store_force(motion, scale * rest)


@formula
def load_column(column):
    """Return a column of the motion subspace as six numbers."""
    return Force(load(column.angular), load(column.linear))


@formula
def across(axes, count, S):
    """The part of S perpendicular to the first `count` axes, twice for round-off."""
    for _ in range(2):
        for k in range(count):
            e = load_force(axes[k])
            S = S - inner(S, e) * e
    return S


@formula
def inner(a, b):
    """Inner product of six numbers."""
    return dot(a.t, b.t) + dot(a.f, b.f)


@formula
def norm(a):
    """Norm of six numbers."""
    return math.sqrt(inner(a, a))


# --- a point ----------------------------------------------------------------------------------------------------------
@formula
def slope_of(motion, body):
    """R p', world axes."""
    return load(body.R) @ Vec3(motion.jet[3], motion.jet[4], motion.jet[5])


@formula
def slope_change_of(motion, body, turn, change):
    """Change of `slope_of` for the rotation `turn` of the body and a change of the coordinate."""
    return cross(turn, slope_of(motion, body)) + change * (
        load(body.R) @ Vec3(motion.jet[6], motion.jet[7], motion.jet[8])
    )


@formula
def coordinate_change(motion, bodies):
    """Displacement of the coordinate along the motion change of the bodies: D . V."""
    x, child, parent = load(bodies[motion.frame].x), bodies[motion.child], bodies[motion.parent]
    outer = shift_motion(Motion(load(child.dw), load(child.dv)), x - load(child.x))
    inner_motion = shift_motion(Motion(load(parent.dw), load(parent.dv)), x - load(parent.x))
    return power(outer - inner_motion, load_force(motion))


@formula
def at_body(motion, row, W, bodies):
    """Return a wrench at the origin of the joint about the origin of a body."""
    return shift_force(W, load(bodies[motion.frame].x) - load(bodies[row].x))
