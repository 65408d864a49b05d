"""Factors W = B B^T of the Delassus matrix of a contact step (`friction.problem`).

The response of an articulation is sampled by unit impulses, its *impulse basis*: along the six axes of each body, or
along each of its rows if these are fewer.  With A the velocities of the basis after unit impulses of the basis, and G
the velocities of the rows after the same impulses,

    A = L L^T,   B = G L^-T,   xi0 = L^-1 (velocities of the basis),

where L is formed from the independent basis impulses.  They are chosen by their relative pivots (`linalg.pivoted_lu`):
a link near the plane of its hinges responds to some axes by a millionth of its response to others, and elimination in
the order of axes would amplify round-off until dependent axes count as independent.  Articulations do not interact, so
that the k-th basis impulses of all articulations are applied at once: any number of free bodies takes six applications
of the inverse mass matrix.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_joints import apply_loop_impulses, compute_loop_rates
from multibody_cli.constraint_solver.solver import clear_impulses, zero_rhs
from multibody_cli.contact_solver.friction.problem import BLOCKS_PER_ROW, NODE
from multibody_cli.contact_solver.friction.six_columns import add_power, solve_row
from multibody_cli.contact_solver.islands import body_of_term
from multibody_cli.kernel import formula, kernel, template
from multibody_cli.linalg.pivoted_lu import DEPENDENT_PIVOT, PIVOT_THRESHOLD
from multibody_cli.method_kernels import apply_inverse_mass
from multibody_cli.model import Floats, Integers
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import dot, power
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.jacobian import column_of
from multibody_cli.tree.markers import transfer_marker_wrenches, update_marker_changes

MAX_ENTRIES = 1 << 26
"""Largest number of entries allocated for B."""

AXES = 6

ROUND_OFF = 1e-12
"""Diagonal entry of A that counts as 0 where primary rows balance it, relative to the response of the articulation as
one rigid body.
"""

TINY = 1e-300
"""Smallest mass and inertia of an articulation, kg and kg m^2."""

NEGLIGIBLE_RESPONSE = 1e-28
"""Diagonal entry of A, relative to the largest, that counts as 0: the squared round-off of a Jacobian."""


class Factors(NamedTuple):
    """Factors of all articulations, for l articulations, n basis impulses and m rows."""

    basis: Integers  # (l,) number of basis impulses of each articulation
    from_rows: Integers  # (l,) whether the basis consists of rows
    samples: Integers  # (l,) whether the responses of some rows are sampled
    rank: Integers  # (l,) number of independent basis impulses
    A: Floats  # matrices A of all articulations, one after the other; overwritten by L
    first_A: Integers  # (l,) start of the matrix of an articulation
    xi0: Floats  # (n,) normal velocities without impulses
    first_velocity: Integers  # (l,) start of the normal velocities of an articulation
    B: Floats  # body blocks of all rows
    first: Integers  # (m, 2) start of each body block of a row in B
    round_off: Floats  # (n,) diagonal entry of A up to which it counts as 0: round-off where rows are primary, else 0
    order: Integers  # (n,) basis impulses of one articulation in the order of elimination, the independent ones first
    size: Floats  # (n,) their diagonal entries of A; 0 for those that count as 0
    pivot: Floats  # (n,) their remaining pivots
    column: Floats  # (n,) scratch
    upper: Floats  # (36,) transposed L of one free body


def factors_for(bodies: int, m: int) -> Factors:
    """Allocate the factors for so many bodies and m rows; untouched pages take no memory."""
    n = AXES * bodies
    widest = min(n, BLOCKS_PER_ROW * m)
    return Factors(
        basis=np.zeros(bodies, np.int64),
        from_rows=np.zeros(bodies, np.int64),
        samples=np.zeros(bodies, np.int64),
        rank=np.zeros(bodies, np.int64),
        A=np.zeros(n * widest),
        first_A=np.zeros(bodies, np.int64),
        xi0=np.zeros(n),
        first_velocity=np.zeros(bodies, np.int64),
        B=np.zeros(min(BLOCKS_PER_ROW * m * filled(widest), MAX_ENTRIES)),
        first=np.zeros((m, BLOCKS_PER_ROW), np.int64),
        round_off=np.zeros(n),
        order=np.zeros(n, np.int64),
        size=np.zeros(n),
        pivot=np.zeros(n),
        column=np.zeros(n),
        upper=np.zeros(NODE * NODE),
    )


@formula
def filled(width):
    """Return the width of a block in B, up to the next multiple of six."""
    return (width + NODE - 1) // NODE * NODE


# --- body blocks ------------------------------------------------------------------------------------------------------
@kernel
def apply_block_impulse(row, terms, articulation, G, wrenches, x):
    """Add the impulses of a unit multiplier of a row on one articulation."""
    for k in range(row.first_term, row.last_term):
        term = terms[k]
        body = body_of_term(term, G)
        if body > 0 and G.articulation[body] == articulation:
            if term.iv >= 0:
                x[term.iv] += term.coefficient
            else:
                store_force(wrenches[body], load_force(wrenches[body]) + load_force(term))


@kernel
def block_velocity(row, terms, articulation, G, bodies, y, changed) -> float:
    """Return the velocity of a row due to one articulation.

    The motion is that of the bodies with rates y (nv,), or, if `changed`, their change of motion with changes y.
    """
    total = 0.0
    for k in range(row.first_term, row.last_term):
        term = terms[k]
        at = body_of_term(term, G)
        if at > 0 and G.articulation[at] == articulation:
            if term.iv >= 0:
                total += term.coefficient * y[term.iv]
            else:
                body = bodies[at]
                twist = Motion(load(body.dw), load(body.dv)) if changed else Motion(load(body.w), load(body.v))
                total += power(twist, load_force(term))
    return total


# --- impulse basis ----------------------------------------------------------------------------------------------------
@kernel
def choose_impulse_basis(articulations, rows, terms, G, T) -> int:
    """Choose the impulse basis of each articulation and lay out B; return the largest basis, -1 if B is too large."""
    place_A = place_B = widest = 0
    for c in range(articulations):
        own = G.first_body_block[c + 1] - G.first_body_block[c]
        axes = AXES * (G.first_body[c + 1] - G.first_body[c])
        T.from_rows[c] = own < axes
        g = min(own, axes)
        T.basis[c] = g
        T.first_A[c] = place_A
        place_A += g * g
        widest = max(widest, g)
        T.samples[c] = 0
        for h in range(G.first_body_block[c], G.first_body_block[c + 1]):
            k, side = G.body_blocks[h] // BLOCKS_PER_ROW, G.body_blocks[h] % BLOCKS_PER_ROW
            T.samples[c] |= is_sampled(c, rows[k], terms, T)
            T.first[k, side] = place_B
            place_B += filled(g)
    return widest if place_B <= len(T.B) else -1


@kernel
def apply_basis_impulses(p, articulations, rows, terms, G, T, work):
    """Apply a unit impulse along basis vector p of every articulation."""
    for c in range(articulations):
        if p < T.basis[c]:
            if T.from_rows[c]:
                row = rows[G.body_blocks[G.first_body_block[c] + p] // BLOCKS_PER_ROW]
                apply_block_impulse(row, terms, c, G, work.wrenches, work.impulse)
            else:
                wrench = work.wrenches[G.bodies[G.first_body[c] + p // AXES]]
                if p % AXES < 3:
                    wrench.t[p % AXES] = 1.0
                else:
                    wrench.f[p % AXES - 3] = 1.0


@kernel
def write_round_off(p, articulations, tree, G, T, work):
    """Store the round-off of the response to basis impulse p of every articulation, as far as primary rows balance it.

    It is proportional to the response of the articulation as one rigid body.  That of a light part alone would exceed
    the response of a part that is fixed to a heavy one.
    """
    for c in range(articulations):
        if p < T.basis[c]:
            mass, inertia = rigid_inertia(c, tree.links, G, work.bodies)
            total = 0.0
            for k in range(G.first_body[c], G.first_body[c + 1]):
                link, W = tree.links[G.bodies[k]], load_force(work.wrenches[G.bodies[k]])
                total += dot(W.f, W.f) / mass + dot(W.t, W.t) / inertia
                for j in range(link.iv, link.iv + link.nv):
                    if work.impulse[j] != 0.0:
                        S = column_of(work.columns[j])
                        total += work.impulse[j] ** 2 / (mass * dot(S.v, S.v) + inertia * dot(S.w, S.w))
            T.round_off[AXES * G.first_body[c] + p] = ROUND_OFF * total


@kernel
def rigid_inertia(c, links, G, bodies) -> tuple[float, float]:
    """Return the mass of an articulation, and the trace of its inertia about its first body, both positive."""
    mass, inertia, x = 0.0, 0.0, load(bodies[G.bodies[G.first_body[c]]].x)
    for k in range(G.first_body[c], G.first_body[c + 1]):
        link, body = links[G.bodies[k]], bodies[G.bodies[k]]
        r, h = load(body.x) - x, load(body.h)
        mass += link.mass
        inertia += link.central[0] + link.central[3] + link.central[5] + link.mass * dot(r, r) + 2.0 * dot(h, r)
        if link.mass > 0.0:
            inertia += dot(h, h) / link.mass
    return max(mass, TINY), max(inertia, TINY)


@kernel
def read_responses(p, articulations, rows, terms, G, T, work):
    """Store the velocities of the basis due to basis impulse p, for every articulation, and those of sampled rows."""
    for c in range(articulations):
        g = T.basis[c]
        if p >= g:
            continue
        begin = G.first_body_block[c]
        for h in range(begin, G.first_body_block[c + 1] if T.samples[c] else begin):
            k, side = G.body_blocks[h] // BLOCKS_PER_ROW, G.body_blocks[h] % BLOCKS_PER_ROW
            if is_sampled(c, rows[k], terms, T):
                velocity = block_velocity(rows[k], terms, c, G, work.bodies, work.response, True)
                T.B[T.first[k, side] + p] = velocity
                if T.from_rows[c] and h - begin < g:
                    T.A[T.first_A[c] + g * (h - begin) + p] = velocity
        if not T.from_rows[c]:
            for q in range(g):
                body, axis = work.bodies[G.bodies[G.first_body[c] + q // AXES]], q % AXES
                T.A[T.first_A[c] + g * q + p] = body.dw[axis] if axis < 3 else body.dv[axis - 3]


@kernel
def is_sampled(c, row, terms, T) -> bool:
    """Return whether the responses of a row in an articulation are sampled; else they follow from those of bodies."""
    sampled = T.from_rows[c] != 0
    for k in range(row.first_term, row.last_term):
        sampled = sampled or terms[k].iv >= 0
    return sampled


@kernel
def combine_responses(c, rows, terms, G, T):
    """Compute the velocities of the rows that are not sampled from those of the bodies, for all basis impulses."""
    g = T.basis[c]
    for h in range(G.first_body_block[c], G.first_body_block[c + 1]):
        k, side = G.body_blocks[h] // BLOCKS_PER_ROW, G.body_blocks[h] % BLOCKS_PER_ROW
        first = T.first[k, side]
        if not is_sampled(c, rows[k], terms, T):
            for p in range(g):
                T.B[first + p] = 0.0
            for i in range(rows[k].first_term, rows[k].last_term):
                body = terms[i].body
                if body > 0 and G.articulation[body] == c:
                    at, w = T.first_A[c] + g * AXES * G.place[body], load_force(terms[i])
                    T.column[0], T.column[1], T.column[2] = w.t.x, w.t.y, w.t.z
                    T.column[3], T.column[4], T.column[5] = w.f.x, w.f.y, w.f.z
                    for p in range(0, g, NODE):
                        add_power(T.column, 0, T.A, at + p, T.B, first + p, g)


@template(apply_inverse_mass)
def factor_rows(system, work, v, articulations, rows, terms, G, T) -> bool:
    """Compute B and xi0 of all rows for bodies with poses and velocities v (nv,); return False if B is too large."""
    tree = system.tree
    zero_rhs(work)
    widest = choose_impulse_basis(articulations, rows, terms, G, T)
    for p in range(widest):
        clear_impulses(work)
        apply_basis_impulses(p, articulations, rows, terms, G, T, work)
        apply_loop_impulses(tree, work.impulse, work)
        transfer_marker_wrenches(tree, work.wrenches)
        if len(work.rhs) > 0:
            write_round_off(p, articulations, tree, G, T, work)
        apply_inverse_mass(system, work, work.impulse, work.response)
        update_marker_changes(tree, work.bodies)
        compute_loop_rates(tree, work.response, work)
        read_responses(p, articulations, rows, terms, G, T, work)
    place = 0
    for c in range(articulations):
        T.first_velocity[c] = place
        factor_articulation(c, v, rows, terms, G, T, work)
        place += T.rank[c]
    return widest >= 0


# --- factors ----------------------------------------------------------------------------------------------------------
@kernel
def factor_articulation(c, v, rows, terms, G, T, work):
    """Compute L of one articulation, its part of xi0, and B of its body blocks."""
    A, g, at, velocity = T.A, T.basis[c], T.first_A[c], T.pivot
    combine_responses(c, rows, terms, G, T)
    rank, exchanged = factor_basis(c, G, T)
    T.rank[c] = rank
    for j in range(g):
        velocity[j] = basis_velocity(c, j, v, rows, terms, G, T, work)
    forward_substitute(T, at, g, rank, 0, velocity)
    for a in range(rank):
        T.xi0[T.first_velocity[c] + a] = velocity[a]
    regular = rank == g and g == NODE and not exchanged
    if regular:
        for j in range(NODE):
            for a in range(NODE):
                T.upper[NODE * j + a] = A[at + NODE * a + j]
    for h in range(G.first_body_block[c], G.first_body_block[c + 1]):
        first = T.first[G.body_blocks[h] // BLOCKS_PER_ROW, G.body_blocks[h] % BLOCKS_PER_ROW]
        if regular:
            solve_row(T.upper, 0, T.B, first)
            continue
        forward_substitute(T, at, g, rank, first, T.B)
        for a in range(rank, filled(g)):
            T.B[first + a] = 0.0


@kernel
def factor_basis(c, G, T) -> tuple[int, bool]:
    """Compute L of one articulation in place of A; return the rank, and whether the order is not that of the axes."""
    A, g, at, order, pivot = T.A, T.basis[c], T.first_A[c], T.order, T.pivot
    largest, rank, exchanged = 0.0, 0, False
    for j in range(g):
        largest = max(largest, A[at + g * j + j])
    for j in range(g):
        least = max(NEGLIGIBLE_RESPONSE * largest, T.round_off[AXES * G.first_body[c] + j])
        order[j], pivot[j] = j, A[at + g * j + j]
        T.size[j] = pivot[j] if pivot[j] > least else 0.0
    while rank < g:
        k = next_place(order, T.size, pivot, rank, g)
        if k < 0:
            break
        if k > rank:
            exchanged = True
            order[rank], order[k] = order[k], order[rank]
            for row in range(at, at + g * g, g):
                A[row + rank], A[row + k] = A[row + k], A[row + rank]
        own = at + g * order[rank]
        A[own + rank] = math.sqrt(pivot[order[rank]])
        for p in range(rank + 1, g):
            i = order[p]
            row = at + g * i
            total = A[row + rank]
            for b in range(rank):
                total -= A[own + b] * A[row + b]
            A[row + rank] = total / A[own + rank]
            pivot[i] -= A[row + rank] ** 2
        rank += 1
    return rank, exchanged


@kernel
def next_place(order, size, pivot, rank, g) -> int:
    """Return the first place in the order, from `rank` on, of a relative pivot comparable to the largest, or -1."""
    if size[order[rank]] > 0.0 and pivot[order[rank]] > PIVOT_THRESHOLD * size[order[rank]]:
        return rank  # no relative pivot is above 1
    largest = DEPENDENT_PIVOT
    for k in range(rank, g):
        if size[order[k]] > 0.0:
            largest = max(largest, pivot[order[k]] / size[order[k]])
    for k in range(rank, g):
        least = max(PIVOT_THRESHOLD * largest, DEPENDENT_PIVOT)
        if size[order[k]] > 0.0 and pivot[order[k]] > least * size[order[k]]:
            return k
    return -1


@kernel
def forward_substitute(T, at, g, rank, first, y):
    """Replace basis values in y, from `first` on, by L^-1 of the independent ones, in order."""
    A = T.A
    reorder(T, rank, first, y)
    for a in range(rank):
        total, row = y[first + a], at + g * T.order[a]
        for b in range(a):
            total -= A[row + b] * y[first + b]
        y[first + a] = total / A[row + a]


@kernel
def reorder(T, rank, first, y):
    """Move the values of independent basis impulses in y to the front of y, from `first` on, in order."""
    for a in range(rank):
        T.column[a] = y[first + T.order[a]]
    for a in range(rank):
        y[first + a] = T.column[a]


@kernel
def basis_velocity(c, j, v, rows, terms, G, T, work):
    """Return the velocity along basis vector j before impulses."""
    if T.from_rows[c]:
        row = rows[G.body_blocks[G.first_body_block[c] + j] // BLOCKS_PER_ROW]
        return block_velocity(row, terms, c, G, work.bodies, v, False)
    body, axis = work.bodies[G.bodies[G.first_body[c] + j // AXES]], j % AXES
    return body.w[axis] if axis < 3 else body.v[axis - 3]
