"""Lagrange multipliers in O(n): sparse LDL^T factorization of the KKT matrix of a tree of bodies and constraints.

    [  M  -J^T ] [ a      ]   [  f ]
    [ -J    0  ] [ lambda ] = [ -c ]          so that  M a = f + J^T lambda,  J a = c

Bodies and constraints are the nodes of one tree: between a body and its parent is the constraint of its inboard joint,
with blocks j (rows x dofs of the body) and k (rows x dofs of the parent) of J. Elimination from the leaves to the roots
causes no fill-in; and as a constraint is never a leaf, its zero block is -j D^-1 j^T when it is eliminated.

    factor    body         D = M + contributions of the children = L d L^T
              constraint   j L^-T = K Y,  K unit lower,  Y d^-1 Y^T = e diagonal;  W = Y d^-1,  Z = K^-1 k
                           contribution to the parent:  Z^T e^-1 Z
    solve     inward       x = L^-1 (f + contributions of the children),  y = K^-1 c - W x
                           contribution to the parent:  Z^T e^-1 y
              outward      mu = e^-1 (y - Z a_parent),  a = L^-T (d^-1 x + W^T mu),  lambda = K^-T mu

The factor K e K^T of the constraint's block is computed without forming that block: its rows are orthogonalized one
after the other (Gram-Schmidt), which does not square the condition number.  L, 1/d, W, Z, K, 1/e overwrite M, j and k.
A row whose pivot in e is below its threshold is left out, with 0 in place of 1/e.

A rigid body on a joint is one block with its constraint (`kkt.ldl_joint`).  Other nodes with six degrees of freedom of
body and parent are computed by value too (`kkt.ldl_rigid`), all others in loops (`kkt.ldl_general`).

    Baraff                    here
    (8)                       the system above, with (f, -c) in place of (0, -b)
    7.3, `sparsefactor`       `eliminate`, over a tree by `constraint_solver.constrained_nodes.factor`
    7.3, `sparsesolve`        `reduce` and `recover`, over a tree by `constrained_nodes.solve`
    appendix A, `ordermatrix` `packing.body_order.plan_elimination`

Source: Baraff 1996, sections 6 and 7 and appendix A, with an L d L^T factorization for each inverse (footnote 8).
"""

from __future__ import annotations

from multibody_cli.kernel import formula
from multibody_cli.kkt.ldl_general import eliminate_general, recover_general, reduce_general
from multibody_cli.kkt.ldl_joint import eliminate_joint, recover_joint, recover_rotor, reduce_joint, reduce_rotor
from multibody_cli.kkt.ldl_rigid import eliminate_rigid, recover_rigid, reduce_rigid
from multibody_cli.kkt.nodes import BY_ROWS, ROTOR


# --- operations at one node ---------------------------------------------------------------------------------------
@formula
def eliminate(node, parent, cells):
    """Factor the blocks of a body and its constraint, and add their contribution to the parent's block."""
    if node.joint == ROTOR:
        pass  # its block is its inertia, which its joint takes
    elif not node.rigid:
        eliminate_general(node, parent, cells.numbers)
    elif node.joint == BY_ROWS:
        eliminate_rigid(node, parent, cells)
    else:
        eliminate_joint(node, parent, cells)


@formula
def reduce(node, parent, cells, x, y):
    """Eliminate the right-hand sides of a body and its constraint."""
    solve_l_multipliers(node, cells.numbers, y)
    if node.joint == ROTOR:
        reduce_rotor(node, cells.numbers, x.numbers, y)
    elif not node.rigid:
        reduce_general(node, parent, cells.numbers, x.numbers, y)
    elif node.joint == BY_ROWS:
        reduce_rigid(node, parent, cells, x, y)
    else:
        reduce_joint(node, parent, cells, x, y)


@formula
def recover(node, parent, cells, x, y, with_multipliers):
    """Compute motion and multipliers of a body and its constraint from the motion of the parent.

    The multipliers of a joint that is one block with its body may be left out.
    """
    if node.joint == ROTOR:
        recover_rotor(node, cells.numbers, x.numbers, y)
    elif not node.rigid:
        recover_general(node, parent, cells.numbers, x.numbers, y)
    elif node.joint == BY_ROWS:
        recover_rigid(node, parent, cells, x, y)
    else:
        recover_joint(node, parent, cells, x, y, with_multipliers)
    solve_lt_multipliers(node, cells.numbers, y)


# --- the triangular factor of a constraint ------------------------------------------------------------------------
@formula
def solve_l_multipliers(node, numbers, y):
    """Compute K^-1 c in place."""
    count = node.pivots
    lower, rows = numbers[6 * node.lower : 6 * (node.lower + count)], y[node.first_row : node.last_row]
    for r in range(1, count):
        c = rows[r]
        for s in range(r):
            c = c - lower[6 * r + s] * rows[s]
        rows[r] = c


@formula
def solve_lt_multipliers(node, numbers, y):
    """Compute K^-T mu in place; the constraints of unsymmetric trees have their Q in the same places."""
    count = node.pivots
    lower, rows = numbers[6 * node.lower : 6 * (node.lower + count)], y[node.first_row : node.last_row]
    for r in range(count - 1, 0, -1):
        mu = rows[r]
        for s in range(r):
            rows[s] -= lower[6 * r + s] * mu
