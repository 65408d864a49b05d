"""Any number of freedoms held to any other: the nodes of `kkt.ldu_tree` in loops over numbers."""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.kkt.ldl_general import add_multiple, lower_row, product, row


# --- the factor of one block --------------------------------------------------------------------------------------
@formula
def factor_block(node, numbers):
    """L U of a body's block, in place: reciprocal pivots on the diagonal, U above, L below."""
    n = node.freedoms
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
def cross_row(node, numbers, b, i):
    """U^-T b, in place."""
    for k in range(node.freedoms):
        pivot = row(node.block, k, node.cells) + k
        b[i + k] *= numbers[pivot]
        add_multiple(b, i + k + 1, -b[i + k], numbers, pivot + 1, node.freedoms - k - 1)


@formula
def raise_row(node, numbers, b, i):
    """U^-1 b, in place."""
    for k in range(node.freedoms - 1, -1, -1):
        pivot = row(node.block, k, node.cells) + k
        above = product(numbers, pivot + 1, b, i + k + 1, node.freedoms - k - 1)
        b[i + k] = (b[i + k] - above) * numbers[pivot]


# --- a body and its constraint ------------------------------------------------------------------------------------
@kernel
def eliminate_general(node, outer, numbers):
    """Eliminate a body and the rows that hold it, and add what they leave to the parent's block."""
    factor_block(node, numbers)
    for r in range(node.last_row - node.first_row):
        y, g = row(node.near, r, node.cells), row(node.far, r, outer.cells)
        w, h = row(node.near_aim, r, node.cells), row(node.far_aim, r, outer.cells)
        lower_row(node, numbers, numbers, y)
        cross_row(node, numbers, numbers, w)
        for s in range(r):
            y_s, g_s = row(node.near, s, node.cells), row(node.far, s, outer.cells)
            w_s, h_s = row(node.near_aim, s, node.cells), row(node.far_aim, s, outer.cells)
            q = product(numbers, y, numbers, w_s, node.freedoms)
            p = product(numbers, w, numbers, y_s, node.freedoms)
            add_multiple(numbers, y, -q, numbers, y_s, node.freedoms)
            add_multiple(numbers, g, -q, numbers, g_s, outer.freedoms)
            add_multiple(numbers, w, -p, numbers, w_s, node.freedoms)
            add_multiple(numbers, h, -p, numbers, h_s, outer.freedoms)
            numbers[row(node.lower, r, 1) + s] = q
            numbers[row(node.lower, s, 1) + r] = p
        einv = 1.0 / product(numbers, w, numbers, y, node.freedoms)
        numbers[row(node.lower, r, 1) + r] = einv
        scale(numbers, w, einv, node.freedoms)
        scale(numbers, h, einv, outer.freedoms)
        for k in range(outer.freedoms):
            add_multiple(numbers, row(outer.block, k, outer.cells), numbers[g + k], numbers, h, outer.freedoms)


@formula
def scale(b, i, factor, n):
    """Multiply n numbers."""
    for k in range(n):
        b[i + k] *= factor


@kernel
def reduce_general(node, outer, numbers, x, y):
    """Carry the right-hand side of a body and its rows on to the parent."""
    own, passed = 6 * node.x, 6 * outer.x
    lower_row(node, numbers, x, own)
    for r in range(node.last_row - node.first_row):
        u = y[node.first_row + r] - product(numbers, row(node.near_aim, r, node.cells), x, own, node.freedoms)
        y[node.first_row + r] = u
        add_multiple(x, passed, u, numbers, row(node.far, r, outer.cells), outer.freedoms)


@kernel
def recover_general(node, outer, numbers, x, y):
    """Work out mu of the rows, and the body's motion, from the motion of the parent."""
    own, above = 6 * node.x, 6 * outer.x
    for r in range(node.last_row - node.first_row):
        asked = product(numbers, row(node.far_aim, r, outer.cells), x, above, outer.freedoms)
        mu = y[node.first_row + r] - asked
        y[node.first_row + r] = mu
        add_multiple(x, own, mu, numbers, row(node.near, r, node.cells), node.freedoms)
    raise_row(node, numbers, x, own)
