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
from numpy.typing import NDArray

from multibody_cli.constraint_solver.open_rows import write_open_rows
from multibody_cli.constraint_solver.row_blocks import (
    factor_block,
    reduce_blocks,
    reduce_neighbours,
    solve_blocks,
    substitute_rows,
)
from multibody_cli.constraint_solver.row_elimination import RowElimination
from multibody_cli.kernel import bound_kernel, kernel, number_parameter, records, template
from multibody_cli.kkt.ldl_general import add_multiple, row
from multibody_cli.kkt.ldl_joint import load_motion
from multibody_cli.kkt.ldl_tree import eliminate, recover, reduce
from multibody_cli.kkt.nodes import Cells, KktTree, vector_for
from multibody_cli.model import CONSTRAINT_AXIS, Floats, Integers, Records
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.spatial.products import inner, no_force, power
from multibody_cli.tree.jacobian import column_of
from multibody_cli.tree.workspace import BODY, COLUMN, WRENCH, Work


class Blocks(NamedTuple):
    """The cells of a tree in both views, and the work arrays of its joints."""

    wrenches: Records
    numbers: Floats
    axes: Records  # constraint axes, in the axes of M
    frames: Records  # bodies and loop frames
    columns: Records
    dual_basis: Records
    driven: NDArray[np.bool_]
    rotor_rows: Integers  # of each coordinate, or -1
    rotor_blocks: Integers  # numbers of the inertia of its rotor


class ConstrainedTree(NamedTuple):
    """A KKT tree, the plan of the rows that close its loops, and the vectors of one node alone."""

    nodes: Records
    cells: Blocks
    plan: RowElimination
    x: Cells  # of `vector_for`: forces on a body, then its motion
    y: Floats  # (m,) right-hand sides, then multipliers


def constrained_tree_for(
    tree: KktTree, plan: RowElimination, rows: int, work: Work | None = None, driven: Any = (), rotors: Any = None
) -> ConstrainedTree:
    """Allocate the vectors for a tree with a number of rows; `work` and `driven` are those of its joints, if any."""
    places = rotors or (np.zeros(0, np.int64), np.zeros(0, np.int64))
    axes, frames, columns, duals = (records(np.zeros(0, kind)) for kind in (CONSTRAINT_AXIS, BODY, COLUMN, WRENCH))
    if work:
        axes, frames, columns, duals = work.constraint_axes, work.bodies, work.columns, work.dual_basis
    blocks = Blocks(*tree.cells, axes, frames, columns, duals, np.array(driven, np.bool_), *places)
    return ConstrainedTree(tree.nodes, blocks, plan, vector_for(tree), np.zeros(rows))


# --- inward -------------------------------------------------------------------------------------------------------
FACTORS, SOLVES = number_parameter("FACTORS", bool), number_parameter("SOLVES", bool)
"""Whether a pass factors the matrix, and whether it eliminates right-hand sides."""


@template(FACTORS, SOLVES)
def pass_inward(tree, x, y):
    """Factor the matrix whose blocks are in the tree, in place, eliminate the right-hand sides x and y, or both.

    M is positive definite, and the rows of the tree are independent.  Returns whether every dependence among rows that
    close loops is local; if not, neither factors nor right-hand sides are complete.
    """
    nodes, cells, plan, closes = tree.nodes, tree.cells, tree.plan, tree.plan.regular[0] == 1
    for i in range(len(nodes) - 1, 0, -1):
        node, parent = nodes[i], nodes[nodes[i].parent]
        if closes:
            if FACTORS and not close_blocks(tree, i):
                return False
            if SOLVES:
                store_force(x.wrenches[node.x], load_force(x.wrenches[node.x]) + reduce_blocks(plan, i))
        if FACTORS:
            eliminate(node, parent, cells)
        if closes and FACTORS:
            pass_rows(tree, i)
        if SOLVES:
            reduce(node, parent, cells, x, y)
        if closes and SOLVES and plan.links[i].last_passing > plan.links[i].first_slot:
            add_motion_to_rows(tree, i, x, y)
    if closes:
        if FACTORS and not close_blocks(tree, 0):
            return False
        if SOLVES:
            reduce_blocks(plan, 0)
    return True


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
    plan, node, parent, x = tree.plan, tree.nodes[i], tree.nodes[tree.nodes[i].parent], tree.x.wrenches
    link = plan.links[i]
    pair = link.first_pair
    for t in range(link.first_slot, link.last_passing):
        store_force(x[node.x], load_force(plan.K[t]))
        respond_alone(tree, node, parent, False)
        slot = plan.slots[t].parent
        if slot >= 0:
            store_force(plan.K[slot], load_force(plan.K[slot]) + load_force(x[parent.x]))
        a = load_force(x[node.x])
        for s in range(link.first_slot, t + 1):
            plan.L[plan.pairs[pair]] += inner(load_force(plan.K[s]), a)
            pair += 1


@kernel
def respond_alone(tree, node, parent, with_multipliers):
    """Compute motion and multipliers of a node for the force in tree.x alone, and the wrench on the resting parent."""
    for r in range(node.first_row, node.last_row):
        tree.y[r] = 0.0
    for j in range(node.iv, node.last_iv):
        if tree.cells.rotor_rows[j] >= 0:
            tree.y[tree.cells.rotor_rows[j]] = 0.0
    store_force(tree.x.wrenches[parent.x], no_force())
    reduce(node, parent, tree.cells, tree.x, tree.y)
    transmitted = load_force(tree.x.wrenches[parent.x])
    store_force(tree.x.wrenches[parent.x], no_force())
    recover(node, parent, tree.cells, tree.x, tree.y, with_multipliers)
    store_force(tree.x.wrenches[parent.x], transmitted)


@kernel
def add_motion_to_rows(tree, i, x, y):
    """Add the motion of a body for its right-hand sides, with its parent at rest, to the rows that are open at it."""
    plan, node, parent, alone = tree.plan, tree.nodes[i], tree.nodes[tree.nodes[i].parent], tree.x.wrenches
    for r in range(node.first_row, node.last_row):
        tree.y[r] = y[r]
    store_force(alone[node.x], load_force(x.wrenches[node.x]))
    store_force(alone[parent.x], no_force())
    recover(node, parent, tree.cells, tree.x, tree.y, False)
    a = load_force(alone[node.x])
    for s in range(plan.links[i].first_slot, plan.links[i].last_passing):
        plan.ell[plan.slots[s].place] += inner(load_force(plan.K[s]), a)


# --- outward ------------------------------------------------------------------------------------------------------
MULTIPLIERS = number_parameter("MULTIPLIERS", bool)
"""Whether the multipliers of joints that are one block with their body are needed."""


@template(MULTIPLIERS)
def pass_outward(tree, x, y):
    """Compute the motions in x and the multipliers in y from the result of `pass_inward`."""
    nodes, cells, plan, closes = tree.nodes, tree.cells, tree.plan, tree.plan.regular[0] == 1
    store_force(x.wrenches[0], no_force())
    if closes:
        solve_blocks(plan, 0, load_motion(x.wrenches[0]))
    for i in range(1, len(nodes)):
        recover(nodes[i], nodes[nodes[i].parent], cells, x, y, MULTIPLIERS)
        if closes:
            if plan.links[i].last_passing > plan.links[i].first_slot:
                add_response_to_rows(tree, i, x, y)
            solve_blocks(plan, i, load_motion(x.wrenches[nodes[i].x]))


@kernel
def add_response_to_rows(tree, i, x, y):
    """Add motion and multipliers of a node due to the multipliers of the rows that are open at its body."""
    plan, node, parent, alone = tree.plan, tree.nodes[i], tree.nodes[tree.nodes[i].parent], tree.x.wrenches
    W = no_force()
    for s in range(plan.links[i].first_slot, plan.links[i].last_passing):
        W = W + plan.x[plan.slots[s].place] * load_force(plan.K[s])
    store_force(alone[node.x], W)
    respond_alone(tree, node, parent, True)
    store_force(x.wrenches[node.x], load_force(x.wrenches[node.x]) + load_force(alone[node.x]))
    for r in range(node.first_row, node.last_row):
        y[r] += tree.y[r]
    for j in range(node.iv, node.last_iv):
        if tree.cells.rotor_rows[j] >= 0:
            y[tree.cells.rotor_rows[j]] += tree.y[tree.cells.rotor_rows[j]]


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


# --- factorization and solution -----------------------------------------------------------------------------------
@template(FACTORS, SOLVES, MULTIPLIERS)
def solve_tree(tree, x, y):
    """Solve with a tree, in place, which is factored before or in the same pass; return whether that succeeded.

    Parameters
    ----------
    tree
        A ConstrainedTree, whose plan has the right-hand sides of the rows that close loops.
    x
        Cells of `vector_for`: f on input, a on output; the entries of the ground are overwritten.
    y
        (rows,) c on input, the multipliers on output; those of joints that are one block with their body may be left.
    """
    if not pass_inward(tree, x, y):
        return False
    pass_outward(tree, x, y)
    return True


solve = bound_kernel(solve_tree, FACTORS=False, SOLVES=True, MULTIPLIERS=True)
solve_motions = bound_kernel(solve_tree, FACTORS=False, SOLVES=True, MULTIPLIERS=False)
factor_and_solve = bound_kernel(solve_tree, FACTORS=True, SOLVES=True, MULTIPLIERS=True)
factor_tree = bound_kernel(pass_inward, FACTORS=True, SOLVES=False)


@kernel
def factor(tree) -> bool:
    """Factor a tree; see `pass_inward`."""
    return factor_tree(tree, tree.x, tree.y)
