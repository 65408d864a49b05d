"""Lagrange multipliers in O(n): the sparse L D L^T of the KKT matrix of a tree of bodies and constraints.

    [  M  -J^T ] [ a      ]   [  f ]
    [ -J    0  ] [ lambda ] = [ -c ]          so that  M a = f + J^T lambda,  J a = c

Bodies and constraints are the nodes of one tree: between a body and its parent stands the constraint that holds it,
with blocks j (rows x freedoms of the body) and k (rows x freedoms of the parent) of J.  Eliminated from the leaves to
the roots nothing fills in; and as a constraint is never a leaf, its zero block has become  -j D^-1 j^T  by its turn.

    factor    body         D = M + what its children left = L d L^T
              constraint   j L^-T = K Y,  K unit lower,  Y d^-1 Y^T = e diagonal;  Z = K^-1 k
                           it leaves  Z^T e^-1 Z  to the parent
    solve     inward       x = L^-1 (f + what its children passed on),  y = K^-1 c - Y d^-1 x
                           it passes on  Z^T e^-1 y
              outward      mu = e^-1 (y - Z a_parent),  a = L^-T d^-1 (x + Y^T mu),  lambda = K^-T mu

The factor  K e K^T  of the constraint's block is found without forming that block: its rows are made orthogonal one
after the other (Gram and Schmidt), which squares no condition number.  L, 1/d, Y, Z, K, 1/e overwrite M, j and k.

Six freedoms held to six go by value (`kkt.ldl_rigid`), anything else in loops (`kkt.ldl_general`).

The passes are templates, which `kkt.ldu_tree` binds to unsymmetric nodes (`bound_kernel`).

Source: Baraff 1996, sections 6 and 7 and appendix A, each inverse being an L d L^T (footnote 8).
"""

from __future__ import annotations

from multibody_cli.kernel import bound_kernel, formula
from multibody_cli.kkt.ldl_general import eliminate_general, recover_general, reduce_general
from multibody_cli.kkt.ldl_rigid import eliminate_rigid, recover_rigid, reduce_rigid
from multibody_cli.spatial.memory import store_force
from multibody_cli.spatial.products import no_force


def factor_tree(tree):
    """Factor the matrix whose blocks lie in the tree, in place: M positive definite, the rows of J independent."""
    nodes, cells = tree.nodes, tree.cells
    for i in range(len(nodes) - 1, 0, -1):
        node, outer = nodes[i], nodes[nodes[i].parent]
        if node.rigid:
            eliminate_rigid(node, outer, cells)
        else:
            eliminate_general(node, outer, cells.numbers)


def solve_tree(tree, x, y):
    """Solve with a factored tree, in place, as often as wanted.

    Parameters
    ----------
    tree
        A KktTree that has been factored.
    x
        Cells of `vector_for`: f in, a out; what it says of the ground is lost.
    y
        (rows,) c in, the multipliers out.
    """
    reduce(tree, x, y)
    recover(tree, x, y)


def reduce_tree(tree, x, y):
    """Carry the right-hand sides of a factored tree inward."""
    nodes, cells = tree.nodes, tree.cells
    for i in range(len(nodes) - 1, 0, -1):
        node, outer = nodes[i], nodes[nodes[i].parent]
        lower_multipliers(node, cells.numbers, y)
        if node.rigid:
            reduce_rigid(node, outer, cells, x, y)
        else:
            reduce_general(node, outer, cells.numbers, x.numbers, y)


def recover_tree(tree, x, y):
    """Work out motions and multipliers outward, from what `reduce_tree` has left."""
    nodes, cells = tree.nodes, tree.cells
    store_force(x.wrenches[0], no_force())
    for i in range(1, len(nodes)):
        node, outer = nodes[i], nodes[nodes[i].parent]
        if node.rigid:
            recover_rigid(node, outer, cells, x, y)
        else:
            recover_general(node, outer, cells.numbers, x.numbers, y)
        raise_multipliers(node, cells.numbers, y)


@formula
def lower_multipliers(node, numbers, y):
    """K^-1 c, in place."""
    count = node.last_row - node.first_row
    lower, rows = numbers[6 * node.lower : 6 * (node.lower + count)], y[node.first_row : node.last_row]
    for r in range(1, count):
        c = rows[r]
        for s in range(r):
            c = c - lower[6 * r + s] * rows[s]
        rows[r] = c


@formula
def raise_multipliers(node, numbers, y):
    """K^-T mu, in place."""
    count = node.last_row - node.first_row
    lower, rows = numbers[6 * node.lower : 6 * (node.lower + count)], y[node.first_row : node.last_row]
    for r in range(count - 1, 0, -1):
        mu = rows[r]
        for s in range(r):
            rows[s] -= lower[6 * r + s] * mu


factor = bound_kernel(
    factor_tree,
)
reduce = bound_kernel(
    reduce_tree,
)
recover = bound_kernel(
    recover_tree,
)
solve = bound_kernel(
    solve_tree,
)
