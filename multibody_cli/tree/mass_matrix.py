"""Mass matrix of a tree by the composite-rigid-body algorithm, and its sparse factorization.

The composite of a body is the body with all its descendants, as one rigid body of inertia C about the body's origin.
With S_j a column of the body's joint and S_k one of the same joint or of an ancestor,

    M(j, k) = S_k . C S_j,

the wrench C S_j being shifted inward to the origin of the ancestor.  M(j, k) is 0 unless one coordinate lies on the
path of the other to the ground.  M = L^T D L, L unit lower triangular, has the same zeros.

Row j therefore stores only the coordinates on the path of j, counted outward from the ground: `M[j, depth(k)]`.  The
path of an ancestor begins that of its descendants, so every tree is factored like a chain, in loops over
adjacent numbers.

Prescribed coordinates are not unknowns: they lie on no path, and their rows are never read.

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), table 6.2 and tables 6.3, 6.5 (LTDL).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import formula, kernel
from multibody_cli.model import Integers, Tree
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import power, shift_force, shift_rigid_inertia
from multibody_cli.spatial.values import RigidInertia
from multibody_cli.tree.jacobian import column_of

Indices = NDArray[np.uint64]

COMPOSITE = np.dtype([("J", "f8", 6), ("h", "f8", 3), ("m", "f8")])
"""Rigid inertia of a body with all its descendants, about the body's origin."""


# --- sparsity -----------------------------------------------------------------------------------------------------
class DofPaths(NamedTuple):
    """Paths of the free coordinates to the ground."""

    depth: Integers  # (nv,) number of free coordinates inboard of each; -1 for a prescribed coordinate
    path: Indices  # (nv, longest) these, from the ground, and then the coordinate itself
    dof_body: Integers  # (nv,) row of the body whose joint has the coordinate


def dof_paths_of(tree: Tree) -> DofPaths:
    """Compute the path of every coordinate to the ground."""
    paths: list[list[int]] = [[]]  # of each body, all free coordinates that move it
    of_coordinate: list[list[int]] = [[]] * len(tree.driven)
    dof_body = np.zeros(len(tree.driven), dtype=np.int64)
    for i in range(1, len(tree.links)):
        link = tree.links[i]
        paths.append(paths[link["parent"]])
        for j in range(link["iv"], link["iv"] + link["nv"]):
            dof_body[j] = i
            if not tree.driven[j]:
                paths[i] = of_coordinate[j] = [*paths[i], j]
    depth = np.array([len(path) - 1 for path in of_coordinate], dtype=np.int64)
    path = np.zeros((len(depth), 1 + max(depth, default=-1)), dtype=np.uint64)  # as kernels index fastest by
    for row, coordinates in zip(path, of_coordinate, strict=True):
        row[: len(coordinates)] = coordinates
    return DofPaths(depth, path, dof_body)


# --- composite rigid bodies ---------------------------------------------------------------------------------------
@kernel
def fill_mass_matrix(tree, work, paths, composites, M):
    """Write M, after forward kinematics and `write_ball_columns`; `composites` (nb + 1,) is scratch."""
    links, bodies, columns, armature = tree.links, work.bodies, work.columns, work.armature
    for i in range(len(links)):
        store_composite(composites[i], RigidInertia(load(bodies[i].J), load(bodies[i].h), links[i].mass))
    for i in range(len(links) - 1, 0, -1):
        link, C = links[i], load_composite(composites[i])
        for j in range(link.iv, link.iv + link.nv):
            if paths.depth[j] >= 0:
                fill_row(links, bodies, columns, paths, i, j, C @ column_of(columns[j]), M[j])
                M[j, paths.depth[j]] += armature[j]
        outer = composites[link.parent]
        store_composite(outer, load_composite(outer) + shift_rigid_inertia(C, load(bodies[i].r)))


@formula
def fill_row(links, bodies, columns, paths, i, j, F, row):
    """Write row j of M, from the wrench F per unit of dv/dt of coordinate j at its body i."""
    path, dof_body = paths.path[j], paths.dof_body
    for d in range(paths.depth[j], -1, -1):
        k = path[d]
        while i > dof_body[k]:
            F = shift_force(F, load(bodies[i].r))
            i = links[i].parent
        row[d] = power(column_of(columns[k]), F)


@formula
def load_composite(composite):
    """Return the inertia in a record."""
    return RigidInertia(load(composite.J), load(composite.h), composite.m)


@formula
def store_composite(composite, inertia):
    """Store an inertia in a record."""
    store(composite.J, inertia.J)
    store(composite.h, inertia.h)
    composite.m = inertia.m


# --- M = L^T D L --------------------------------------------------------------------------------------------------
@kernel
def factor(paths, M):
    """Overwrite M with L, and with 1 / D on the diagonal, eliminating the outermost coordinates first."""
    for k in range(len(M) - 1, -1, -1):
        row, path, last = M[k], paths.path[k], paths.depth[k]
        if last >= 0:
            dinv = 1.0 / row[last]
            for d in range(last):
                subtract(dinv * row[d], row, M[path[d]], d + 1)
            for d in range(last):
                row[d] *= dinv
            row[last] = dinv


@formula
def subtract(scale, row, target, count):
    """target -= scale row, in the first `count` numbers."""
    for d in range(count):
        target[d] -= scale * row[d]


@kernel
def solve(paths, M, x):
    """Overwrite x (nv,) with M^-1 x, from the factors of M; prescribed coordinates of x are unchanged."""
    for k in range(len(M) - 1, -1, -1):
        row, path, given = M[k], paths.path[k], x[k]
        for d in range(paths.depth[k]):
            x[path[d]] -= row[d] * given
    for k in range(len(M)):
        row, path, last = M[k], paths.path[k], paths.depth[k]
        if last >= 0:
            total = row[last] * x[k]
            for d in range(last):
                total -= row[d] * x[path[d]]
            x[k] = total
