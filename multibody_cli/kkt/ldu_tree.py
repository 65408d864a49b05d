"""Sparse LDU factorization of an unsymmetric KKT matrix of a tree of bodies and constraints, in O(n).

    [ D  -J^T ] [ x      ]   [ f ]
    [ K   0   ] [ lambda ] = [ c ]          so that  D x = f + J^T lambda,  K x = c

This is the unsymmetric form of `kkt.ldl_tree`: a constraint is between a body and its parent, with the blocks j (rows x
dofs of the body) and g (rows x dofs of the parent) of J, and k and h of K. Elimination from the leaves to the roots
causes no fill-in, and the zero block of a constraint is k D^-1 j^T when it is eliminated.

    factor    body         D + contributions of the children = L U, L unit lower
              constraint   j L^-T = Q Y,  k U^-1 = P W,  Q unit lower, P lower,  W Y^T = 1
                           contribution to the parent:  G^T H,  G = Q^-1 g,  H = P^-1 h
    solve     inward       p = L^-1 (f + contributions of the children),  u = P^-1 c - W p
                           contribution to the parent:  G^T u
              outward      mu = u - H x_parent,  x = U^-1 (p + Y^T mu),  lambda = Q^-T mu

The factor P Q^T of the constraint's block is computed without forming that block: the rows of W and Y are
biorthogonalized one after the other (two-sided Gram-Schmidt).  The D of L D U is part of U and of P. There is no
pivoting: the symmetric part of D is positive definite, and K is close to J. L and U overwrite D, with reciprocal
pivots; Y, G, W, H overwrite j, g, k, h; Q and P^T are stored in `lower`.

Nodes with six degrees of freedom of body and parent are computed by value (`kkt.ldu_rigid`), all others in loops
(`kkt.ldu_general`).

Source: Bruedigam and Manchester 2020, algorithms 3 and 4, with a pair of factors for the inverse of each block.
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.kkt.ldl_tree import solve_lt_multipliers
from multibody_cli.kkt.ldu_general import eliminate_general, recover_general, reduce_general
from multibody_cli.kkt.ldu_rigid import eliminate_rigid, recover_rigid, reduce_rigid
from multibody_cli.spatial.memory import store_force
from multibody_cli.spatial.products import no_force


@formula
def solve_l_multipliers(node, numbers, y):
    """Compute P^-1 c in place."""
    count = node.last_row - node.first_row
    lower, rows = numbers[6 * node.lower : 6 * (node.lower + count)], y[node.first_row : node.last_row]
    for r in range(count):
        c = rows[r]
        for s in range(r):
            c = c - lower[6 * s + r] * rows[s]
        rows[r] = c * lower[7 * r]


@kernel
def factor(tree):
    """Factor the matrix whose blocks are in the tree, in place."""
    nodes, cells = tree.nodes, tree.cells
    for i in range(len(nodes) - 1, 0, -1):
        node, parent = nodes[i], nodes[nodes[i].parent]
        if node.rigid:
            eliminate_rigid(node, parent, cells)
        else:
            eliminate_general(node, parent, cells.numbers)


@kernel
def solve(tree, x, y):
    """Solve with a factored tree, in place; the factors are not changed.

    Parameters
    ----------
    tree
        A factored KktTree.
    x
        Cells of `vector_for`: f on input, the solution on output; the entries of the ground are overwritten.
    y
        (rows,) c on input, the multipliers on output.
    """
    reduce(tree, x, y)
    recover(tree, x, y)


@kernel
def reduce(tree, x, y):
    """Inward pass: eliminate the right-hand sides of a factored tree."""
    nodes, cells = tree.nodes, tree.cells
    for i in range(len(nodes) - 1, 0, -1):
        node, parent = nodes[i], nodes[nodes[i].parent]
        solve_l_multipliers(node, cells.numbers, y)
        if node.rigid:
            reduce_rigid(node, parent, cells, x, y)
        else:
            reduce_general(node, parent, cells.numbers, x.numbers, y)


@kernel
def recover(tree, x, y):
    """Outward pass: compute the solution and the multipliers from the result of `reduce`."""
    nodes, cells = tree.nodes, tree.cells
    store_force(x.wrenches[0], no_force())
    for i in range(1, len(nodes)):
        node, parent = nodes[i], nodes[nodes[i].parent]
        if node.rigid:
            recover_rigid(node, parent, cells, x, y)
        else:
            recover_general(node, parent, cells.numbers, x.numbers, y)
        solve_lt_multipliers(node, cells.numbers, y)
