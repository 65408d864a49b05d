"""Maximal-coordinate joints: joint constraints whose errors follow from the poses of two bodies alone.

Such a joint is fixed, spherical, or has one screw part that rotates or slides, without a prescribed motion.  With the
frame F at x_F in the parent and the frame M at x_M in the child, a constraint axis T, of moment t and force f, has the
error

    g = t . h + f . (x_M - x_F)

    rotating       h = a_F x a_M                          a_F, a_M: the axis, as carried by either body
    spherical      h = 0                                  no rotation is constrained
    non-rotating   h = (x x x' + y x y' + z x z') / 2     axis times sine of the rotation from F (x, y, z) to M

Constraint axes are constant in one of the bodies: in the parent of a non-rotating joint, else in the child.  The
derivative of g with respect to twists is T at the origin of the other body's frame, on the child, and -T there, on the
parent.  It is exact for the part of f; for the part of t it is exact where h = 0.  At a closed joint errors and
derivatives are those of the rows of `constraint_solver.loop_joints`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.joints.contract import PartCode
from multibody_cli.kernel import formula, kernel, records
from multibody_cli.model import CONSTRAINT_AXIS, Floats, Records, System, Tree
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import ZERO, cross, dot, transposed_times
from multibody_cli.spatial.values import Force

NON_ROTATING, ROTATING, BALL = range(3)

MAXIMAL_JOINT = np.dtype(
    [
        ("kind", "i8"),
        ("closure", "i8"),
        ("parent", "i8"),
        ("child", "i8"),
        ("first_row", "i8"),  # in the rows and in the constraint axes
        ("last_row", "i8"),
        ("origin", "f8", 3),  # of F in the parent's joint frame
        ("frame", "f8", 9),  # F there; for a rotating joint its axis only
        ("child_origin", "f8", 3),  # of M in the child's joint frame
        ("child_frame", "f8", 9),
    ]
)


class MaximalJoints(NamedTuple):
    """The maximal-coordinate joints of a tree.

    `constraint_axes` holds those of all loop joints, in the axes of the body that carries them.
    """

    table: Records
    constraint_axes: Records
    coordinates: NDArray[np.bool_]  # (nv,) whether it belongs to one of them


def maximal_joints_for(system: System) -> MaximalJoints:
    """Collect the maximal-coordinate joints of a system of rigid bodies whose coordinates no row and no brake reads."""
    tree = system.tree
    row_coordinates = system.constraints.coordinates
    if system.contacts:
        table = system.contacts.joint_friction
        row_coordinates.update(table.patches["dual"].tolist(), table.brake_terms["dual"].tolist())
        for brake in table.brakes:
            inside = range(brake["first_point"], brake["last_point"])
            row_coordinates.update(int(one["iv"]) for one in system.forces.points.motions if one["entry"] in inside)
    rigid = len(tree.inboard_joints) == len(tree.links) and bool(np.all(tree.links["nv"][1:] == 6))
    table, coordinates = [], np.zeros_like(tree.driven)
    constraint_axes = np.zeros(len(tree.constraint_axes), CONSTRAINT_AXIS)
    for k, closure in enumerate(tree.closures):
        first, last = int(closure["iv"]), int(closure["iv"] + closure["nv"])
        kind = maximal_joint_kind(tree, closure) if rigid and row_coordinates.isdisjoint(range(first, last)) else None
        if kind is None:
            continue
        coordinates[first:last] = True
        frame, child_frame = closure["frame"].reshape(3, 3), closure["child_frame"].reshape(3, 3)  # by columns
        carrier = frame if kind == NON_ROTATING else child_frame
        rows = slice(closure["first_row"], closure["last_row"])
        for name in ("t", "f"):
            constraint_axes[name][rows] = tree.constraint_axes[name][rows] @ carrier
        maximal_joint = np.zeros(1, MAXIMAL_JOINT)[0]
        for name in ("parent", "child", "first_row", "last_row", "origin", "child_origin"):
            maximal_joint[name] = closure[name]
        maximal_joint["kind"], maximal_joint["closure"] = kind, k
        maximal_joint["frame"] = maximal_joint_axes(tree, closure, kind, frame)
        maximal_joint["child_frame"] = maximal_joint_axes(tree, closure, kind, child_frame)
        table.append(maximal_joint)
    return MaximalJoints(records(np.array(table, MAXIMAL_JOINT)), records(constraint_axes), coordinates)


def maximal_joint_kind(tree: Tree, closure: np.void) -> int | None:
    """Return the kind of maximal-coordinate joint of a closure; None for any other joint."""
    parts = tree.parts[closure["first_part"] : closure["last_part"]]
    if (
        closure["last_constant_row"] < closure["last_row"]
        or len(parts) > 1
        or np.any(tree.driven[closure["iv"] : closure["iv"] + closure["nv"]])
    ):
        return None
    if len(parts) == 0:
        return NON_ROTATING
    part = parts[0]
    if part["code"] == PartCode.BALL:
        return BALL
    if part["code"] != PartCode.SCREW or (part["turn"].any() and part["slide"].any()):
        return None
    return ROTATING if part["turn"].any() else NON_ROTATING


def maximal_joint_axes(tree: Tree, closure: np.void, kind: int, frame: Floats) -> Floats:
    """Return the axes of a joint frame, by columns (9,): all three, or that of a rotating joint only."""
    if kind != ROTATING:
        return frame.ravel()
    axis = tree.parts[closure["first_part"]]["turn"] @ frame
    return np.concatenate([axis, np.zeros(6)])


# --- errors -------------------------------------------------------------------------------------------------------
@formula
def rotation_error(maximal_joint, P, C):
    """Return the rotation error h, world frame."""
    if maximal_joint.kind == BALL:
        return ZERO
    F, M = load(maximal_joint.frame), load(maximal_joint.child_frame)
    if maximal_joint.kind == ROTATING:
        return cross(P @ F.x, C @ M.x)
    return 0.5 * (cross(P @ F.x, C @ M.x) + cross(P @ F.y, C @ M.y) + cross(P @ F.z, C @ M.z))


@kernel
def write_maximal_joint_errors(maximal_joints, poses, row_states):
    """Compute the errors of the rows of all maximal-coordinate joints at poses of the bodies."""
    table, constraint_axes = maximal_joints.table, maximal_joints.constraint_axes
    for k in range(len(table)):
        maximal_joint = table[k]
        parent, child = poses[maximal_joint.parent], poses[maximal_joint.child]
        P, C = load(parent.R), load(child.R)
        d = load(child.x) + C @ load(maximal_joint.child_origin) - load(parent.x) - P @ load(maximal_joint.origin)
        h = rotation_error(maximal_joint, P, C)
        if maximal_joint.kind == NON_ROTATING:
            h, d = transposed_times(P, h), transposed_times(P, d)
        else:
            h, d = transposed_times(C, h), transposed_times(C, d)
        for r in range(maximal_joint.first_row, maximal_joint.last_row):
            T = load_force(constraint_axes[r])
            row_states[r].error = dot(T.t, h) + dot(T.f, d)


# --- derivatives --------------------------------------------------------------------------------------------------
@formula
def joint_lever_arms(maximal_joint, parent, child):
    """Return the orientation R of the body that carries the constraint axes, and two lever arms.

    The lever arms lead from the child and from the parent to the frame of the other body.
    """
    P, C = load(parent.R), load(child.R)
    displacement = load(child.x) - load(parent.x)
    if maximal_joint.kind == NON_ROTATING:
        arm = C @ load(maximal_joint.child_origin)
        return P, arm, arm + displacement
    arm = P @ load(maximal_joint.origin)
    return C, arm - displacement, arm


@formula
def rotated_constraint_axis(R, constraint_axis):
    """Return a constraint axis in world axes."""
    return Force(R @ load(constraint_axis.t), R @ load(constraint_axis.f))
