"""The work arrays of the tree algorithms: one row a body, one row a column of S; row 0 of bodies is the ground."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import records
from multibody_cli.model import Floats, Records, Tree

BODY = np.dtype(
    [
        (name, "f8", size)
        for name, size in {
            "x": 3,  # position of the joint frame's origin
            "R": 9,  # its orientation
            "r": 3,  # x - x of the parent
            "w": 3,  # angular velocity
            "v": 3,  # velocity of the origin
            "alpha": 3,  # accelerations, if every free dv/dt were 0
            "a": 3,
            "J": 6,  # inertia about the origin
            "h": 3,  # mass times the vector to the centre of mass
            "t": 3,  # wrench that the acceleration above takes, less what pushes the body
            "f": 3,
            "dw": 3,  # what the joints add to alpha and a
            "dv": 3,
            "H": 9,  # an eliminated ball: coupling block, factor and drive
            "dinv": 3,
            "lower": 3,
            "drive": 3,
        }.items()
    ]
)

COLUMN = np.dtype(
    [
        ("angular", "f8", 3),  # S, world axes, about the joint frame's origin
        ("linear", "f8", 3),
        ("Ut", "f8", 3),  # U = A S
        ("Uf", "f8", 3),
        ("dinv", "f8"),  # 1 / (S . U)
        ("u", "f8"),  # tau - S . p
    ]
)

INBOX = np.dtype([("J", "f8", 6), ("H", "f8", 9), ("M", "f8", 6), ("t", "f8", 3), ("f", "f8", 3)])
"""Articulated inertia and bias force that side branches have handed in."""

WRENCH = np.dtype([("t", "f8", 3), ("f", "f8", 3)])
"""A wrench about a joint's origin."""


class Work(NamedTuple):
    """Work arrays for one tree."""

    bodies: Records
    columns: Records
    inboxes: Records
    wrenches: Records
    tau: Floats  # (nv,)


def workspace_for(tree: Tree) -> Work:
    """Allocate the work arrays, with the ground upright and at rest."""
    rows = len(tree.links)
    bodies = np.zeros(rows, BODY)
    bodies["R"][0, ::4] = 1.0
    bodies["a"][0] = -tree.gravity  # a ground that rises pulls every body down
    return Work(
        bodies=records(bodies),
        columns=records(np.zeros(len(tree.driven), COLUMN)),
        inboxes=records(np.zeros(rows, INBOX)),
        wrenches=records(np.zeros(rows, WRENCH)),
        tau=np.zeros(len(tree.driven)),
    )
