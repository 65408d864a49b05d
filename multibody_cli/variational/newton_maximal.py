"""Newton's method for a step in the coordinates of the bodies: the exact derivative, factored without fill-in.

Let every body move on by a further twist y h at the end of the step, in world axes about its origin there.  Its
momentum, about the origin at the start, and the errors g of the rows then change by D y h and K y h, so that

    [ h D  -J^T ] [ y      ]   [ lacks  ]
    [ K     0   ] [ lambda ] = [ -g / h ]

with the rows J of the start, where their impulses push, and K of the end, where they are asked to hold (`momentum` for
D, `sides` for J and K).  Impulses of the rows that were found before are added to what the bodies lack, so that
lambda is what these still change by.

Source: Bruedigam and Manchester 2020, (36)-(39) with the signs of -G^T, and alg. 3 and 4 (`kkt.ldu_tree`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_joints import follow_closures, impel_closures
from multibody_cli.kernel import kernel, records
from multibody_cli.kkt.assembly import bodies_of, gather_forces, scatter_motions, write_sides_mixed
from multibody_cli.kkt.ldu_nodes import ldu_tree_for
from multibody_cli.kkt.ldu_rigid import eliminate_rigid, reduce_rigid
from multibody_cli.kkt.ldu_tree import factor, lower_multipliers, recover, reduce, solve
from multibody_cli.kkt.nodes import Cells, KktTree, vector_for
from multibody_cli.model import Floats, Integers, Records, System
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.variational.constrained import keep_primary, push_primary
from multibody_cli.variational.joint_sides import SIDES, push_bodies, sides_for, write_sides
from multibody_cli.variational.maximal_joints import bonds_for
from multibody_cli.variational.momentum_derivative import write_derivative, write_projected
from multibody_cli.variational.newton_constraints import Exact, exact_for


class Newton(NamedTuple):
    """Work arrays of this root finder."""

    kkt: KktTree
    firsts: Integers  # (n + 1,) first link of each node, and the end
    mixed: Floats  # (1,) whether any body is not rigid
    sides: Records  # where none is
    x: Cells
    multipliers: Floats  # (m,)
    exact: Exact  # of rows that the tree of joints leaves over


def newton_for(system: System) -> Newton:
    """Allocate the work arrays for a system in the coordinates of its bodies."""
    firsts, freedoms = bodies_of(system.tree)
    kkt = ldu_tree_for(system.tree.holders, freedoms)
    mixed = any(n != 6 for n in freedoms)
    sides = records(np.zeros(0, SIDES)) if mixed else sides_for(system.tree, kkt, bonds_for(system))
    multipliers = np.zeros(len(system.rows))
    return Newton(kkt, firsts, np.array([float(mixed)]), sides, vector_for(kkt), multipliers, exact_for(system))


@kernel
def reduce_bodies(newton, tree, work, held, strides):
    """Write the linear problem of rigid bodies, factor it, and carry its right-hand sides inward, all in one pass.

    What belongs to a joint is written when its turn comes to be eliminated: large systems are spared to be read anew.
    """
    nodes, cells, sides, x, y = newton.kkt.nodes, newton.kkt.cells, newton.sides, newton.x, newton.multipliers
    links, bodies, bonds, terms, ends, push = (
        tree.links,
        work.bodies,
        held.bonds,
        work.terms,
        held.work.terms,
        held.push,
    )
    for i in range(1, len(nodes)):
        write_derivative(cells.wrenches, nodes[i].block, links[i], bodies[i], strides[i])
        store_force(x.wrenches[i], load_force(work.wrenches[i]))
    for i in range(len(nodes) - 1, 0, -1):
        node, outer = nodes[i], nodes[nodes[i].parent]
        write_sides(sides[i], bonds, strides, terms, ends, cells.wrenches)
        push_bodies(sides[i], cells.wrenches, push, x.wrenches)
        eliminate_rigid(node, outer, cells)
        lower_multipliers(node, cells.numbers, y)
        reduce_rigid(node, outer, cells, x, y)


@kernel
def reduce_mixed(newton, tree, work, held, strides):
    """`reduce_bodies` for bodies of any freedoms, pass by pass."""
    nodes, cells, firsts = newton.kkt.nodes, newton.kkt.cells, newton.firsts
    push_primary(work, held)
    gather_forces(newton.kkt, firsts, tree, work, newton.x)
    for i in range(1, len(nodes)):
        link, body, stride = tree.links[firsts[i]], work.bodies[firsts[i]], strides[firsts[i]]
        if nodes[i].freedoms == 6:
            write_derivative(cells.wrenches, nodes[i].block, link, body, stride)
        else:
            write_projected(cells.numbers, nodes[i], link, body, stride, work.columns)
    ends = held.work
    write_sides_mixed(nodes, nodes.near, nodes.far, cells.numbers, firsts, tree, work.columns, work.rows, work.terms)
    write_sides_mixed(
        nodes, nodes.near_aim, nodes.far_aim, cells.numbers, firsts, tree, work.columns, ends.rows, ends.terms
    )
    factor(newton.kkt)
    reduce(newton.kkt, newton.x, newton.multipliers)


@kernel
def answer_exactly(system, work, ahead, h):
    """Correction of the mean rates for the impulses in `work.wrenches` and `work.impulse`, rows held by the end.

    What the rows that the method holds itself push with is added to `ahead.held.push`; the motions of the bodies are
    left in (dw, dv).
    """
    tree, newton, held = system.tree, ahead.solver, ahead.held
    impel_closures(held.tree, work.impulse, work)
    for r in range(len(newton.multipliers)):
        newton.multipliers[r] = -held.errors[r] / h
    if newton.mixed[0]:
        reduce_mixed(newton, tree, work, held, ahead.strides)
    else:
        reduce_bodies(newton, tree, work, held, ahead.strides)
    recover(newton.kkt, newton.x, newton.multipliers)
    hand_out(tree, work, newton, held)
    keep_primary(work, held)


@kernel
def answer_to_more(system, work, ahead):
    """`answer_exactly` to other impulses, by the factors that it left; rows that the method holds itself stay."""
    tree, newton, held = system.tree, ahead.solver, ahead.held
    impel_closures(held.tree, work.impulse, work)
    for r in range(len(newton.multipliers)):
        newton.multipliers[r] = 0.0
    gather_forces(newton.kkt, newton.firsts, tree, work, newton.x)
    solve(newton.kkt, newton.x, newton.multipliers)
    hand_out(tree, work, newton, held)


@kernel
def hand_out(tree, work, newton, held):
    """Hand motions and multipliers out to coordinates, bodies and rows."""
    for j in range(len(work.response)):
        work.response[j] = 0.0
    scatter_motions(newton.kkt, newton.firsts, tree, work, newton.x, work.response)
    for r in range(len(newton.multipliers)):
        if work.rows[r].primary:
            work.rows[r].multiplier = newton.multipliers[r]
    follow_closures(held.tree, work.response, work)
