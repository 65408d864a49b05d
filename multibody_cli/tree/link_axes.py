"""Articulated-body algorithm in link axes, on numbers: forward dynamics of a tree in O(n).

The numeric form of the recursion in `codegen.recursion`, for joints whose (R, p), S and bias are known.  All quantities
of a link are in the axes of its joint frame, about its origin; (R, p) leads to the axes of the parent.  The linear part
of an acceleration is that of the origin itself.

    outward   bias motion, and its inertial wrench            (18)-(23)
    inward    articulated inertia and bias wrench             (24)-(33)
    outward   accelerations                                   (34), (35)

Source: Si and Guenter, (18)-(35), Method II.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.joints.parts.crossing import point_acceleration
from multibody_cli.kernel import formula, kernel
from multibody_cli.model import Records, Tree
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import (
    ZERO,
    cross,
    isotropic,
    no_force,
    no_inertia,
    rotated_inertia,
    shift_force,
    shift_inertia,
    shift_motion,
    skew,
    transposed_times,
)
from multibody_cli.spatial.values import Force, Inertia, Motion
from multibody_cli.tree.articulated_body import (
    accelerate_column,
    add_child_inertia,
    add_column_motion,
    eliminate_column,
    impulse_past_column,
    load_child_inertia,
    load_motion_change,
    store_child_inertia,
    store_motion_change,
)
from multibody_cli.tree.jacobian import column_of
from multibody_cli.tree.workspace import COLUMN

JOINT = np.dtype(
    [
        (name, "f8", size)
        for name, size in {
            "R": 9,  # from the axes of the joint frame to those of the parent's
            "p": 3,  # the origin, from that of the parent, in the axes of the parent's
            "bias_w": 3,  # (dS/dt) v
            "bias_v": 3,
            "J": 6,  # inertia of the link about the origin, constant
            "h": 3,  # mass times the vector to the centre of mass, constant
            "w": 3,  # motion, if every free dv/dt were 0: angular velocity and acceleration, acceleration of the origin
            "alpha": 3,
            "a": 3,
            "t": 3,  # inertial wrench of this motion, less the applied wrench
            "f": 3,
            "dw": 3,  # change of alpha and a due to dv/dt
            "dv": 3,
        }.items()
    ]
)
"""A joint and its outboard link; the leading numbers are written by generated code."""

JOINT_WIDTH, COLUMN_WIDTH = JOINT.itemsize // 8, COLUMN.itemsize // 8
"""Numbers of a record."""


def write_constant_inertias(tree: Tree, joints: Records) -> None:
    """Write the constant inertias, and gravity as an upward acceleration of the ground."""
    mass, c = tree.links["mass"], tree.links["com"]
    joints["h"] = mass[:, None] * c
    products = np.einsum("i,ij,ik->ijk", mass, c, c)
    about = np.trace(products, axis1=1, axis2=2)[:, None, None] * np.eye(3) - products
    row, column = np.triu_indices(3)
    joints["J"] = tree.links["central"] + about[:, row, column]
    joints["a"][0] = -tree.gravity


# --- outward: bias motion -----------------------------------------------------------------------------------------
@kernel
def bias_motion_pass(tree, joints, columns, v):
    """Outward pass: bias motion of every link and its inertial wrench, without prescribed coordinates."""
    links = tree.links
    for i in range(1, len(links)):
        link, joint, parent = links[i], joints[i], joints[links[i].parent]
        R, w0, alpha0 = load(joint.R), load(parent.w), load(parent.alpha)
        w = transposed_times(R, w0)
        twist = Motion(ZERO, ZERO)
        for j in range(link.iv, link.iv + link.nv):
            twist = twist + v[j] * column_of(columns[j])
        there = transposed_times(R, point_acceleration(load(parent.a), alpha0, w0, load(joint.p)))
        store(joint.w, w + twist.w)
        store(joint.alpha, transposed_times(R, alpha0) + cross(w, twist.w) + load(joint.bias_w))
        store(joint.a, there + cross(2.0 * w + twist.w, twist.v) + load(joint.bias_v))
        store_force(joint, inertial_wrench(link, joint))


@formula
def inertial_wrench(link, joint):
    """Inertial wrench of the motion of a link, about its origin."""
    J, h, w, alpha, a = load(joint.J), load(joint.h), load(joint.w), load(joint.alpha), load(joint.a)
    return Force(J @ alpha + cross(w, J @ w) + cross(h, a), link.mass * a + cross(alpha, h) + cross(w, cross(w, h)))


# --- inward: articulated inertias and bias wrenches ---------------------------------------------------------------
@kernel
def inward_pass(tree, joints, columns, child_inertias, tau, armature):
    """Inward pass: eliminate every coordinate, from the leaves to the ground."""
    links, driven = tree.links, tree.driven
    for i in range(len(links)):
        store_child_inertia(child_inertias[i], no_inertia(), no_force())
    for i in range(len(links) - 1, 0, -1):
        link, joint = links[i], joints[i]
        A, p = load_child_inertia(child_inertias[i])
        A = A + Inertia(load(joint.J), skew(load(joint.h)), isotropic(link.mass))
        p = p + load_force(joint)
        for j in range(link.iv, link.iv + link.nv):
            if not driven[j]:
                A, p = eliminate_column(columns[j], A, p, tau[j], armature[j])
        add_child_inertia(child_inertias[link.parent], inertia_to_parent(joint, A), force_to_parent(joint, p))


@formula
def inertia_to_parent(joint, A):
    """Transform an articulated inertia to the frame of the parent."""
    return shift_inertia(rotated_inertia(load(joint.R), A), load(joint.p))


@formula
def force_to_parent(joint, p):
    """Transform a wrench to the frame of the parent."""
    R = load(joint.R)
    return shift_force(Force(R @ p.t, R @ p.f), load(joint.p))


# --- outward: accelerations ---------------------------------------------------------------------------------------
@kernel
def outward_pass(tree, joints, columns, a):
    """Outward pass: dv/dt of every free coordinate into `a` (nv,), and the change of acceleration of every link."""
    links, driven = tree.links, tree.driven
    for i in range(1, len(links)):
        link, joint = links[i], joints[i]
        R, there = load(joint.R), shift_motion(load_motion_change(joints[link.parent]), load(joint.p))
        da = Motion(transposed_times(R, there.w), transposed_times(R, there.v))
        for j in range(link.iv + link.nv - 1, link.iv - 1, -1):
            if not driven[j]:
                a[j] = accelerate_column(columns[j], da)
                da = add_column_motion(da, columns[j], a[j])
        store_motion_change(joint, da)


# --- the inverse mass matrix, applied -----------------------------------------------------------------------------
@kernel
def inward_impulse_pass(tree, joints, columns, child_inertias, x):
    """Inward pass for impulses x (nv,) on coordinates and the wrenches stored at the links; the factors are kept."""
    links, driven = tree.links, tree.driven
    for i in range(len(links)):
        store_force(child_inertias[i], no_force())
    for i in range(len(links) - 1, 0, -1):
        link, joint = links[i], joints[i]
        p = load_force(child_inertias[i]) + load_force(joint)
        for j in range(link.iv, link.iv + link.nv):
            if not driven[j]:
                p = impulse_past_column(columns[j], p, x[j])
        inner = child_inertias[link.parent]
        store_force(inner, load_force(inner) + force_to_parent(joint, p))
