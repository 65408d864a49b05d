"""Rigid bodies: the nodes of `kkt.ldu_tree` as 6 x 6 blocks by value, in the same memory.

A block is partitioned as [[A, B], [C, E]]: A, of the three angular unknowns, is eliminated first, then the Schur
complement E - C A^-1 B.
"""

from __future__ import annotations

from typing import NamedTuple

from multibody_cli.kernel import formula
from multibody_cli.spatial.factor import solve_lower
from multibody_cli.spatial.lu import Lu3, factor, solve_upper, solve_upper_transposed
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import inner, no_force, transposed_times
from multibody_cli.spatial.values import Force, Mat3, Vec3


class Lu6(NamedTuple):
    """LU factors of a 6 x 6 matrix: those of both diagonal blocks, the columns of U above, the rows of L below."""

    angular: Lu3
    above: Mat3  # by columns
    below: Mat3  # by rows
    linear: Lu3


# --- the factor of one block --------------------------------------------------------------------------------------
@formula
def factor_block(wrenches, k):
    """Factor the block in the six rows from k on as L U."""
    x, y, z = wrenches[k], wrenches[k + 1], wrenches[k + 2]
    X, Y, Z = wrenches[k + 3], wrenches[k + 4], wrenches[k + 5]
    factors = factor(columns(x.t, y.t, z.t))
    B, E = columns(x.f, y.f, z.f), columns(X.f, Y.f, Z.f)
    above = Mat3(solve_lower(factors, B.x), solve_lower(factors, B.y), solve_lower(factors, B.z))
    below = Mat3(
        solve_upper_transposed(factors, load(X.t)),
        solve_upper_transposed(factors, load(Y.t)),
        solve_upper_transposed(factors, load(Z.t)),
    )
    S = E - Mat3(transposed_times(below, above.x), transposed_times(below, above.y), transposed_times(below, above.z))
    return Lu6(factors, above, below, factor(S))


@formula
def columns(x, y, z):
    """The matrix whose rows are in three fields."""
    return Mat3(Vec3(x[0], y[0], z[0]), Vec3(x[1], y[1], z[1]), Vec3(x[2], y[2], z[2]))


@formula
def solve_l(factors, p):
    """Compute L^-1 p."""
    t = solve_lower(factors.angular, p.t)
    return Force(t, solve_lower(factors.linear, p.f - transposed_times(factors.below, t)))


@formula
def solve_ut(factors, p):
    """Compute U^-T p."""
    t = solve_upper_transposed(factors.angular, p.t)
    return Force(t, solve_upper_transposed(factors.linear, p.f - transposed_times(factors.above, t)))


@formula
def solve_u(factors, p):
    """Compute U^-1 p."""
    f = solve_upper(factors.linear, p.f)
    return Force(solve_upper(factors.angular, p.t - factors.above @ f), f)


# --- a factor in place of its block -------------------------------------------------------------------------------
@formula
def load_factor(wrenches, k):
    """Load the factor that is stored in place of its block."""
    x, y, z = wrenches[k], wrenches[k + 1], wrenches[k + 2]
    X, Y, Z = wrenches[k + 3], wrenches[k + 4], wrenches[k + 5]
    return Lu6(
        unpacked(x.t, y.t, z.t),
        columns(x.f, y.f, z.f),
        Mat3(load(X.t), load(Y.t), load(Z.t)),
        unpacked(X.f, Y.f, Z.f),
    )


@formula
def store_factor(wrenches, k, factors):
    """Store a factor in place of its block."""
    x, y, z = wrenches[k], wrenches[k + 1], wrenches[k + 2]
    X, Y, Z = wrenches[k + 3], wrenches[k + 4], wrenches[k + 5]
    pack(x.t, y.t, z.t, factors.angular)
    store(x.f, Vec3(factors.above.x.x, factors.above.y.x, factors.above.z.x))
    store(y.f, Vec3(factors.above.x.y, factors.above.y.y, factors.above.z.y))
    store(z.f, Vec3(factors.above.x.z, factors.above.y.z, factors.above.z.z))
    store(X.t, factors.below.x)
    store(Y.t, factors.below.y)
    store(Z.t, factors.below.z)
    pack(X.f, Y.f, Z.f, factors.linear)


@formula
def pack(x, y, z, factors):
    """Store a 3 x 3 factor in three rows: reciprocal pivots on the diagonal, U above, L below."""
    store(x, Vec3(factors.dinv.x, factors.upper.x, factors.upper.y))
    store(y, Vec3(factors.lower.x, factors.dinv.y, factors.upper.z))
    store(z, Vec3(factors.lower.y, factors.lower.z, factors.dinv.z))


@formula
def unpacked(x, y, z):
    """Load a factor stored by `pack`."""
    return Lu3(Vec3(x[0], y[1], z[2]), Vec3(x[1], x[2], y[2]), Vec3(y[0], z[0], z[1]))


# --- a body and its constraint ------------------------------------------------------------------------------------
@formula
def eliminate_rigid(node, parent, cells):
    """Eliminate a body and its constraint rows, and add the Schur complement to the parent's block."""
    wrenches, count = cells.wrenches, node.last_row - node.first_row
    body_rows = wrenches[node.body_rows : node.body_rows + count]
    parent_rows = wrenches[node.parent_rows : node.parent_rows + count]
    body_rows_k = wrenches[node.body_rows_k : node.body_rows_k + count]
    parent_rows_k = wrenches[node.parent_rows_k : node.parent_rows_k + count]
    lower = cells.numbers[6 * node.lower : 6 * (node.lower + count)]
    factors = factor_block(wrenches, node.block)
    store_factor(wrenches, node.block, factors)
    for r in range(count):
        y, g = solve_l(factors, load_force(body_rows[r])), load_force(parent_rows[r])
        w, h = solve_ut(factors, load_force(body_rows_k[r])), load_force(parent_rows_k[r])
        for s in range(r):
            y_s, w_s = load_force(body_rows[s]), load_force(body_rows_k[s])
            q, p = inner(y, w_s), inner(w, y_s)
            y = y - q * y_s
            w = w - p * w_s
            g = g - q * load_force(parent_rows[s])
            h = h - p * load_force(parent_rows_k[s])
            lower[6 * r + s] = q
            lower[6 * s + r] = p
        einv = 1.0 / inner(w, y)
        lower[7 * r] = einv
        store_force(body_rows[r], y)
        store_force(parent_rows[r], g)
        store_force(body_rows_k[r], einv * w)
        store_force(parent_rows_k[r], einv * h)
    for k in range(6):
        row = load_force(wrenches[parent.block + k])
        for r in range(count):
            row = row + cells.numbers[6 * (node.parent_rows + r) + k] * load_force(parent_rows_k[r])
        store_force(wrenches[parent.block + k], row)


@formula
def reduce_rigid(node, parent, cells, x, y):
    """Inward pass for a body: eliminate its right-hand side and that of its rows, and add the rest to the parent's."""
    wrenches, count = cells.wrenches, node.last_row - node.first_row
    body_rows_k = wrenches[node.body_rows_k : node.body_rows_k + count]
    parent_rows = wrenches[node.parent_rows : node.parent_rows + count]
    rows = y[node.first_row : node.last_row]
    p = solve_l(load_factor(wrenches, node.block), load_force(x.wrenches[node.x]))
    store_force(x.wrenches[node.x], p)
    parent_load = no_force()
    for r in range(count):
        u = rows[r] - inner(load_force(body_rows_k[r]), p)
        rows[r] = u
        parent_load = parent_load + u * load_force(parent_rows[r])
    store_force(x.wrenches[parent.x], load_force(x.wrenches[parent.x]) + parent_load)


@formula
def recover_rigid(node, parent, cells, x, y):
    """Outward pass for a body: compute mu of its rows and its motion from the motion of the parent."""
    wrenches, count = cells.wrenches, node.last_row - node.first_row
    body_rows = wrenches[node.body_rows : node.body_rows + count]
    parent_rows_k = wrenches[node.parent_rows_k : node.parent_rows_k + count]
    rows = y[node.first_row : node.last_row]
    p, a = load_force(x.wrenches[node.x]), load_force(x.wrenches[parent.x])
    for r in range(count):
        mu = rows[r] - inner(load_force(parent_rows_k[r]), a)
        rows[r] = mu
        p = p + mu * load_force(body_rows[r])
    store_force(x.wrenches[node.x], solve_u(load_factor(wrenches, node.block), p))
