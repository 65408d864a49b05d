"""Poses of the bodies of a tree at given coordinates, without velocities.

Source: Lee, Liu, Park and Srinivasa 2016, (18) and Alg. 2, line 2: the outward pass of DRNEA.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.joints.parts.generated import GeneratedBuffers
from multibody_cli.joints.parts.screw import orientation_across
from multibody_cli.joints.parts.switch import FREE, cross_part
from multibody_cli.kernel import allocate, formula, kernel, records
from multibody_cli.model import KERNEL_BALL, KERNEL_GENERAL, Floats, Records, Tree
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.rotations import rotation_of_quaternion
from multibody_cli.spatial.values import Vec3
from multibody_cli.tree.workspace import BODY, COLUMN


class PoseWorkspace(NamedTuple):
    """Work arrays for joints of several parts: a frame, columns that are not read, and zero rates."""

    frame: Records  # (1,)
    columns: Records  # (n,)
    rest: Floats  # (n,)
    generated_buffers: GeneratedBuffers


def pose_workspace_for(tree: Tree) -> PoseWorkspace:
    """Allocate the work arrays for a tree."""
    n = len(tree.driven)
    buffers = allocate(GeneratedBuffers, constants=tree.constants)
    return PoseWorkspace(records(np.zeros(1, BODY)), records(np.zeros(n, COLUMN)), np.zeros(n), buffers)


@kernel
def compute_poses(tree, q, poses, pose_work):
    """Compute position x and orientation R of every body into `poses`; row 0 is the ground."""
    links, parts = tree.links, tree.parts
    for i in range(1, len(links)):
        link, parent = links[i], poses[links[i].parent]
        if link.nv == 6 and link.parent == 0 and not link.frame_is_rotated and parts[link.first_part].code == FREE:
            pose_of_free_body(link, poses[i], q)
        elif link.joint_kernel == KERNEL_GENERAL:
            pose_general(link, parts, parent, poses[i], q, pose_work)
        else:
            pose(link, parent, poses[i], q)


@formula
def pose(link, parent, body, q):
    """Compute the pose of a body whose joint has one screw or one ball."""
    P = load(parent.R)
    x = load(parent.x) + P @ load(link.origin)
    if link.frame_is_rotated:
        P = P @ load(link.frame)
    if link.joint_kernel == KERNEL_BALL:
        k = link.iq
        store(body.R, P @ rotation_of_quaternion(q[k], q[k + 1], q[k + 2], q[k + 3]))
    else:
        store(body.R, orientation_across(link, P, q[link.iq]))
        if link.slides:
            x = x + q[link.iq] * (P @ load(link.slide))
    store(body.x, x)


@formula
def pose_of_free_body(link, body, q):
    """Compute the pose of a free body from its coordinates, in world axes."""
    k = link.iq
    store(body.x, load(link.origin) + Vec3(q[k], q[k + 1], q[k + 2]))
    store(body.R, rotation_of_quaternion(q[k + 3], q[k + 4], q[k + 5], q[k + 6]))


@kernel
def pose_general(link, parts, parent, body, q, pose_work):
    """Compute the pose of a body whose joint has any sequence of parts."""
    P, frame = load(parent.R), pose_work.frame[0]
    store(frame.R, P @ load(link.frame))
    store(frame.x, load(parent.x) + P @ load(link.origin))
    for k in range(link.first_part, link.last_part):
        cross_part(parts[k], frame, q, pose_work.rest, pose_work.columns, pose_work.generated_buffers)
    store(body.R, load(frame.R))
    store(body.x, load(frame.x))
