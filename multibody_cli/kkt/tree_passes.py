"""Passes over a tree of bodies and constraints that factor its KKT matrix and solve with the factors.

They are templates: `kkt.ldl_tree` and `kkt.ldu_tree` bind them to the operations at one node, of symmetric and of
unsymmetric matrices.  Nodes with six degrees of freedom of body and parent are *rigid*, all others *general*.  `outer`
is the node of the parent.
"""

from __future__ import annotations

from typing import Any

from multibody_cli.kernel import formula, kernel_parameter, template
from multibody_cli.spatial.memory import store_force
from multibody_cli.spatial.products import no_force


# --- operations at one node ---------------------------------------------------------------------------------------
@kernel_parameter
def eliminate_rigid(node: Any, outer: Any, cells: Any) -> None:
    """Factor the blocks of a rigid node and add its contribution to the parent."""


@kernel_parameter
def eliminate_general(node: Any, outer: Any, numbers: Any) -> None:
    """Factor the blocks of any node and add its contribution to the parent."""


@kernel_parameter
def solve_l_multipliers(node: Any, numbers: Any, y: Any) -> None:
    """Solve with the lower factor of the constraint's block, in place in the rows of the node."""


@kernel_parameter
def reduce_rigid(node: Any, outer: Any, cells: Any, x: Any, y: Any) -> None:
    """Eliminate the right-hand sides x and y of a rigid node."""


@kernel_parameter
def reduce_general(node: Any, outer: Any, numbers: Any, x: Any, y: Any) -> None:
    """Eliminate the right-hand sides x and y of any node."""


@kernel_parameter
def recover_rigid(node: Any, outer: Any, cells: Any, x: Any, y: Any) -> None:
    """Compute motion and multipliers of a rigid node from the motion of the parent."""


@kernel_parameter
def recover_general(node: Any, outer: Any, numbers: Any, x: Any, y: Any) -> None:
    """Compute motion and multipliers of any node from the motion of the parent."""


@formula
def solve_lt_multipliers(node, numbers, y):
    """Compute K^-T mu in place."""
    count = node.pivots
    lower, rows = numbers[6 * node.lower : 6 * (node.lower + count)], y[node.first_row : node.last_row]
    for r in range(count - 1, 0, -1):
        mu = rows[r]
        for s in range(r):
            rows[s] -= lower[6 * r + s] * mu


# --- passes -------------------------------------------------------------------------------------------------------
@template(eliminate_rigid, eliminate_general)
def factor_tree(tree):
    """Factor the matrix whose blocks are in the tree, in place: M positive definite, the rows of J independent."""
    nodes, cells = tree.nodes, tree.cells
    for i in range(len(nodes) - 1, 0, -1):
        node, outer = nodes[i], nodes[nodes[i].parent]
        if node.rigid:
            eliminate_rigid(node, outer, cells)
        else:
            eliminate_general(node, outer, cells.numbers)


@template(solve_l_multipliers, reduce_rigid, reduce_general, recover_rigid, recover_general)
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
    reduce_tree(tree, x, y)
    recover_tree(tree, x, y)


@template(solve_l_multipliers, reduce_rigid, reduce_general)
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


@template(recover_rigid, recover_general)
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
