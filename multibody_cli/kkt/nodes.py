"""Memory layout of a KKT tree: one array, divided into cells of six numbers.

A row of a block takes as many cells as its numbers need, so that the rows of a rigid body can be read as wrenches, and
all rows as numbers.  Each body has four blocks:

    block        dofs x dofs               its inertia, then the factor of its subtree
    body_rows    rows x dofs               the body's side of its constraint
    parent_rows  rows x the parent's dofs  the parent's side
    lower        rows x rows               the factor of the constraint

An unsymmetric tree has two more blocks of each constraint, for K beside J (`kkt.ldu_tree`):

    body_rows_k    rows x dofs               the body's side: constraint rows for the motion
    parent_rows_k  rows x the parent's dofs  the parent's side

Its `block` is a whole matrix, and its `lower` holds Q below the diagonal and P^T from it on.

A body that is one block with its joint has other content in these places (`kkt.joint_nodes`).

The constraint of a body has at most six rows, so that a row of `lower` is one cell.  Before the factorization the
diagonal of `lower` has the pivots below which a row is left out: 0 in general, infinite for a row that is not active.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import records
from multibody_cli.model import Floats, Records
from multibody_cli.tree.workspace import WRENCH

CELL = 6

MAX_ROWS = CELL
"""Maximum number of rows of a node."""

INBOARD_JOINT = np.dtype([("parent", "i8"), ("first_row", "i8"), ("last_row", "i8")])
"""One record for each body: its parent in the elimination tree, and the constraint rows between the two.

Row 0 is the ground, and a parent precedes its children.  A parent 0 without rows marks the root of a floating tree.
"""

BY_ROWS, ON_HINGE, ON_BALL, ON_COLUMNS, ROTOR = range(5)
"""How a body is eliminated: row by row, or as one block with a hinge, a ball, or any other joint (`kkt.ldl_joint`).

A rotor is eliminated with the joint to whose coordinate a row gears it.
"""

SYMMETRIC, UNSYMMETRIC = ("body_rows", "parent_rows"), ("body_rows", "parent_rows", "body_rows_k", "parent_rows_k")
"""The blocks of a constraint."""


def node_with(sides: Sequence[str]) -> np.dtype[np.void]:
    """Return the dtype of one record per body, with these blocks of its constraint."""
    return np.dtype(
        [
            *((name, INBOARD_JOINT[name]) for name in INBOARD_JOINT.names or ()),
            ("rigid", "i8"),  # whether body and parent both have six degrees of freedom
            ("joint", "i8"),  # BY_ROWS, or the joint with which the body is one block
            ("frame", "i8"),  # row of its loop frame among those of bodies
            ("iv", "i8"),  # its columns
            ("last_iv", "i8"),
            ("sign", "f8"),  # 1 if it is the child of that joint, -1 if it is the parent
            ("pivots", "i8"),  # rows that are eliminated one by one: all, or none
            ("n_dofs", "i8"),
            ("cells", "i8"),  # cells of one row with the body's degrees of freedom
            ("x", "i8"),  # first cell of its unknowns in a vector
            *((name, "i8") for name in ("block", *sides, "lower")),  # first cells of its blocks
        ]
    )


class Cells(NamedTuple):
    """The same memory in two views: wrenches and numbers."""

    wrenches: Records
    numbers: Floats


class KktTree(NamedTuple):
    """The nodes, and the cells that contain their blocks."""

    nodes: Records
    cells: Cells


def cells_for(count: int) -> Cells:
    """Allocate cells of zeros."""
    numbers = np.zeros(CELL * count)
    return Cells(records(numbers.view(WRENCH)), numbers)


def kkt_tree_for(inboard_joints: Records, n_dofs: Sequence[int], sides: Sequence[str] = SYMMETRIC) -> KktTree:
    """Allocate the blocks of a tree, body by body.

    Parameters
    ----------
    inboard_joints
        (n + 1,) INBOARD_JOINT; each has at most 6 rows.
    n_dofs
        (n + 1,) degrees of freedom of each body: 3 of a point or planar body, 6 if rigid, 12 if affine; ground 6.
    sides
        The blocks of each constraint: SYMMETRIC or UNSYMMETRIC.
    """
    nodes = np.zeros(len(inboard_joints), node_with(sides))
    for name in INBOARD_JOINT.names or ():
        nodes[name] = inboard_joints[name]
    rows = nodes["pivots"] = nodes["last_row"] - nodes["first_row"]
    for i in np.flatnonzero(rows > MAX_ROWS):
        raise ValueError(f"body {i} has {rows[i]} constraint rows: at most {MAX_ROWS} are supported")
    n = nodes["n_dofs"] = np.array(n_dofs)
    cells = nodes["cells"] = -(-n // CELL)
    nodes["x"] = np.cumsum(cells) - cells
    nodes["rigid"] = (n == CELL) & (n[nodes["parent"]] == CELL)
    widths = {"body": cells, "parent": cells[nodes["parent"]]}
    sizes = np.stack([n * cells, *(rows * widths[side.split("_")[0]] for side in sides), rows], axis=1)
    begins = np.cumsum(sizes).reshape(sizes.shape) - sizes
    for name, place in zip(("block", *sides, "lower"), begins.T, strict=True):
        nodes[name] = place
    return KktTree(records(nodes), cells_for(int(np.sum(sizes))))


def vector_for(tree: KktTree) -> Cells:
    """Allocate one number for each degree of freedom of each body, the ground first; six are one wrench."""
    return cells_for(int(np.sum(tree.nodes["cells"])))
