"""Lagrange multipliers in O(n): sparse LDL^T factorization of the KKT matrix of a tree of bodies and constraints.

    [  M  -J^T ] [ a      ]   [  f ]
    [ -J    0  ] [ lambda ] = [ -c ]          so that  M a = f + J^T lambda,  J a = c

Bodies and constraints are the nodes of one tree: between a body and its parent is the constraint of its inboard joint,
with blocks j (rows x dofs of the body) and k (rows x dofs of the parent) of J. Elimination from the leaves to the roots
causes no fill-in; and as a constraint is never a leaf, its zero block is -j D^-1 j^T when it is eliminated.

    factor    body         D = M + contributions of the children = L d L^T
              constraint   j L^-T = K Y,  K unit lower,  Y d^-1 Y^T = e diagonal;  Z = K^-1 k
                           contribution to the parent:  Z^T e^-1 Z
    solve     inward       x = L^-1 (f + contributions of the children),  y = K^-1 c - Y d^-1 x
                           contribution to the parent:  Z^T e^-1 y
              outward      mu = e^-1 (y - Z a_parent),  a = L^-T d^-1 (x + Y^T mu),  lambda = K^-T mu

The factor K e K^T of the constraint's block is computed without forming that block: its rows are orthogonalized one
after the other (Gram-Schmidt), which does not square the condition number.  L, 1/d, Y, Z, K, 1/e overwrite M, j and k.

Nodes with six degrees of freedom of body and parent are computed by value (`kkt.ldl_rigid`), all others in loops
(`kkt.ldl_general`).

The passes are templates, which `kkt.ldu_tree` binds to unsymmetric nodes (`bound_kernel`).

Source: Baraff 1996, sections 6 and 7 and appendix A, with an L d L^T factorization for each inverse (footnote 8).
"""

from __future__ import annotations

from multibody_cli.kernel import bound_kernel, formula
from multibody_cli.kkt.ldl_general import eliminate_general, recover_general, reduce_general
from multibody_cli.kkt.ldl_rigid import eliminate_rigid, recover_rigid, reduce_rigid
from multibody_cli.spatial.memory import store_force
from multibody_cli.spatial.products import no_force


def factor_tree(tree):
    """Factor the matrix whose blocks are in the tree, in place: M positive definite, the rows of J independent."""
    nodes, cells = tree.nodes, tree.cells
    for i in range(len(nodes) - 1, 0, -1):
        node, outer = nodes[i], nodes[nodes[i].parent]
        if node.rigid:
            eliminate_rigid(node, outer, cells)
        else:
            eliminate_general(node, outer, cells.numbers)


def solve_tree(tree, x, y):
    """Solve with a factored tree, in place; the factors are not changed.

    Parameters
    ----------
    tree
        A factored KktTree.
    x
        Cells of `vector_for`: f on input, a on output; the entries of the ground are overwritten.
    y
        (rows,) c on input, the multipliers on output.
    """
    reduce(tree, x, y)
    recover(tree, x, y)


def reduce_tree(tree, x, y):
    """Inward pass: eliminate the right-hand sides of a factored tree."""
    nodes, cells = tree.nodes, tree.cells
    for i in range(len(nodes) - 1, 0, -1):
        node, outer = nodes[i], nodes[nodes[i].parent]
        solve_l_multipliers(node, cells.numbers, y)
        if node.rigid:
            reduce_rigid(node, outer, cells, x, y)
        else:
            reduce_general(node, outer, cells.numbers, x.numbers, y)


def recover_tree(tree, x, y):
    """Outward pass: compute motions and multipliers from the result of `reduce_tree`."""
    nodes, cells = tree.nodes, tree.cells
    store_force(x.wrenches[0], no_force())
    for i in range(1, len(nodes)):
        node, outer = nodes[i], nodes[nodes[i].parent]
        if node.rigid:
            recover_rigid(node, outer, cells, x, y)
        else:
            recover_general(node, outer, cells.numbers, x.numbers, y)
        solve_lt_multipliers(node, cells.numbers, y)


@formula
def solve_l_multipliers(node, numbers, y):
    """Compute K^-1 c in place."""
    count = node.last_row - node.first_row
    lower, rows = numbers[6 * node.lower : 6 * (node.lower + count)], y[node.first_row : node.last_row]
    for r in range(1, count):
        c = rows[r]
        for s in range(r):
            c = c - lower[6 * r + s] * rows[s]
        rows[r] = c


@formula
def solve_lt_multipliers(node, numbers, y):
    """Compute K^-T mu in place."""
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
