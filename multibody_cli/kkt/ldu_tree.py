"""The sparse L D U of an unsymmetric KKT matrix of a tree of bodies and constraints, in O(n).

    [ D  -J^T ] [ x      ]   [ f ]
    [ K   0   ] [ lambda ] = [ c ]          so that  D x = f + J^T lambda,  K x = c

As in `kkt.ldl_tree`, of which this is the unsymmetric sibling, a constraint stands between a body and its parent:
J has the blocks j (rows x freedoms of the body) and g (rows x freedoms of the parent) there, K has k and h.  Nothing
fills in from the leaves to the roots, and the zero block of a constraint has become  k D^-1 j^T  by its turn.

    factor    body         D + what its children left = L U, L unit lower
              constraint   j L^-T = Q Y,  k U^-1 = P W,  Q unit lower, P lower,  W Y^T = 1
                           it leaves  G^T H  to the parent:  G = Q^-1 g,  H = P^-1 h
    solve     inward       p = L^-1 (f + what its children passed on),  u = P^-1 c - W p
                           it passes on  G^T u
              outward      mu = u - H x_parent,  x = U^-1 (p + Y^T mu),  lambda = Q^-T mu

The factor  P Q^T  of the constraint's block is found without forming that block: the rows of W and Y are made
biorthogonal one after the other (Gram and Schmidt on two sides).  The D of L D U stands in U and in P.  No pivot is
searched for: the symmetric part of D is positive definite, and K is close to J.  L and U overwrite D, with reciprocal
pivots; Y, G, W, H overwrite j, g, k, h; Q and P^T fill `lower`.

Six freedoms held to six go by value (`kkt.ldu_rigid`), anything else in loops (`kkt.ldu_general`).

Source: Bruedigam and Manchester 2020, algorithms 3 and 4, the inverse of each block being a pair of factors.
"""

from __future__ import annotations

from multibody_cli.kernel import bound_kernel, formula
from multibody_cli.kkt.ldl_tree import factor_tree, recover_tree, reduce_tree, solve_tree
from multibody_cli.kkt.ldu_general import eliminate_general, recover_general, reduce_general
from multibody_cli.kkt.ldu_rigid import eliminate_rigid, recover_rigid, reduce_rigid


@formula
def lower_multipliers(node, numbers, y):
    """P^-1 c, in place."""
    count = node.last_row - node.first_row
    lower, rows = numbers[6 * node.lower : 6 * (node.lower + count)], y[node.first_row : node.last_row]
    for r in range(count):
        c = rows[r]
        for s in range(r):
            c = c - lower[6 * s + r] * rows[s]
        rows[r] = c * lower[7 * r]


factor = bound_kernel(factor_tree, eliminate_rigid=eliminate_rigid, eliminate_general=eliminate_general)
reduce = bound_kernel(
    reduce_tree,
    lower_multipliers=lower_multipliers,
    reduce_rigid=reduce_rigid,
    reduce_general=reduce_general,
)
recover = bound_kernel(recover_tree, recover_rigid=recover_rigid, recover_general=recover_general)
solve = bound_kernel(solve_tree, reduce=reduce, recover=recover)
