"""Random KKT trees, symmetric and unsymmetric, and the same matrices in dense form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import oracle
import pytest

from multibody_cli.constraint_solver import constrained_nodes
from multibody_cli.constraint_solver.constrained_nodes import constrained_tree_for
from multibody_cli.constraint_solver.row_elimination import no_row_elimination
from multibody_cli.kkt import ldu_tree
from multibody_cli.kkt.nodes import (
    CELL,
    INBOARD_JOINT,
    UNSYMMETRIC,
    Cells,
    KktTree,
    kkt_tree_for,
    vector_for,
)
from multibody_cli.model import Floats

RIGID, POINT, PLANAR, AFFINE = 6, 3, 3, 12
COUNT = 9

SHAPES = {
    "chain": [0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
    "binary": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
    "star": [0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
    "grown by chance": [0, 0, 0, 2, 1, 3, 2, 6, 3, 5],
}
KINDS = {
    "rigid": [RIGID] * COUNT,
    "points on rigid bodies": [RIGID, POINT] * 4 + [RIGID],
    "rigid, points, affine": [RIGID, AFFINE, RIGID, POINT, AFFINE, AFFINE, RIGID, RIGID, PLANAR],
    "any number": [1, 12, 5, 7, 2, 6, 6, 9, 4],
}
shapes = pytest.mark.parametrize("parents", SHAPES.values(), ids=SHAPES)
kinds = pytest.mark.parametrize("n_dofs", KINDS.values(), ids=KINDS)


# --- views of the blocks of a tree --------------------------------------------------------------------------------
def dofs_of(tree: KktTree, vector: Cells, i: int) -> Floats:
    """View of the entries of body i in a vector, (dofs,)."""
    node = tree.nodes[i]
    start = CELL * node["x"]
    return vector.numbers[start : start + node["n_dofs"]]


def mass_block(tree: KktTree, i: int) -> Floats:
    """View of the block of body i, (dofs, dofs); of symmetric blocks only the lower triangle is read."""
    return _rows(tree, tree.nodes[i]["block"], tree.nodes[i]["n_dofs"], i)


def near_block(tree: KktTree, i: int, side: str = "body_rows") -> Floats:
    """View of the body's block of the constraint of body i, (rows, dofs)."""
    return _rows(tree, tree.nodes[i][side], _row_count(tree, i), i)


def far_block(tree: KktTree, i: int, side: str = "parent_rows") -> Floats:
    """View of the parent's block of the constraint of body i, (rows, the parent's dofs)."""
    return _rows(tree, tree.nodes[i][side], _row_count(tree, i), tree.nodes[i]["parent"])


def _row_count(tree: KktTree, i: int) -> int:
    return int(tree.nodes[i]["last_row"] - tree.nodes[i]["first_row"])


def _rows(tree: KktTree, place: int, count: int, body: int) -> Floats:
    """View of rows with one entry for each degree of freedom of a body."""
    width = CELL * tree.nodes[body]["cells"]
    numbers = tree.cells.numbers[CELL * place : CELL * place + count * width]
    return numbers.reshape(count, width)[:, : tree.nodes[body]["n_dofs"]]


# --- problems -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Problem:
    """A random KKT tree, and copies of its blocks."""

    tree: KktTree
    inboard_joints: np.ndarray
    masses: list[np.ndarray]
    near: list[np.ndarray]  # J
    far: list[np.ndarray]
    near_k: list[np.ndarray]  # K, which is J in a symmetric problem
    far_k: list[np.ndarray]
    solve: Callable[..., None]

    def bodies(self, i: int) -> slice:
        """Slice of the unknowns of body i in the dense matrix."""
        start = sum(len(M) for M in self.masses[1:i])
        return slice(start, start + len(self.masses[i]))

    def rows(self, i: int) -> slice:
        """Slice of the inboard rows of body i in the dense matrix."""
        start = sum(len(M) for M in self.masses[1:])
        return slice(start + self.inboard_joints[i]["first_row"], start + self.inboard_joints[i]["last_row"])

    def matrix(self) -> np.ndarray:
        """[[D, -J^T], [K, 0]]."""
        size = sum(len(M) for M in self.masses[1:]) + sum(len(j) for j in self.near)
        H = np.zeros((size, size))
        for i in range(1, len(self.inboard_joints)):
            bodies, rows, parent = self.bodies(i), self.rows(i), self.inboard_joints[i]["parent"]
            H[bodies, bodies] = self.masses[i]
            H[rows, bodies], H[bodies, rows] = self.near_k[i], -self.near[i].T
            if parent:
                above = self.bodies(parent)
                H[rows, above], H[above, rows] = self.far_k[i], -self.far[i].T
        return H

    def solved(self, f: list[np.ndarray], c: np.ndarray) -> np.ndarray:
        """Motions of all bodies, then the multipliers, from the factored tree."""
        x, y = vector_for(self.tree), c.copy()
        for i in range(1, len(f)):
            dofs_of(self.tree, x, i)[:] = f[i]
        self.solve(self.tree, x, y)
        return np.concatenate([*(dofs_of(self.tree, x, i) for i in range(1, len(f))), y])

    def error(self, f: list[np.ndarray], c: np.ndarray) -> float:
        """Largest difference from a dense solution, against the largest entry of motions and of multipliers.

        The dense pivots need no search either: those of D are positive, and those of K D^-1 J^T.
        """
        long = np.longdouble
        expected = oracle.solve(self.matrix().astype(long), np.concatenate([*f[1:], c]).astype(long))
        split = len(expected) - len(c)
        differences = np.abs(self.solved(f, c) - expected)
        parts = (slice(0, split), slice(split, None))
        return max(float(differences[part].max() / np.abs(expected[part]).max()) for part in parts)

    def right_hand_side(self, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
        rng = np.random.default_rng(seed)
        return [rng.normal(size=len(M)) for M in self.masses], rng.normal(size=sum(len(j) for j in self.near))


def directions(rng, count: int, n: int) -> np.ndarray:
    """As many rows of n numbers, orthonormal where that can be: no chain of welds makes motions grow."""
    rows = rng.normal(size=(count, n))
    return np.linalg.qr(rows.T)[0].T if count <= n else rows


def shuffled(rng, matrices: list[np.ndarray], change: float) -> list[np.ndarray]:
    """The matrices with every entry that is not zero changed by chance."""
    return [A + change * rng.normal(size=A.shape) * (A != 0.0) for A in matrices]


def problem(parents, n_dofs, rows=None, seed=0) -> Problem:
    """Fill a tree; without `rows`, each body has a random number of rows from 1 on; 0 makes a floating root."""
    rng = np.random.default_rng(seed)
    n_dofs = [RIGID, *n_dofs]
    if rows is None:
        rows = [0, *(int(rng.integers(1, min(n, 6) + 1)) for n in n_dofs[1:])]
    last = np.cumsum(rows)
    inboard_joints = np.array(list(zip(parents, last - rows, last, strict=True)), INBOARD_JOINT)
    tree = constrained_tree_for(kkt_tree_for(inboard_joints, n_dofs), no_row_elimination(len(parents)), int(last[-1]))
    masses, near, far = [np.zeros((RIGID, RIGID))], [np.zeros((0, RIGID))], [np.zeros((0, RIGID))]
    for i in range(1, len(parents)):
        root = rng.normal(size=(n_dofs[i], n_dofs[i]))
        masses.append(root @ root.T + np.eye(n_dofs[i]))
        near.append(directions(rng, rows[i], n_dofs[i]))
        far.append(directions(rng, rows[i], n_dofs[parents[i]]) * (parents[i] > 0))
        mass_block(tree, i)[:], near_block(tree, i)[:], far_block(tree, i)[:] = masses[i], near[i], far[i]
    return Problem(tree, inboard_joints, masses, near, far, near, far, constrained_nodes.solve)


def unsymmetric(given: Problem, change=0.2, seed=0) -> Problem:
    """The problem in an unsymmetric tree: blocks with a skew part, and K beside J, both apart by about the change."""
    rng = np.random.default_rng(seed)
    tree = kkt_tree_for(given.inboard_joints, [len(M) for M in given.masses], UNSYMMETRIC)
    skew = [change * rng.normal(size=M.shape) for M in given.masses]
    masses = [M + S - S.T for M, S in zip(given.masses, skew, strict=True)]
    near_k, far_k = shuffled(rng, given.near, change), shuffled(rng, given.far, change)
    for i in range(1, len(masses)):
        mass_block(tree, i)[:] = masses[i]
        near_block(tree, i)[:], far_block(tree, i)[:] = given.near[i], given.far[i]
        near_block(tree, i, "body_rows_k")[:], far_block(tree, i, "parent_rows_k")[:] = near_k[i], far_k[i]
    return replace(given, tree=tree, masses=masses, near_k=near_k, far_k=far_k, solve=ldu_tree.solve)


def factored_blocks(H: np.ndarray, nodes: list[slice]) -> set[tuple[int, int]]:
    """Which blocks below the diagonal are not zero in the dense block L of H, eliminated in the order of the nodes."""
    S = H.copy()
    filled = set()
    for k, node in enumerate(nodes):
        later = [(j, other) for j, other in enumerate(nodes) if j > k and S[other, node].any()]
        filled |= {(j, k) for j, _ in later}
        scaled = {j: S[other, node] @ np.linalg.inv(S[node, node]) for j, other in later}
        for j, other in later:
            for _, another in later:
                S[other, another] -= scaled[j] @ S[node, another]
    return filled


def leaves_first(given: Problem) -> list[slice]:
    """The nodes in the elimination order of `factor`: each body, then its inboard constraint."""
    order = (node for i in range(COUNT, 0, -1) for node in (given.bodies(i), given.rows(i)))
    return [node for node in order if node.start < node.stop]
