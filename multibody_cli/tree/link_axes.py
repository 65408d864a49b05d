"""Articulated bodies in the axes of their joints, with numbers: forward dynamics of a tree in O(n).

The recursion that `codegen.recursion` has as formulas, for joints of which (R, p), S and the bias were
found before.  Everything of a link is in the axes of its joint frame, about the origin of that; (R, p) leads to the
axes of its parent's.  The linear part of an acceleration is that of the origin itself.

    outward   bias motion, and the wrench that it takes       (18)-(23)
    inward    articulated inertia and bias wrench             (24)-(33)
    outward   accelerations                                   (34), (35)

Source: Si and Guenter, (18)-(35), Method II.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.joints.parts.crossing import carried
from multibody_cli.kernel import formula, kernel
from multibody_cli.model import Records, Tree
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import (
    ZERO,
    cross,
    isotropic,
    no_force,
    no_inertia,
    shift_force,
    shift_inertia,
    shift_motion,
    skew,
    transposed_times,
    turned_inertia,
)
from multibody_cli.spatial.values import Force, Inertia, Motion
from multibody_cli.tree.articulated_body import (
    add_to_inbox,
    change_of,
    eliminate_column,
    fill_inbox,
    impulse_past_column,
    inbox_of,
    keep_change,
    moved,
    respond_column,
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
            "t": 3,  # wrench that this takes, less what pushes the link
            "f": 3,
            "dw": 3,  # what the coordinates add to alpha and a
            "dv": 3,
        }.items()
    ]
)
"""A joint and the link behind it; the first numbers are those that generated code writes."""

JOINT_WIDTH, COLUMN_WIDTH = JOINT.itemsize // 8, COLUMN.itemsize // 8
"""Numbers of a record."""


def inertias_in(tree: Tree, joints: Records) -> None:
    """Write what is constant: inertias, and a ground that rises."""
    mass, c = tree.links["mass"], tree.links["com"]
    joints["h"] = mass[:, None] * c
    products = np.einsum("i,ij,ik->ijk", mass, c, c)
    about = np.trace(products, axis1=1, axis2=2)[:, None, None] * np.eye(3) - products
    row, column = np.triu_indices(3)
    joints["J"] = tree.links["central"] + about[:, row, column]
    joints["a"][0] = -tree.gravity


# --- outward: bias motion -----------------------------------------------------------------------------------------
@kernel
def move_all(tree, joints, columns, v):
    """The motion of every link and the wrench that it takes, where no coordinate is prescribed."""
    links = tree.links
    for i in range(1, len(links)):
        link, joint, parent = links[i], joints[i], joints[links[i].parent]
        R, w0, alpha0 = load(joint.R), load(parent.w), load(parent.alpha)
        w = transposed_times(R, w0)
        twist = Motion(ZERO, ZERO)
        for j in range(link.iv, link.iv + link.nv):
            twist = twist + v[j] * column_of(columns[j])
        there = transposed_times(R, carried(load(parent.a), alpha0, w0, load(joint.p)))
        store(joint.w, w + twist.w)
        store(joint.alpha, transposed_times(R, alpha0) + cross(w, twist.w) + load(joint.bias_w))
        store(joint.a, there + cross(2.0 * w + twist.w, twist.v) + load(joint.bias_v))
        store_force(joint, inertial_wrench(link, joint))


@formula
def inertial_wrench(link, joint):
    """The wrench that the motion of a link takes, about its origin."""
    J, h, w, alpha, a = load(joint.J), load(joint.h), load(joint.w), load(joint.alpha), load(joint.a)
    return Force(J @ alpha + cross(w, J @ w) + cross(h, a), link.mass * a + cross(alpha, h) + cross(w, cross(w, h)))


# --- inward: articulated inertias and bias wrenches ---------------------------------------------------------------
@kernel
def gather(tree, joints, columns, inboxes, tau, armature):
    """Eliminate every coordinate, from the leaves to the ground."""
    links, driven = tree.links, tree.driven
    for i in range(len(links)):
        fill_inbox(inboxes[i], no_inertia(), no_force())
    for i in range(len(links) - 1, 0, -1):
        link, joint = links[i], joints[i]
        A, p = inbox_of(inboxes[i])
        A = A + Inertia(load(joint.J), skew(load(joint.h)), isotropic(link.mass))
        p = p + load_force(joint)
        for j in range(link.iv, link.iv + link.nv):
            if not driven[j]:
                A, p = eliminate_column(columns[j], A, p, tau[j], armature[j])
        add_to_inbox(inboxes[link.parent], inertia_to_inner(joint, A), force_to_inner(joint, p))


@formula
def inertia_to_inner(joint, A):
    """An articulated inertia, as the parent feels it."""
    return shift_inertia(turned_inertia(load(joint.R), A), load(joint.p))


@formula
def force_to_inner(joint, p):
    """A wrench, as the parent feels it."""
    R = load(joint.R)
    return shift_force(Force(R @ p.t, R @ p.f), load(joint.p))


# --- outward: accelerations ---------------------------------------------------------------------------------------
@kernel
def respond_all(tree, joints, columns, a):
    """dv/dt of every free coordinate into `a` (nv,), and what these add to the acceleration of every link."""
    links, driven = tree.links, tree.driven
    for i in range(1, len(links)):
        link, joint = links[i], joints[i]
        R, there = load(joint.R), shift_motion(change_of(joints[link.parent]), load(joint.p))
        da = Motion(transposed_times(R, there.w), transposed_times(R, there.v))
        for j in range(link.iv + link.nv - 1, link.iv - 1, -1):
            if not driven[j]:
                a[j] = respond_column(columns[j], da)
                da = moved(da, columns[j], a[j])
        keep_change(joint, da)


# --- the inverse mass matrix, applied -----------------------------------------------------------------------------
@kernel
def gather_impulses(tree, joints, columns, inboxes, x):
    """Hand impulses x (nv,) on coordinates, and those that lie at the links as wrenches, inward; factors are kept."""
    links, driven = tree.links, tree.driven
    for i in range(len(links)):
        store_force(inboxes[i], no_force())
    for i in range(len(links) - 1, 0, -1):
        link, joint = links[i], joints[i]
        p = load_force(inboxes[i]) + load_force(joint)
        for j in range(link.iv, link.iv + link.nv):
            if not driven[j]:
                p = impulse_past_column(columns[j], p, x[j])
        inner = inboxes[link.parent]
        store_force(inner, load_force(inner) + force_to_inner(joint, p))
