"""The mass matrix of a tree by composite rigid bodies, and its factorization along the branches.

The composite of a body is everything that it carries, frozen: with its inertia C about the body's origin, S_j a column
of the body's joint and S_k one of the same joint or of an ancestor,

    M(j, k) = S_k . C S_j,

the wrench C S_j being shifted inward to the origin of the ancestor.  M(j, k) is 0 where neither coordinate lies on the
other's way to the ground.  M = L^T D L, L unit lower triangular, has its zeros in the same places.

So row j holds no more than the coordinates on the way of j, counted outward from the ground: `M[j, depth(k)]`.  As the
way of an ancestor is the beginning of one's own, every tree is factored like a chain, in loops over adjacent numbers.

Prescribed coordinates are no unknowns: they lie on no way, and their rows are never read.

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), table 6.2 and tables 6.3, 6.5 (LTDL).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import formula, kernel
from multibody_cli.model import Floats, Integers, Tree
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import power, shift_force, shift_rigid_inertia
from multibody_cli.spatial.values import RigidInertia
from multibody_cli.tree.jacobian import column_of

Indices = NDArray[np.uint64]

COMPOSITE = np.dtype([("J", "f8", 6), ("h", "f8", 3), ("m", "f8")])
"""Rigid inertia of a body and all that it carries, about the body's origin."""


# --- which coordinates meet ---------------------------------------------------------------------------------------
class Ways(NamedTuple):
    """The ways of the free coordinates to the ground."""

    depth: Integers  # (nv,) how many free coordinates lie inward of each; -1 for one that is no unknown
    way: Indices  # (nv, longest) those and, as the last, the coordinate itself, counted from the ground
    carrier: Integers  # (nv,) row of the body whose joint has the coordinate


def ways_of(tree: Tree) -> Ways:
    """Find the way of every coordinate to the ground."""
    ways: list[list[int]] = [[]]  # of each body, all free coordinates that move it
    of_coordinate: list[list[int]] = [[]] * len(tree.driven)
    carrier = np.zeros(len(tree.driven), dtype=np.int64)
    for i in range(1, len(tree.links)):
        link = tree.links[i]
        ways.append(ways[link["parent"]])
        for j in range(link["iv"], link["iv"] + link["nv"]):
            carrier[j] = i
            if not tree.driven[j]:
                ways[i] = of_coordinate[j] = [*ways[i], j]
    depth = np.array([len(way) - 1 for way in of_coordinate], dtype=np.int64)
    way = np.zeros((len(depth), 1 + max(depth, default=-1)), dtype=np.uint64)  # as kernels index fastest by
    for row, coordinates in zip(way, of_coordinate, strict=True):
        row[: len(coordinates)] = coordinates
    return Ways(depth, way, carrier)


def mass_matrix_for(ways: Ways) -> Floats:
    """Allocate M, of the shape of the ways."""
    return np.zeros(ways.way.shape)


# --- composite rigid bodies ---------------------------------------------------------------------------------------
@kernel
def fill_mass_matrix(tree, work, ways, composites, M):
    """M of placed bodies with complete columns; `composites` (nb + 1,) is scratch."""
    links, bodies, columns, armature = tree.links, work.bodies, work.columns, work.armature
    for i in range(len(links)):
        store_composite(composites[i], RigidInertia(load(bodies[i].J), load(bodies[i].h), links[i].mass))
    for i in range(len(links) - 1, 0, -1):
        link, C = links[i], load_composite(composites[i])
        for j in range(link.iv, link.iv + link.nv):
            if ways.depth[j] >= 0:
                fill_row(links, bodies, columns, ways, i, j, C @ column_of(columns[j]), M[j])
                M[j, ways.depth[j]] += armature[j]
        outer = composites[link.parent]
        store_composite(outer, load_composite(outer) + shift_rigid_inertia(C, load(bodies[i].r)))


@formula
def fill_row(links, bodies, columns, ways, i, j, F, row):
    """Row j of M, from the wrench F that a unit of dv/dt of the coordinate takes at its body i."""
    way, carrier = ways.way[j], ways.carrier
    for d in range(ways.depth[j], -1, -1):
        k = way[d]
        while i > carrier[k]:
            F = shift_force(F, load(bodies[i].r))
            i = links[i].parent
        row[d] = power(column_of(columns[k]), F)


@formula
def load_composite(composite):
    """The inertia that lies there."""
    return RigidInertia(load(composite.J), load(composite.h), composite.m)


@formula
def store_composite(composite, C):
    """Keep an inertia."""
    store(composite.J, C.J)
    store(composite.h, C.h)
    composite.m = C.m


# --- M = L^T D L --------------------------------------------------------------------------------------------------
@kernel
def factor(ways, M):
    """Write L, and 1 / D at its diagonal, over M, eliminating the outermost coordinates first."""
    for k in range(len(M) - 1, -1, -1):
        row, way, last = M[k], ways.way[k], ways.depth[k]
        if last >= 0:
            dinv = 1.0 / row[last]
            for d in range(last):
                subtract(dinv * row[d], row, M[way[d]], d + 1)
            for d in range(last):
                row[d] *= dinv
            row[last] = dinv


@formula
def subtract(scale, row, target, count):
    """Target -= scale row, in the first `count` numbers."""
    for d in range(count):
        target[d] -= scale * row[d]


@kernel
def solve(ways, M, x):
    """x <- M^-1 x for x (nv,) by the factors of M; prescribed coordinates of x stay as they are."""
    for k in range(len(M) - 1, -1, -1):
        row, way, given = M[k], ways.way[k], x[k]
        for d in range(ways.depth[k]):
            x[way[d]] -= row[d] * given
    for k in range(len(M)):
        row, way, last = M[k], ways.way[k], ways.depth[k]
        if last >= 0:
            total = row[last] * x[k]
            for d in range(last):
                total -= row[d] * x[way[d]]
            x[k] = total
