"""Where the blocks of a KKT tree lie: one memory, cut into cells of six numbers.

A row of a block takes as many cells as its numbers need, so that what belongs to a rigid body can be read as wrenches,
and everything can be read as numbers.  Each body owns four blocks:

    block    freedoms x freedoms           its mass, then the factor of all that it carries
    near     rows x freedoms               its side of the constraint that holds it
    far      rows x the parent's freedoms  the parent's side
    lower    rows x rows                   the factor of the constraint

At most six rows hold a body, so that a row of `lower` is one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import records
from multibody_cli.model import Floats, Records
from multibody_cli.tree.workspace import WRENCH

CELL = 6

HOLDER = np.dtype([("parent", "i8"), ("first_row", "i8"), ("last_row", "i8")])
"""One record a body: its parent in the elimination tree, and the rows that hold it there.

Row 0 is the ground, and a parent stands before its children.  A parent 0 without rows is the root of a floating tree.
"""


def node_with(*sides: str) -> np.dtype[np.void]:
    """Dtype of one record a body, with the sides of its constraint: `near`... is its own, `far`... the parent's."""
    return np.dtype(
        [
            *((name, HOLDER[name]) for name in HOLDER.names or ()),
            ("rigid", "i8"),  # whether body and parent have six freedoms both
            ("freedoms", "i8"),
            ("cells", "i8"),  # that one row over the body's freedoms takes
            ("x", "i8"),  # cells: where its unknowns stand in a vector
            *((name, "i8") for name in ("block", *sides, "lower")),  # cells: where its blocks begin
        ]
    )


class Cells(NamedTuple):
    """The same memory twice: as wrenches, and as numbers."""

    wrenches: Records
    numbers: Floats


class KktTree(NamedTuple):
    """The nodes, and the cells that hold their blocks."""

    nodes: Records
    cells: Cells


def cells_for(count: int) -> Cells:
    """Allocate cells full of zeros."""
    numbers = np.zeros(CELL * count)
    return Cells(records(numbers.view(WRENCH)), numbers)


def kkt_tree_for(holders: Records, freedoms: Sequence[int]) -> KktTree:
    """Lay out the blocks of a tree.

    Parameters
    ----------
    holders
        (n + 1,) HOLDER; each body is held by at most 6 rows.
    freedoms
        (n + 1,) of each body: 3 for a point or in a plane, 6 if rigid, 12 if affine; 6 for the ground.
    """
    return lay_out(holders, freedoms, "near", "far")


def lay_out(holders: Records, freedoms: Sequence[int], *sides: str) -> KktTree:
    """Lay out the blocks of a tree, body after body, with these sides of each constraint."""
    nodes = np.zeros(len(holders), node_with(*sides))
    for name in HOLDER.names or ():
        nodes[name] = holders[name]
    rows = nodes["last_row"] - nodes["first_row"]
    for i in np.flatnonzero(rows > CELL):
        raise ValueError(f"body {i} is held by {rows[i]} rows: at most {CELL} fit")
    n = nodes["freedoms"] = np.array(freedoms)
    cells = nodes["cells"] = -(-n // CELL)
    nodes["x"] = np.cumsum(cells) - cells
    nodes["rigid"] = (n == CELL) & (n[nodes["parent"]] == CELL)
    widths = {"near": cells, "far": cells[nodes["parent"]]}
    sizes = np.stack([n * cells, *(rows * widths[side.split("_")[0]] for side in sides), rows], axis=1)
    begins = np.cumsum(sizes).reshape(sizes.shape) - sizes
    for name, place in zip(("block", *sides, "lower"), begins.T, strict=True):
        nodes[name] = place
    return KktTree(records(nodes), cells_for(int(np.sum(sizes))))


def vector_for(tree: KktTree) -> Cells:
    """Allocate one number for each freedom of each body, the ground first; a rigid body's are one wrench."""
    return cells_for(int(np.sum(tree.nodes["cells"])))


def freedoms_of(tree: KktTree, vector: Cells, i: int) -> Floats:
    """View of what a vector says of body i, (freedoms,)."""
    node = tree.nodes[i]
    start = CELL * node["x"]
    return vector.numbers[start : start + node["freedoms"]]


def mass_block(tree: KktTree, i: int) -> Floats:
    """View of the block of body i, (freedoms, freedoms); symmetric ones are read in the lower triangle alone."""
    return _rows(tree, tree.nodes[i]["block"], tree.nodes[i]["freedoms"], i)


def near_block(tree: KktTree, i: int, side: str = "near") -> Floats:
    """View of the body's own side of the constraint that holds body i, (rows, freedoms)."""
    return _rows(tree, tree.nodes[i][side], _row_count(tree, i), i)


def far_block(tree: KktTree, i: int, side: str = "far") -> Floats:
    """View of the parent's side of the constraint that holds body i, (rows, the parent's freedoms)."""
    return _rows(tree, tree.nodes[i][side], _row_count(tree, i), tree.nodes[i]["parent"])


def _row_count(tree: KktTree, i: int) -> int:
    return int(tree.nodes[i]["last_row"] - tree.nodes[i]["first_row"])


def _rows(tree: KktTree, place: int, count: int, body: int) -> Floats:
    """View of rows over the freedoms of one body."""
    width = CELL * tree.nodes[body]["cells"]
    numbers = tree.cells.numbers[CELL * place : CELL * place + count * width]
    return numbers.reshape(count, width)[:, : tree.nodes[body]["freedoms"]]
