"""Rows that close loops in a KKT tree: sparse L D L^T of bodies and constraints, linear in bodies and local loops.

The tree is that of `kkt.ldl_tree`.  A row that closes a loop is a node of the matrix, too, and is eliminated where its
loop closes, at the last common ancestor of its bodies.  Up to there the elimination of each body on the way fills in
its wrench K on the next one, and its couplings L with the other rows that are open there.  With the motion a_t of the
body and the wrench p_t on its parent, at rest, under the force K_t alone (`respond_alone`),

    L_st + K_s . a_t,    K_t + p_t at the parent,    l_s + K_s . a_0

where a_0 is the motion for the given right-hand sides.  In the outward pass the motion and the multipliers due to
K . x are added.  Plan, order and blocks of rows are those of `constrained_bodies`, in joint coordinates.

Sources: Baraff 1996, section 7; Duff, Erisman and Reid, Direct Methods for Sparse Matrices (1986), chapter 7 (fill-in).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.open_rows import write_open_rows
from multibody_cli.constraint_solver.row_blocks import (
    closed_wrench,
    factor_block,
    read_residual,
    reduce_neighbours,
    reduce_rhs,
    solve_for_multipliers,
    substitute_rows,
    subtract_motion,
)
from multibody_cli.constraint_solver.row_elimination import RowElimination
from multibody_cli.kernel import bound_kernel, kernel, kernel_parameter, template
from multibody_cli.kkt import ldl_tree
from multibody_cli.kkt.ldl_general import add_multiple, row
from multibody_cli.kkt.ldl_rigid import inner
from multibody_cli.kkt.ldl_screw import load_motion
from multibody_cli.kkt.ldl_tree import eliminate, recover, reduce
from multibody_cli.kkt.nodes import Cells, KktTree, vector_for
from multibody_cli.model import Floats, Records
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.spatial.products import no_force, power
from multibody_cli.tree.jacobian import column_of


class ConstrainedTree(NamedTuple):
    """A KKT tree, the plan of the rows that close its loops, and the vectors of one node alone."""

    nodes: Records
    cells: Cells
    plan: RowElimination
    x: Cells  # of `vector_for`: forces on a body, then its motion
    y: Floats  # (m,) right-hand sides, then multipliers


def constrained_tree_for(tree: KktTree, plan: RowElimination, rows: int) -> ConstrainedTree:
    """Allocate the vectors for a tree with a number of rows."""
    return ConstrainedTree(tree.nodes, tree.cells, plan, vector_for(tree), np.zeros(rows))


# --- factors ------------------------------------------------------------------------------------------------------
@kernel
def factor(tree) -> bool:
    """Factor the matrix whose blocks are in the tree, in place: M positive definite, the rows of J independent.

    Returns whether every dependence among rows that close loops is local; if not, the factors are not complete.
    """
    nodes, closes = tree.nodes, tree.plan.regular[0] == 1
    for i in range(len(nodes) - 1, 0, -1):
        if closes and not close_blocks(tree, i):
            return False
        eliminate(nodes[i], nodes[nodes[i].parent], tree.cells)
        if closes:
            pass_rows(tree, i)
    return not closes or close_blocks(tree, 0)


@kernel
def close_blocks(tree, i) -> bool:
    """Eliminate the blocks of rows that close at a body; return whether every dependence among them is local."""
    plan, node, numbers = tree.plan, tree.nodes[i], tree.cells.numbers
    for b in range(plan.links[i].first_block, plan.links[i].last_block):
        if not factor_block(plan, plan.blocks[b]):
            return False
        if i > 0:
            for j in range(substitute_rows(plan, plan.blocks[b])):
                store_force(tree.x.wrenches[0], load_force(plan.substituted[j]))
                for k in range(node.n_dofs):
                    scale = plan.solution[j] * tree.x.numbers[k]
                    add_multiple(numbers, row(node.block, k, node.cells), scale, tree.x.numbers, 0, k + 1)
        reduce_neighbours(plan, plan.blocks[b])
    return True


@kernel
def pass_rows(tree, i):
    """Fill in the rows that are open at a body: their wrenches on its parent, and their couplings."""
    plan, node, outer, x = tree.plan, tree.nodes[i], tree.nodes[tree.nodes[i].parent], tree.x.wrenches
    link = plan.links[i]
    pair = link.first_pair
    for t in range(link.first_slot, link.last_passing):
        store_force(x[node.x], load_force(plan.K[t]))
        respond_alone(tree, node, outer)
        parent = plan.slots[t].parent
        if parent >= 0:
            store_force(plan.K[parent], load_force(plan.K[parent]) + load_force(x[outer.x]))
        a = load_force(x[node.x])
        for s in range(link.first_slot, t + 1):
            plan.L[plan.pairs[pair]] += inner(load_force(plan.K[s]), a)
            pair += 1


@kernel
def respond_alone(tree, node, outer):
    """Compute motion and multipliers of a node for the force in tree.x alone, and the wrench on the resting parent."""
    for r in range(node.first_row, node.last_row):
        tree.y[r] = 0.0
    store_force(tree.x.wrenches[outer.x], no_force())
    reduce(node, outer, tree.cells, tree.x, tree.y)
    transmitted = load_force(tree.x.wrenches[outer.x])
    store_force(tree.x.wrenches[outer.x], no_force())
    recover(node, outer, tree.cells, tree.x, tree.y)
    store_force(tree.x.wrenches[outer.x], transmitted)


# --- solutions ----------------------------------------------------------------------------------------------------
@kernel_parameter
def recover_node(node: Any, outer: Any, cells: Any, x: Any, y: Any) -> None:
    """Compute the motion of a node, and the multipliers that are needed."""


@template(recover_node)
def solve_tree(tree, x, y):
    """Solve with a factored tree, in place; the factors are not changed.

    Parameters
    ----------
    tree
        A factored ConstrainedTree, whose plan has the right-hand sides of the rows that close loops.
    x
        Cells of `vector_for`: f on input, a on output; the entries of the ground are overwritten.
    y
        (rows,) c on input, the multipliers on output.
    """
    nodes, cells, plan, closes = tree.nodes, tree.cells, tree.plan, tree.plan.regular[0] == 1
    for i in range(len(nodes) - 1, 0, -1):
        if closes:
            for b in range(plan.links[i].first_block, plan.links[i].last_block):
                reduce_rhs(plan, plan.blocks[b])
                own = x.wrenches[nodes[i].x]
                store_force(own, load_force(own) + closed_wrench(plan, plan.blocks[b]))
        reduce(nodes[i], nodes[nodes[i].parent], cells, x, y)
        if closes and plan.links[i].last_passing > plan.links[i].first_slot:
            add_motion_to_rows(tree, i, x, y)
    store_force(x.wrenches[0], no_force())
    if closes:
        for b in range(plan.links[0].first_block, plan.links[0].last_block):
            reduce_rhs(plan, plan.blocks[b])
        solve_for_blocks(plan, 0, x.wrenches[0])
    for i in range(1, len(nodes)):
        recover_node(nodes[i], nodes[nodes[i].parent], cells, x, y)
        if closes:
            if plan.links[i].last_passing > plan.links[i].first_slot:
                add_response_to_rows(tree, i, x, y)
            solve_for_blocks(plan, i, x.wrenches[nodes[i].x])


@kernel
def add_motion_to_rows(tree, i, x, y):
    """Add the motion of a body for its right-hand sides, with its parent at rest, to the rows that are open at it."""
    plan, node, outer, alone = tree.plan, tree.nodes[i], tree.nodes[tree.nodes[i].parent], tree.x.wrenches
    for r in range(node.first_row, node.last_row):
        tree.y[r] = y[r]
    store_force(alone[node.x], load_force(x.wrenches[node.x]))
    store_force(alone[outer.x], no_force())
    recover(node, outer, tree.cells, tree.x, tree.y)
    a = load_force(alone[node.x])
    for s in range(plan.links[i].first_slot, plan.links[i].last_passing):
        plan.ell[plan.slots[s].place] += inner(load_force(plan.K[s]), a)


@kernel
def add_response_to_rows(tree, i, x, y):
    """Add motion and multipliers of a node due to the multipliers of the rows that are open at its body."""
    plan, node, outer, alone = tree.plan, tree.nodes[i], tree.nodes[tree.nodes[i].parent], tree.x.wrenches
    W = no_force()
    for s in range(plan.links[i].first_slot, plan.links[i].last_passing):
        W = W + plan.x[plan.slots[s].place] * load_force(plan.K[s])
    store_force(alone[node.x], W)
    respond_alone(tree, node, outer)
    store_force(x.wrenches[node.x], load_force(x.wrenches[node.x]) + load_force(alone[node.x]))
    for r in range(node.first_row, node.last_row):
        y[r] += tree.y[r]


@kernel
def solve_for_blocks(plan, i, motion):
    """Compute the multipliers of the blocks that close at a body with this motion."""
    a = load_motion(motion)
    for b in range(plan.links[i].last_block - 1, plan.links[i].first_block - 1, -1):
        read_residual(plan, plan.blocks[b])
        if i > 0:
            subtract_motion(plan, plan.blocks[b], a)
        solve_for_multipliers(plan, plan.blocks[b])


solve = bound_kernel(solve_tree, recover_node=recover)
solve_motions = bound_kernel(solve_tree, recover_node=ldl_tree.move)
"""`solve` without the multipliers of joints that are one block with their body, whose entries of y are left."""


# --- rows ---------------------------------------------------------------------------------------------------------
@kernel
def write_rows_of_nodes(tree, links, work):
    """Write the wrenches of the rows on bodies with six unknowns, and on others their forces on the unknowns.

    Rows that are suspended get no multipliers.
    """
    plan, numbers = tree.plan, tree.x.numbers
    write_open_rows(links, work, plan)
    for i in range(1, len(tree.nodes)):
        node = tree.nodes[i]
        if node.n_dofs != 6:
            for s in range(plan.links[i].first_slot, plan.links[i].last_slot):
                store_force(tree.x.wrenches[node.x], no_force())
                for j in range(node.n_dofs):
                    column = column_of(work.columns[links[i].iv + j])
                    numbers[6 * node.x + j] = power(column, load_force(plan.K[s]))
                store_force(plan.K[s], load_force(tree.x.wrenches[node.x]))
    for place in range(len(plan.rows)):
        if work.rows[plan.rows[place]].active != 1:
            plan.threshold[place] = math.inf
