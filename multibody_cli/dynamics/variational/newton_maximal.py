"""Newton's method for a step in the coordinates of the bodies: the exact derivative, factored without fill-in.

Let every body move on by a further twist y h at the end of the step, in world axes about its origin there.  Its
momentum, about the origin at the start, and the errors g of the rows then change by D y h and K y h, so that

    [ h D  -J^T ] [ y      ]   [ lacks  ]
    [ K     0   ] [ lambda ] = [ -g / h ]

with the rows J of the start, where their impulses push, and K of the end, where they are asked to hold.  The derivative
of the momentum of a turn (s, u) by a further turn w, in world axes, is

    dl = (1 / h) ((s J + [u] J - [J u]) (s 1 - [u]) - J u u^T) w.

Source: Bruedigam and Manchester 2020, (36)-(39) with the signs of -G^T, and alg. 3 and 4 (`dynamics.ldu_tree`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.dynamics.closures import follow_closures, impel_closures
from multibody_cli.dynamics.kkt_assembly import (
    bodies_of,
    column_of,
    gather_forces,
    scatter_motions,
    write_sides_mixed,
    write_sides_rigid,
)
from multibody_cli.dynamics.kkt_nodes import Cells, KktTree, vector_for
from multibody_cli.dynamics.ldu_nodes import ldu_tree_for
from multibody_cli.dynamics.ldu_tree import factor, solve
from multibody_cli.dynamics.variational.strides import half_turn
from multibody_cli.kernel import formula, kernel
from multibody_cli.model import Floats, Integers, System
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import UNIT, ZERO, cross, dot, power
from multibody_cli.spatial.values import Force, Motion


class Newton(NamedTuple):
    """Work arrays of this root finder."""

    kkt: KktTree
    firsts: Integers  # (n + 1,) first link of each node, and the end
    mixed: Floats  # (1,) whether any body is not rigid
    x: Cells
    multipliers: Floats  # (m,)


# --- the derivative of a momentum ---------------------------------------------------------------------------------
@formula
def turned_momentum(J, s, u, w):
    """The change h dl of the momentum of a turn (s, u) by a further turn w, times h."""
    Ju, b = J @ u, s * w - cross(u, w)
    return s * (J @ b) + cross(u, J @ b) - cross(Ju, b) - dot(u, w) * Ju


@formula
def moved_momentum(link, body, stride, s, u, y):
    """What a further motion y at the end adds to the momentum of a step about the origin at the start, times h."""
    r_end, r = load(stride.R) @ load(link.com), load(stride.c) - load(body.x)
    f = link.mass * (y.v + cross(y.w, r_end))
    return Force(turned_momentum(load(stride.J), s, u, y.w) + cross(r, f), f)


# --- the linear problem -------------------------------------------------------------------------------------------
def newton_for(system: System) -> Newton:
    """Allocate the work arrays for a system in the coordinates of its bodies."""
    firsts, freedoms = bodies_of(system.tree)
    kkt = ldu_tree_for(system.tree.holders, freedoms)
    mixed = np.array([float(any(n != 6 for n in freedoms))])
    return Newton(kkt, firsts, mixed, vector_for(kkt), np.zeros(len(system.rows)))


@kernel
def assemble(newton, tree, work, held, strides):
    """Write the derivative at the coordinates ahead where `factor` will look for it."""
    kkt, firsts = newton.kkt, newton.firsts
    nodes, cells = kkt.nodes, kkt.cells
    for i in range(1, len(nodes)):
        link, body, stride = tree.links[firsts[i]], work.bodies[firsts[i]], strides[firsts[i]]
        s, u = half_turn(load(body.R), load(stride.R))
        if nodes[i].freedoms == 6:
            write_derivative(cells.numbers, nodes[i].block, link, body, stride, s, u)
        else:
            write_projected(nodes[i], cells.numbers, link, body, stride, s, u, work.columns)
    if newton.mixed[0]:
        write_sides_mixed(nodes, nodes.near, nodes.far, cells.numbers, firsts, tree, work)
        write_sides_mixed(nodes, nodes.near_aim, nodes.far_aim, cells.numbers, firsts, tree, held.work)
    else:
        write_sides_rigid(nodes, nodes.near, nodes.far, cells.wrenches, work.rows, work.terms)
        write_sides_rigid(nodes, nodes.near_aim, nodes.far_aim, cells.wrenches, held.work.rows, held.work.terms)


@formula
def write_derivative(numbers, k, link, body, stride, s, u):
    """Keep the derivative of the momentum of a rigid body, column by column, in the rows from k on."""
    for axis in range(3):
        e = UNIT.x if axis == 0 else (UNIT.y if axis == 1 else UNIT.z)
        turning = moved_momentum(link, body, stride, s, u, Motion(e, ZERO))
        moving = moved_momentum(link, body, stride, s, u, Motion(ZERO, e))
        write_column(numbers, k, axis, turning)
        write_column(numbers, k, 3 + axis, moving)


@formula
def write_column(numbers, k, j, p):
    """Keep a wrench as column j of the 6 x 6 block whose rows begin at cell k."""
    first = 6 * k + j
    numbers[first] = p.t.x
    numbers[first + 6] = p.t.y
    numbers[first + 12] = p.t.z
    numbers[first + 18] = p.f.x
    numbers[first + 24] = p.f.y
    numbers[first + 30] = p.f.z


@kernel
def write_projected(node, numbers, link, body, stride, s, u, columns):
    """Keep the derivative of the momentum of a body of other freedoms, in its own coordinates.

    The columns of such a body are the same at the end of a step as at its start.
    """
    for j in range(link.nv):
        p = moved_momentum(link, body, stride, s, u, column_of(columns[link.iv + j]))
        for k in range(link.nv):
            numbers[6 * (node.block + k * node.cells) + j] = power(column_of(columns[link.iv + k]), p)


@kernel
def answer_exactly(system, work, ahead, h):
    """Correction of the mean rates for the impulses in `work.wrenches` and `work.impulse`, rows held by the end.

    Multipliers of the rows that the method holds itself go into these, the motions of the bodies into (dw, dv).
    """
    tree, newton, rows, ends = system.tree, ahead.solver, work.rows, ahead.held.work.rows
    impel_closures(tree, work.impulse, work)
    assemble(newton, tree, work, ahead.held, ahead.strides)
    factor(newton.kkt)
    gather_forces(newton.kkt, newton.firsts, tree, work, newton.x)
    for r in range(len(rows)):
        newton.multipliers[r] = -ends[r].error / h
    solve(newton.kkt, newton.x, newton.multipliers)
    scatter_motions(newton.kkt, newton.firsts, tree, work, newton.x, work.response)
    for r in range(len(rows)):
        if rows[r].primary:
            rows[r].multiplier = newton.multipliers[r]
    follow_closures(tree, work.response, work)
