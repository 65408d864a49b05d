"""Method `baraff`: Lagrange multipliers in O(n), in the coordinates of the bodies.

Every body moves freely, and every joint is a constraint between two bodies.  Those that make a tree are primary: with
them the matrix

    [  M  -J^T ] [ a      ]   [  f ]
    [ -J    0  ] [ lambda ] = [ -c ]

has a sparse L D L^T without fill-in (`dynamics.kkt_tree`).  The others, loops and constraints, are auxiliary: each
asks for one more solve with the same factors (`dynamics.restraint`).  Joints drift, and are projected back.

Source: Baraff 1996, Linear-time dynamics using Lagrange multipliers, sections 6 to 8.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.dynamics.kkt_assembly import assemble_rigid
from multibody_cli.dynamics.kkt_nodes import Cells, KktTree, kkt_tree_for, vector_for
from multibody_cli.dynamics.kkt_tree import factor, solve
from multibody_cli.dynamics.workspace import Work, workspace_for
from multibody_cli.kernel import kernel
from multibody_cli.methods.by_acceleration import AccelerationKind
from multibody_cli.methods.contract import Feature
from multibody_cli.model import Floats, System
from multibody_cli.spatial.memory import load, load_force, store, store_force


class Sparse(NamedTuple):
    """Work arrays of this method alone."""

    kkt: KktTree
    x: Cells  # forces on the bodies, then their accelerations
    multipliers: Floats  # (m,)


def workspace(system: System, options: Any) -> Work:
    """Allocate the work arrays, with the blocks of a system's bodies and joints."""
    kkt = kkt_tree_for(system.tree.holders, [6] * len(system.tree.links))
    return workspace_for(system, Sparse(kkt, vector_for(kkt), np.zeros(len(system.rows))))


@kernel
def accelerate(system, work, a):
    """dv/dt of all bodies into `a` (nv,), with the primary rows brought to their aims; keeps the factors."""
    sparse, bodies = work.scratch, work.bodies
    assemble_rigid(sparse.kkt, system.tree.links, bodies, work.rows, work.terms)
    factor(sparse.kkt)
    for i in range(1, len(system.tree.links)):
        store_force(sparse.x.wrenches[i], -load_force(bodies[i]))
    solve_for_bodies(system, work, a)


@kernel
def respond(system, work, x, y):
    """What the impulses in `work.wrenches` make of the rates y (nv,), with the primary rows brought to their aims."""
    sparse, wrenches = work.scratch, work.wrenches
    for i in range(1, len(system.tree.links)):
        store_force(sparse.x.wrenches[i], load_force(wrenches[i]))
    for j in range(len(y)):
        y[j] = 0.0
    solve_for_bodies(system, work, y)


@kernel
def solve_for_bodies(system, work, y):
    """Changes of motion of all bodies, as rates y and as (dw, dv), and the multipliers of the primary rows."""
    links, bodies, rows, aims = system.tree.links, work.bodies, work.rows, work.aims
    x, multipliers = work.scratch.x, work.scratch.multipliers
    for r in range(len(aims)):
        multipliers[r] = aims[r]
    solve(work.scratch.kkt, x, multipliers)
    for i in range(1, len(links)):
        iv, change = links[i].iv, x.wrenches[i]
        dw, dv = load(change.t), load(change.f)
        store(bodies[i].dw, dw)
        store(bodies[i].dv, dv)
        store(y[iv : iv + 3], dv)
        store(y[iv + 3 : iv + 6], dw)
    for r in range(len(aims)):
        if rows[r].primary:
            rows[r].multiplier = multipliers[r]


BARAFF = AccelerationKind(
    name="baraff",
    description="Lagrange multipliers on the coordinates of the bodies, O(n)",
    accelerate=accelerate,
    respond=respond,
    supports=frozenset(Feature) - {Feature.REDUCTION, Feature.IMPLICIT_SPRINGS},
    workspace=workspace,
    maximal=True,
)
