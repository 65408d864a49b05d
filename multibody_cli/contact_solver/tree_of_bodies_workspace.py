"""Work arrays of the friction of trees in maximal coordinates (`tree_of_bodies`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.model import Floats, Integers, System

AXES = 6


class TreeOfBodies(NamedTuple):
    """Work arrays for n bodies; empty in joint coordinates."""

    parent: Integers  # (n,)
    closure: Integers  # (n,) the joint between a body and its parent, -1 for none
    first_patch: Integers  # (n,) the patches of this joint
    last_patch: Integers  # (n,)
    motion: Floats  # (6, 6) B
    load: Floats  # (6, 6) L
    free: Floats  # (6, 6) L without friction
    rhs: Floats  # (6,) c, then c - L p
    matrix: Floats  # (6, 6) factors of B + L A
    order: Integers  # (6,)
    column: Floats  # (6,)
    solution: Floats  # (6,)
    Y: Floats  # (n, 6, 6) columns of Y
    y: Floats  # (n, 6)


def tree_of_bodies_for(system: System) -> TreeOfBodies:
    """Allocate the work arrays."""
    tree, patches = system.tree, system.contacts.joint_friction.patches
    n = len(tree.links) if len(tree.inboard_joints) == len(tree.links) else 0
    parent, closure = np.zeros(n, np.int64), np.full(n, -1)
    first_patch, last_patch = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for k, joint in enumerate(tree.closures if n else ()):
        parent[joint["child"]], closure[joint["child"]] = joint["parent"], k
    for patch in patches if n else ():
        first_patch[patch["child"]], last_patch[patch["child"]] = patch["first_patch"], patch["last_patch"]
    six = AXES if n else 0
    return TreeOfBodies(
        parent=parent,
        closure=closure,
        first_patch=first_patch,
        last_patch=last_patch,
        motion=np.zeros((six, six)),
        load=np.zeros((six, six)),
        free=np.zeros((six, six)),
        rhs=np.zeros(six),
        matrix=np.zeros((six, six)),
        order=np.zeros(six, np.int64),
        column=np.zeros(six),
        solution=np.zeros(six),
        Y=np.zeros((n, six, six)),
        y=np.zeros((n, six)),
    )
