"""Blocks of bodies and constraint rows in a KKT tree.

The unknowns of a rigid body are its twist (w, v), so that its block is its spatial inertia I and its Jacobian block of
a row the wrench T itself.  The unknowns of any other body are its own coordinates: with the columns S of its joint to
the world, the blocks are S^T I S and T . S. An affine body has the columns of its four links, one after the other.
"""

from __future__ import annotations

import math

import numpy as np

from multibody_cli.kernel import formula, kernel
from multibody_cli.kkt.ldl_rigid import store_block
from multibody_cli.kkt.nodes import ROTOR
from multibody_cli.model import Integers, Tree
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import ZERO, no_force, power
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.articulated_body import load_inertia, rigid_body_inertia
from multibody_cli.tree.jacobian import column_of
from multibody_cli.tree.markers import wrench_on_link


def bodies_of(tree: Tree) -> tuple[Integers, list[int]]:
    """First link of each node and the end, (n + 1,), and the degrees of freedom of each node; node 0 is the ground."""
    links = tree.links
    firsts = np.append(np.flatnonzero(links["is_director"] == 0), len(links))
    return firsts, [6, *np.add.reduceat(links["nv"], firsts[1:-1]).tolist()]


# --- blocks -------------------------------------------------------------------------------------------------------
@kernel
def assemble(kkt, firsts, tree, work):
    """Write the blocks of all bodies and rows that `factor` reads; node i has the links firsts[i] to firsts[i + 1].

    A row acts on its body and, unless that is the ground, on the parent.
    """
    nodes, numbers, rows = kkt.nodes, kkt.cells.numbers, work.rows
    for i in range(1, len(nodes)):
        node = nodes[i]
        if node.n_dofs == 6:
            store_block(kkt.cells.wrenches, node.block, effective_inertia(tree.links, work, firsts[i]))
        elif node.joint != ROTOR:  # whose inertia is constant
            write_block(node, numbers, firsts[i], firsts[i + 1], tree.links, work)
        for r in range(node.pivots):
            numbers[6 * node.lower + 7 * r] = threshold_of(rows[node.first_row + r])
    cells, bodies, columns = kkt.cells, work.bodies, work.columns
    write_jacobian(nodes, nodes.body_rows, nodes.parent_rows, cells, firsts, tree, bodies, columns, rows, work.terms)


@formula
def effective_inertia(links, work, i):
    """Spatial inertia of a body, with the contribution of implicit forces (`implicit.implicit_forces`)."""
    A = rigid_body_inertia(links[i], work.bodies[i])
    return A + load_inertia(work.implicit_solve.blocks[i]) if len(work.implicit_solve.blocks) > 0 else A


@formula
def threshold_of(row):
    """Threshold of the pivot of a row: 0 if it is active, infinite otherwise."""
    return 0.0 if row.active == 1 else math.inf


@kernel
def write_jacobian(nodes, body_rows, parent_rows, cells, firsts, tree, bodies, columns, rows, terms):
    """Write the blocks of all rows that are eliminated one by one, from their terms."""
    for i in range(1, len(nodes)):
        node, parent = nodes[i], nodes[nodes[i].parent]
        for r in range(node.pivots):
            row, own, other = rows[node.first_row + r], body_rows[i] + r * node.cells, parent_rows[i] + r * parent.cells
            write_jacobian_row(node, cells, own, firsts, i, tree, bodies, columns, row, terms)
            if node.parent > 0:
                write_jacobian_row(parent, cells, other, firsts, node.parent, tree, bodies, columns, row, terms)


@kernel
def write_block(node, numbers, first, last, links, work):
    """Write S^T I S, lower triangle, of a body that is not rigid; its links are not coupled."""
    for k in range(6 * node.block, 6 * (node.block + node.n_dofs * node.cells)):
        numbers[k] = 0.0
    p = 0
    for i in range(first, last):
        link = links[i]
        A = effective_inertia(links, work, i)
        for j in range(link.nv):
            h = A @ column_of(work.columns[link.iv + j])
            for k in range(j, link.nv):
                place = 6 * (node.block + (p + k) * node.cells) + p + j
                numbers[place] = power(column_of(work.columns[link.iv + k]), h)
        p += link.nv


@formula
def write_jacobian_row(node, cells, cell, firsts, i, tree, bodies, columns, row, terms):
    """Write the Jacobian of a row by the coordinates of body i, from a cell on."""
    if node.n_dofs == 6:
        W = no_force()
        for k in range(row.first_term, row.last_term):
            if terms[k].body == firsts[i]:
                W = W + load_force(terms[k])
        store_force(cells.wrenches[cell], W)
    else:
        write_projected_row(node, cells.numbers, 6 * cell, firsts, i, tree, bodies, columns, row, terms)


@kernel
def write_projected_row(node, numbers, place, firsts, i, tree, bodies, columns, row, terms):
    """`write_jacobian_row` for a body that is not rigid, from the number `place` on."""
    for k in range(node.n_dofs):
        numbers[place + k] = 0.0
    for k in range(row.first_term, row.last_term):
        term, p = terms[k], place
        for n in range(firsts[i], firsts[i + 1]):
            link, W = tree.links[n], wrench_on_link(tree, bodies, term.body, load_force(term), n)
            for j in range(link.nv):
                numbers[p + j] += power(column_of(columns[link.iv + j]), W)
            p += link.nv


# --- right-hand sides and solutions -------------------------------------------------------------------------------
@kernel
def gather_forces(kkt, firsts, tree, work, x):
    """Collect the forces on the unknowns of all bodies into x, from the wrenches `work.wrenches`."""
    for i in range(1, len(kkt.nodes)):
        node, p = kkt.nodes[i], 6 * kkt.nodes[i].x
        if node.n_dofs == 6:
            store_force(x.wrenches[node.x], load_force(work.wrenches[firsts[i]]))
            continue
        for n in range(firsts[i], firsts[i + 1]):
            link, w = tree.links[n], load_force(work.wrenches[n])
            for j in range(link.nv):
                x.numbers[p + j] = power(column_of(work.columns[link.iv + j]), w)
            p += link.nv


@kernel
def scatter_motions(kkt, firsts, tree, work, x, y):
    """Copy the unknowns x of all bodies to the rates y (nv,), and compute (dw, dv) of the bodies."""
    for i in range(1, len(kkt.nodes)):
        node, p = kkt.nodes[i], 6 * kkt.nodes[i].x
        if node.n_dofs == 6:
            write_motion(tree.links[firsts[i]].iv, work.bodies[firsts[i]], x.wrenches[node.x], y)
            continue
        for n in range(firsts[i], firsts[i + 1]):
            link, V = tree.links[n], Motion(ZERO, ZERO)
            for j in range(link.nv):
                y[link.iv + j] = x.numbers[p + j]
                V = V + x.numbers[p + j] * column_of(work.columns[link.iv + j])
            store(work.bodies[n].dw, V.w)
            store(work.bodies[n].dv, V.v)
            p += link.nv


@formula
def write_motion(iv, body, change, y):
    """Store the velocity change of a rigid body, and its rates."""
    dw, dv = load(change.t), load(change.f)
    store(body.dw, dw)
    store(body.dv, dv)
    store(y[iv : iv + 3], dv)
    store(y[iv + 3 : iv + 6], dw)
