"""Where the bodies of a tree are at given coordinates: poses alone, for iterates that are asked for nothing else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.joints.parts.generated import Shaping, shaping_for
from multibody_cli.joints.parts.screw import orientation_across
from multibody_cli.joints.parts.switch import FREE, cross_part
from multibody_cli.kernel import formula, kernel, records
from multibody_cli.model import WAY_BALL, WAY_GENERAL, Floats, Records, Tree
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.rotations import rotation_of_quaternion
from multibody_cli.spatial.values import Vec3
from multibody_cli.tree.workspace import BODY, COLUMN


class Crosser(NamedTuple):
    """What it takes to cross joints of many parts: a frame to move, columns that nobody reads, and rates of 0."""

    frame: Records  # (1,)
    columns: Records  # (n,)
    rest: Floats  # (n,)
    shaping: Shaping


def crosser_for(tree: Tree) -> Crosser:
    """Allocate for a tree."""
    n = len(tree.driven)
    return Crosser(records(np.zeros(1, BODY)), records(np.zeros(n, COLUMN)), np.zeros(n), shaping_for(tree.constants))


@kernel
def pose_all(tree, q, poses, crosser):
    """Position x and orientation R of every body into `poses`, of which the first is the ground."""
    links, parts = tree.links, tree.parts
    for i in range(1, len(links)):
        link, outer = links[i], poses[links[i].parent]
        if link.nv == 6 and link.parent == 0 and not link.tilted and parts[link.first_part].code == FREE:
            pose_free(link, poses[i], q)
        elif link.way == WAY_GENERAL:
            pose_general(link, parts, outer, poses[i], q, crosser)
        else:
            pose(link, outer, poses[i], q)


@formula
def pose(link, outer, own, q):
    """Pose of a body that hangs on one screw or one ball."""
    P = load(outer.R)
    x = load(outer.x) + P @ load(link.origin)
    if link.tilted:
        P = P @ load(link.frame)
    if link.way == WAY_BALL:
        k = link.iq
        store(own.R, P @ rotation_of_quaternion(q[k], q[k + 1], q[k + 2], q[k + 3]))
    else:
        store(own.R, orientation_across(link, P, q[link.iq]))
        if link.slides:
            x = x + q[link.iq] * (P @ load(link.slide))
    store(own.x, x)


@formula
def pose_free(link, own, q):
    """Pose of a body that moves freely in the axes of the world: its coordinates themselves."""
    k = link.iq
    store(own.x, load(link.origin) + Vec3(q[k], q[k + 1], q[k + 2]))
    store(own.R, rotation_of_quaternion(q[k + 3], q[k + 4], q[k + 5], q[k + 6]))


@kernel
def pose_general(link, parts, outer, own, q, crosser):
    """Pose of a body that hangs on any run of parts."""
    P, frame = load(outer.R), crosser.frame[0]
    store(frame.R, P @ load(link.frame))
    store(frame.x, load(outer.x) + P @ load(link.origin))
    for k in range(link.first_part, link.last_part):
        cross_part(parts[k], frame, q, crosser.rest, crosser.columns, crosser.shaping)
    store(own.R, load(frame.R))
    store(own.x, load(frame.x))
