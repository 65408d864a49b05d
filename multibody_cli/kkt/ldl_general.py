"""Bodies with any degrees of freedom: the nodes of `kkt.ldl_tree` in loops over numbers.

A row is identified by the array and the index of its first number.
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel


@formula
def row(place, k, cells):
    """Index of row k of a block that begins at cell `place` and whose rows take `cells` each."""
    return 6 * (place + k * cells)


@formula
def product(a, i, b, j, n):
    """Inner product of n numbers."""
    total = 0.0
    for k in range(n):
        total += a[i + k] * b[j + k]
    return total


@formula
def add_multiple(a, i, factor, b, j, n):
    """Add a multiple of n numbers of b to those of a."""
    for k in range(n):
        a[i + k] += factor * b[j + k]


# --- the factor of one block --------------------------------------------------------------------------------------
@formula
def factor_block(node, numbers):
    """Factor a body's block as L d L^T, in place: reciprocal pivots on the diagonal, L below."""
    n = node.n_dofs
    for p in range(n):
        pivot = row(node.block, p, node.cells) + p
        dinv = 1.0 / numbers[pivot]
        numbers[pivot] = dinv
        for k in range(n - 1, p, -1):
            lower = row(node.block, k, node.cells)
            entry = numbers[lower + p] * dinv
            for q in range(p + 1, k + 1):
                numbers[lower + q] -= entry * numbers[row(node.block, q, node.cells) + p]
            numbers[lower + p] = entry


@formula
def solve_l_row(node, numbers, b, i):
    """Compute L^-1 b in place, for the row of b that begins at i."""
    for k in range(1, node.n_dofs):
        b[i + k] -= product(numbers, row(node.block, k, node.cells), b, i, k)


@formula
def solve_lt_row(node, numbers, b, i):
    """Compute L^-T b in place."""
    for k in range(node.n_dofs - 1, 0, -1):
        add_multiple(b, i, -b[i + k], numbers, row(node.block, k, node.cells), k)


@formula
def solve_d_row(node, numbers, b, i):
    """Compute d^-1 b in place."""
    for k in range(node.n_dofs):
        b[i + k] *= numbers[row(node.block, k, node.cells) + k]


@formula
def weighted(node, numbers, i, b, j):
    """Weighted inner product a . d^-1 b, for a row of the tree and any other row."""
    total = 0.0
    for k in range(node.n_dofs):
        total += numbers[i + k] * b[j + k] * numbers[row(node.block, k, node.cells) + k]
    return total


@formula
def reciprocal_pivot(pivot, threshold):
    """Reciprocal pivot of a row; 0 below the threshold: the row then has no multiplier and no effect."""
    return 0.0 if pivot < threshold else 1.0 / pivot


# --- a body and its constraint ------------------------------------------------------------------------------------
@kernel
def eliminate_general(node, parent, numbers):
    """Eliminate a body and its constraint rows, and add the Schur complement to the parent's block."""
    factor_block(node, numbers)
    for r in range(node.last_row - node.first_row):
        y, z, lower = row(node.body_rows, r, node.cells), row(node.parent_rows, r, parent.cells), row(node.lower, r, 1)
        solve_l_row(node, numbers, numbers, y)
        for s in range(r):
            y_s, lower_s = row(node.body_rows, s, node.cells), row(node.lower, s, 1)
            z_s = row(node.parent_rows, s, parent.cells)
            coefficient = weighted(node, numbers, y, numbers, y_s) * numbers[lower_s + s]
            add_multiple(numbers, y, -coefficient, numbers, y_s, node.n_dofs)
            add_multiple(numbers, z, -coefficient, numbers, z_s, parent.n_dofs)
            numbers[lower + s] = coefficient
        einv = reciprocal_pivot(weighted(node, numbers, y, numbers, y), numbers[lower + r])
        numbers[lower + r] = einv
        for k in range(parent.n_dofs):
            add_multiple(numbers, row(parent.block, k, parent.cells), einv * numbers[z + k], numbers, z, k + 1)
    for r in range(node.last_row - node.first_row):
        solve_d_row(node, numbers, numbers, row(node.body_rows, r, node.cells))


@kernel
def reduce_general(node, parent, numbers, x, y):
    """Inward pass for a body: eliminate its right-hand side and that of its rows, and add the rest to the parent's."""
    own, above = 6 * node.x, 6 * parent.x
    solve_l_row(node, numbers, x, own)
    for r in range(node.last_row - node.first_row):
        u = y[node.first_row + r] - product(numbers, row(node.body_rows, r, node.cells), x, own, node.n_dofs)
        y[node.first_row + r] = u
        scaled = u * numbers[row(node.lower, r, 1) + r]
        add_multiple(x, above, scaled, numbers, row(node.parent_rows, r, parent.cells), parent.n_dofs)


@kernel
def recover_general(node, parent, numbers, x, y):
    """Outward pass for a body: compute mu of its rows and its motion from the motion of the parent."""
    own = 6 * node.x
    solve_d_row(node, numbers, x, own)
    for r in range(node.last_row - node.first_row):
        z = row(node.parent_rows, r, parent.cells)
        u = y[node.first_row + r] - product(numbers, z, x, 6 * parent.x, parent.n_dofs)
        mu = u * numbers[row(node.lower, r, 1) + r]
        y[node.first_row + r] = mu
        add_multiple(x, own, mu, numbers, row(node.body_rows, r, node.cells), node.n_dofs)
    solve_lt_row(node, numbers, x, own)
