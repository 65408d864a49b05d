"""Where the bodies of a tree are at given coordinates: poses alone, for iterates that are asked for nothing else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.dynamics.workspace import BODY, COLUMN
from multibody_cli.joints.parts.screw import orientation_across
from multibody_cli.joints.parts.switch import cross_part
from multibody_cli.kernel import formula, kernel, records
from multibody_cli.model import WAY_BALL, WAY_GENERAL, Floats, Records
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.rotations import rotation_of_quaternion


class Crosser(NamedTuple):
    """What it takes to cross joints of many parts: a frame to move, columns that nobody reads, and rates of 0."""

    frame: Records  # (1,)
    columns: Records  # (n,)
    rest: Floats  # (n,)


def crosser_for(n: int) -> Crosser:
    """Allocate for n velocities."""
    return Crosser(records(np.zeros(1, BODY)), records(np.zeros(n, COLUMN)), np.zeros(n))


@kernel
def pose_all(tree, q, poses, crosser):
    """Position x and orientation R of every body into `poses`, of which the first is the ground."""
    links = tree.links
    for i in range(1, len(links)):
        link, outer = links[i], poses[links[i].parent]
        if link.way == WAY_GENERAL:
            pose_general(link, tree.parts, outer, poses[i], q, crosser)
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


@kernel
def pose_general(link, parts, outer, own, q, crosser):
    """Pose of a body that hangs on any run of parts."""
    P, frame = load(outer.R), crosser.frame[0]
    store(frame.R, P @ load(link.frame))
    store(frame.x, load(outer.x) + P @ load(link.origin))
    for k in range(link.first_part, link.last_part):
        cross_part(parts[k], frame, q, crosser.rest, crosser.columns)
    store(own.R, load(frame.R))
    store(own.x, load(frame.x))
