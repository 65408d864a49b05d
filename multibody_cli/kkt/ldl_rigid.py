"""Six freedoms held to six: what `kkt.ldl_tree` does in loops, by value and on the same memory.

Six numbers are a wrench (t, f), or a motion (w, v); the lower triangle of a block is an Inertia [[J, H], [H^T, M]].
J is eliminated first, then the Schur complement M - H^T J^-1 H: a body on a ball hands on nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

from multibody_cli.kernel import formula
from multibody_cli.spatial.factor import Ldl3, factor, solve_lower, solve_upper
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import dot, no_force, rank_one, scaled, symmetric_product, transposed_times
from multibody_cli.spatial.values import Force, Inertia, Mat3, Sym3, Vec3


class Ldl6(NamedTuple):
    """L D L^T of an Inertia: the factors of both diagonal blocks, and the lower left block of L, transposed."""

    turning: Ldl3
    coupling: Mat3
    moving: Ldl3


# --- the factor of one block --------------------------------------------------------------------------------------
@formula
def factor_inertia(A):
    """A = L D L^T for a positive definite Inertia."""
    F = factor(A.J)
    Y = Mat3(solve_lower(F, A.H.x), solve_lower(F, A.H.y), solve_lower(F, A.H.z))
    C = Mat3(scaled(F.dinv, Y.x), scaled(F.dinv, Y.y), scaled(F.dinv, Y.z))
    return Ldl6(F, C, factor(A.M - symmetric_product(Y, C)))


@formula
def lowered(F, p):
    """L^-1 p."""
    t = solve_lower(F.turning, p.t)
    return Force(t, solve_lower(F.moving, p.f - transposed_times(F.coupling, t)))


@formula
def divided(F, p):
    """D^-1 p."""
    return Force(scaled(F.turning.dinv, p.t), scaled(F.moving.dinv, p.f))


@formula
def raised(F, p):
    """L^-T p."""
    f = solve_upper(F.moving, p.f)
    return Force(solve_upper(F.turning, p.t - F.coupling @ f), f)


@formula
def inner(a, b):
    """Sum of the products of six numbers each."""
    return dot(a.t, b.t) + dot(a.f, b.f)


# --- a block in memory: six rows of six ---------------------------------------------------------------------------
@formula
def load_block(wrenches, k):
    """The Inertia whose lower triangle lies in the rows from k on."""
    x, y, z = wrenches[k].t, wrenches[k + 1].t, wrenches[k + 2].t
    X, Y, Z = wrenches[k + 3], wrenches[k + 4], wrenches[k + 5]
    H = Mat3(load(X.t), load(Y.t), load(Z.t))
    return Inertia(load_triangle(x, y, z), H, load_triangle(X.f, Y.f, Z.f))


@formula
def store_block(wrenches, k, A):
    """Keep the lower triangle of an Inertia in the rows from k on."""
    store_triangle(wrenches[k].t, wrenches[k + 1].t, wrenches[k + 2].t, A.J)
    X, Y, Z = wrenches[k + 3], wrenches[k + 4], wrenches[k + 5]
    store(X.t, A.H.x)
    store(Y.t, A.H.y)
    store(Z.t, A.H.z)
    store_triangle(X.f, Y.f, Z.f, A.M)


@formula
def load_triangle(x, y, z):
    """The symmetric matrix whose lower triangle lies in three rows."""
    return Sym3(x[0], y[0], z[0], y[1], z[1], z[2])


@formula
def store_triangle(x, y, z, A):
    """Keep the lower triangle of a symmetric matrix in three rows."""
    x[0] = A.xx
    y[0] = A.xy
    y[1] = A.yy
    z[0] = A.xz
    z[1] = A.yz
    z[2] = A.zz


@formula
def load_factor(wrenches, k):
    """The factor that lies in place of its block."""
    A = load_block(wrenches, k)
    return Ldl6(unpacked(A.J), A.H, unpacked(A.M))


@formula
def store_factor(wrenches, k, F):
    """Keep a factor in place of its block."""
    store_block(wrenches, k, Inertia(packed(F.turning), F.coupling, packed(F.moving)))


@formula
def packed(F):
    """A factor where its matrix was: reciprocal pivots on the diagonal, L below."""
    return Sym3(F.dinv.x, F.lower.x, F.lower.y, F.dinv.y, F.lower.z, F.dinv.z)


@formula
def unpacked(A):
    """The factor that was `packed`."""
    return Ldl3(Vec3(A.xx, A.yy, A.zz), Vec3(A.xy, A.xz, A.yz))


# --- a body and its constraint ------------------------------------------------------------------------------------
@formula
def eliminate_rigid(node, outer, cells):
    """Eliminate a body and the rows that hold it, and add what they leave to the parent's block."""
    wrenches, count = cells.wrenches, node.last_row - node.first_row
    near, far = wrenches[node.near : node.near + count], wrenches[node.far : node.far + count]
    lower = cells.numbers[6 * node.lower : 6 * (node.lower + count)]
    F = factor_inertia(load_block(wrenches, node.block))
    store_factor(wrenches, node.block, F)
    for r in range(count):
        y, z = lowered(F, load_force(near[r])), load_force(far[r])
        for s in range(r):
            y_s = load_force(near[s])
            along = inner(y, divided(F, y_s)) * lower[7 * s]
            y = y - along * y_s
            z = z - along * load_force(far[s])
            lower[6 * r + s] = along
        lower[7 * r] = 1.0 / inner(y, divided(F, y))
        store_force(near[r], y)
        store_force(far[r], z)
    A = load_block(wrenches, outer.block)
    for r in range(count):
        z = load_force(far[r])
        A = A + rank_one(lower[7 * r] * z, z)
    store_block(wrenches, outer.block, A)


@formula
def reduce_rigid(node, outer, cells, x, y):
    """Carry the right-hand side of a body and its rows on to the parent."""
    wrenches, count = cells.wrenches, node.last_row - node.first_row
    near, far = wrenches[node.near : node.near + count], wrenches[node.far : node.far + count]
    lower = cells.numbers[6 * node.lower : 6 * (node.lower + count)]
    rows = y[node.first_row : node.last_row]
    F = load_factor(wrenches, node.block)
    p = lowered(F, load_force(x.wrenches[node.x]))
    store_force(x.wrenches[node.x], p)
    q = divided(F, p)
    passed = no_force()
    for r in range(count):
        u = rows[r] - inner(load_force(near[r]), q)
        rows[r] = u
        passed = passed + (u * lower[7 * r]) * load_force(far[r])
    store_force(x.wrenches[outer.x], load_force(x.wrenches[outer.x]) + passed)


@formula
def recover_rigid(node, outer, cells, x, y):
    """Work out mu of the rows, and the body's motion, from the motion of the parent."""
    wrenches, count = cells.wrenches, node.last_row - node.first_row
    near, far = wrenches[node.near : node.near + count], wrenches[node.far : node.far + count]
    lower = cells.numbers[6 * node.lower : 6 * (node.lower + count)]
    rows = y[node.first_row : node.last_row]
    p, a = load_force(x.wrenches[node.x]), load_force(x.wrenches[outer.x])
    for r in range(count):
        mu = (rows[r] - inner(load_force(far[r]), a)) * lower[7 * r]
        rows[r] = mu
        p = p + mu * load_force(near[r])
    F = load_factor(wrenches, node.block)
    store_force(x.wrenches[node.x], raised(F, divided(F, p)))
