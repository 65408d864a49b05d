"""Bodies with any degrees of freedom: the nodes of `kkt.ldu_tree` in loops over numbers."""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.kkt.ldl_general import add_multiple, product, row, solve_l_row


# --- the factor of one block --------------------------------------------------------------------------------------
@formula
def factor_block(node, numbers):
    """Factor a body's block as L U, in place: reciprocal pivots on the diagonal, U above, L below."""
    n = node.n_dofs
    for p in range(n):
        pivot = row(node.block, p, node.cells) + p
        dinv = 1.0 / numbers[pivot]
        numbers[pivot] = dinv
        for k in range(p + 1, n):
            below = row(node.block, k, node.cells) + p
            entry = numbers[below] * dinv
            numbers[below] = entry
            add_multiple(numbers, below + 1, -entry, numbers, pivot + 1, n - p - 1)


@formula
def solve_ut_row(node, numbers, b, i):
    """Compute U^-T b in place."""
    for k in range(node.n_dofs):
        pivot = row(node.block, k, node.cells) + k
        b[i + k] *= numbers[pivot]
        add_multiple(b, i + k + 1, -b[i + k], numbers, pivot + 1, node.n_dofs - k - 1)


@formula
def solve_u_row(node, numbers, b, i):
    """Compute U^-1 b in place."""
    for k in range(node.n_dofs - 1, -1, -1):
        pivot = row(node.block, k, node.cells) + k
        above = product(numbers, pivot + 1, b, i + k + 1, node.n_dofs - k - 1)
        b[i + k] = (b[i + k] - above) * numbers[pivot]


# --- a body and its constraint ------------------------------------------------------------------------------------
@kernel
def eliminate_general(node, parent, numbers):
    """Eliminate a body and its constraint rows, and add the Schur complement to the parent's block."""
    factor_block(node, numbers)
    for r in range(node.last_row - node.first_row):
        y, g = row(node.body_rows, r, node.cells), row(node.parent_rows, r, parent.cells)
        w, h = row(node.body_rows_k, r, node.cells), row(node.parent_rows_k, r, parent.cells)
        solve_l_row(node, numbers, numbers, y)
        solve_ut_row(node, numbers, numbers, w)
        for s in range(r):
            y_s, g_s = row(node.body_rows, s, node.cells), row(node.parent_rows, s, parent.cells)
            w_s, h_s = row(node.body_rows_k, s, node.cells), row(node.parent_rows_k, s, parent.cells)
            q = product(numbers, y, numbers, w_s, node.n_dofs)
            p = product(numbers, w, numbers, y_s, node.n_dofs)
            add_multiple(numbers, y, -q, numbers, y_s, node.n_dofs)
            add_multiple(numbers, g, -q, numbers, g_s, parent.n_dofs)
            add_multiple(numbers, w, -p, numbers, w_s, node.n_dofs)
            add_multiple(numbers, h, -p, numbers, h_s, parent.n_dofs)
            numbers[row(node.lower, r, 1) + s] = q
            numbers[row(node.lower, s, 1) + r] = p
        einv = 1.0 / product(numbers, w, numbers, y, node.n_dofs)
        numbers[row(node.lower, r, 1) + r] = einv
        scale(numbers, w, einv, node.n_dofs)
        scale(numbers, h, einv, parent.n_dofs)
        for k in range(parent.n_dofs):
            add_multiple(numbers, row(parent.block, k, parent.cells), numbers[g + k], numbers, h, parent.n_dofs)


@formula
def scale(b, i, factor, n):
    """Multiply n numbers by a factor."""
    for k in range(n):
        b[i + k] *= factor


@kernel
def reduce_general(node, parent, numbers, x, y):
    """Inward pass for a body: eliminate its right-hand side and that of its rows, and add the rest to the parent's."""
    own, above = 6 * node.x, 6 * parent.x
    solve_l_row(node, numbers, x, own)
    for r in range(node.last_row - node.first_row):
        u = y[node.first_row + r] - product(numbers, row(node.body_rows_k, r, node.cells), x, own, node.n_dofs)
        y[node.first_row + r] = u
        add_multiple(x, above, u, numbers, row(node.parent_rows, r, parent.cells), parent.n_dofs)


@kernel
def recover_general(node, parent, numbers, x, y):
    """Outward pass for a body: compute mu of its rows and its motion from the motion of the parent."""
    own, above = 6 * node.x, 6 * parent.x
    for r in range(node.last_row - node.first_row):
        parent_part = product(numbers, row(node.parent_rows_k, r, parent.cells), x, above, parent.n_dofs)
        mu = y[node.first_row + r] - parent_part
        y[node.first_row + r] = mu
        add_multiple(x, own, mu, numbers, row(node.body_rows, r, node.cells), node.n_dofs)
    solve_u_row(node, numbers, x, own)
