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
from typing import Annotated, NamedTuple

from multibody_cli.constraint_solver.ineffective_rows import ineffective_threshold
from multibody_cli.constraint_solver.loop_joints import apply_loop_impulses, compute_loop_rates
from multibody_cli.constraint_solver.solver import clear_impulses, zero_rhs
from multibody_cli.constraints.rows import apply_row_impulse
from multibody_cli.contact_solver.friction.problem import BLOCKS_PER_ROW, NODE
from multibody_cli.contact_solver.friction.six_columns import add_power, solve_row
from multibody_cli.contact_solver.islands import body_of_term
from multibody_cli.kernel import allocate, formula, kernel, template
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
    """Factors of all articulations, for l articulations, n = 6 l basis impulses, m rows and e constraint rows."""

    basis: Annotated[Integers, "l"]  # number of basis impulses of each articulation
    from_rows: Annotated[Integers, "l"]  # whether the basis consists of rows
    samples: Annotated[Integers, "l"]  # whether the responses of some rows are sampled
    rank: Annotated[Integers, "l"]  # number of independent basis impulses
    A: Annotated[Floats, "6 * l * widest"]  # matrices A of all articulations, one after the other; overwritten by L
    first_A: Annotated[Integers, "l"]  # start of the matrix of an articulation
    xi0: Annotated[Floats, "6 * l"]  # normal velocities without impulses
    first_velocity: Annotated[Integers, "l"]  # start of the normal velocities of an articulation
    B: Annotated[Floats, "entries"]  # body blocks of all rows
    first: Annotated[Integers, "m", BLOCKS_PER_ROW]  # start of each body block of a row in B
    round_off: Annotated[Floats, "6 * l"]  # diagonal entry of A up to which it counts as 0 where rows are primary
    order: Annotated[Integers, "6 * l"]  # basis impulses of one articulation in the order of elimination
    size: Annotated[Floats, "6 * l"]  # their diagonal entries of A; 0 for those that count as 0
    pivot: Annotated[Floats, "6 * l"]  # their remaining pivots
    column: Annotated[Floats, "6 * l"]  # scratch
    upper: Annotated[Floats, NODE * NODE]  # transposed L of one free body
    diagonal_bound: Annotated[Floats, "e"]  # diagonal Delassus entry below which a constraint row is ineffective


def factors_for(bodies: int, m: int, constraint_rows: int) -> Factors:
    """Allocate the factors for so many bodies, and m rows in all; untouched pages take no memory."""
    widest = min(AXES * bodies, BLOCKS_PER_ROW * m)
    entries = min(BLOCKS_PER_ROW * m * filled(widest), MAX_ENTRIES)
    return allocate(Factors, l=bodies, m=m, e=constraint_rows, widest=widest, entries=entries)


@formula
def filled(width):
    """Return the width of a block in B, up to the next multiple of six."""
    return (width + NODE - 1) // NODE * NODE


# --- body blocks ------------------------------------------------------------------------------------------------------
@kernel
def apply_block_impulse(row, terms, articulation, groups, wrenches, x):
    """Add the impulses of a unit multiplier of a row on one articulation."""
    for k in range(row.first_term, row.last_term):
        term = terms[k]
        body = body_of_term(term, groups)
        if body > 0 and groups.articulation[body] == articulation:
            if term.iv >= 0:
                x[term.iv] += term.coefficient
            else:
                store_force(wrenches[term.body], load_force(wrenches[term.body]) + load_force(term))


@kernel
def block_velocity(row, terms, articulation, groups, bodies, y, changed) -> float:
    """Return the velocity of a row due to one articulation.

    The motion is that of the bodies with rates y (nv,), or, if `changed`, their change of motion with changes y.
    """
    total = 0.0
    for k in range(row.first_term, row.last_term):
        term = terms[k]
        moved = body_of_term(term, groups)
        if moved > 0 and groups.articulation[moved] == articulation:
            if term.iv >= 0:
                total += term.coefficient * y[term.iv]
            else:
                body = bodies[term.body]
                twist = Motion(load(body.dw), load(body.dv)) if changed else Motion(load(body.w), load(body.v))
                total += power(twist, load_force(term))
    return total


# --- impulse basis ----------------------------------------------------------------------------------------------------
@kernel
def choose_impulse_basis(step, groups, factors) -> int:
    """Choose the impulse basis of each articulation and lay out B; return the largest basis, -1 if B is too large."""
    start_A = start_B = widest = 0
    for c in range(groups.articulations[0]):
        own = groups.first_body_block[c + 1] - groups.first_body_block[c]
        axes = AXES * (groups.first_body[c + 1] - groups.first_body[c])
        factors.from_rows[c] = own < axes
        g = min(own, axes)
        factors.basis[c] = g
        factors.first_A[c] = start_A
        start_A += g * g
        widest = max(widest, g)
        factors.samples[c] = 0
        for h in range(groups.first_body_block[c], groups.first_body_block[c + 1]):
            k, side = groups.body_blocks[h] // BLOCKS_PER_ROW, groups.body_blocks[h] % BLOCKS_PER_ROW
            factors.samples[c] |= is_sampled(c, step.rows[k], step.terms, len(groups.articulation), factors)
            factors.first[k, side] = start_B
            start_B += filled(g)
    return widest if start_B <= len(factors.B) else -1


@kernel
def apply_basis_impulses(p, step, groups, factors, work):
    """Apply a unit impulse along basis vector p of every articulation."""
    for c in range(groups.articulations[0]):
        if p < factors.basis[c]:
            if factors.from_rows[c]:
                row = step.rows[groups.body_blocks[groups.first_body_block[c] + p] // BLOCKS_PER_ROW]
                apply_block_impulse(row, step.terms, c, groups, work.wrenches, work.impulse)
            else:
                wrench = work.wrenches[groups.bodies[groups.first_body[c] + p // AXES]]
                if p % AXES < 3:
                    wrench.t[p % AXES] = 1.0
                else:
                    wrench.f[p % AXES - 3] = 1.0


@kernel
def write_round_off(p, tree, groups, factors, work):
    """Store the round-off of the response to basis impulse p of every articulation, as far as primary rows balance it.

    It is proportional to the response of the articulation as one rigid body.  That of a light part alone would exceed
    the response of a part that is fixed to a heavy one.
    """
    for c in range(groups.articulations[0]):
        if p < factors.basis[c]:
            mass, inertia = rigid_inertia(c, tree.links, groups, work.bodies)
            total = 0.0
            for k in range(groups.first_body[c], groups.first_body[c + 1]):
                link, W = tree.links[groups.bodies[k]], load_force(work.wrenches[groups.bodies[k]])
                total += dot(W.f, W.f) / mass + dot(W.t, W.t) / inertia
                for j in range(link.iv, link.iv + link.nv):
                    if work.impulse[j] != 0.0:
                        S = column_of(work.columns[j])
                        total += work.impulse[j] ** 2 / (mass * dot(S.v, S.v) + inertia * dot(S.w, S.w))
            factors.round_off[AXES * groups.first_body[c] + p] = ROUND_OFF * total


@kernel
def rigid_inertia(c, links, groups, bodies) -> tuple[float, float]:
    """Return the mass of an articulation, and the trace of its inertia about its first body, both positive."""
    mass, inertia, x = 0.0, 0.0, load(bodies[groups.bodies[groups.first_body[c]]].x)
    for k in range(groups.first_body[c], groups.first_body[c + 1]):
        link, body = links[groups.bodies[k]], bodies[groups.bodies[k]]
        r, h = load(body.x) - x, load(body.h)
        mass += link.mass
        inertia += link.central[0] + link.central[3] + link.central[5] + link.mass * dot(r, r) + 2.0 * dot(h, r)
        if link.mass > 0.0:
            inertia += dot(h, h) / link.mass
    return max(mass, TINY), max(inertia, TINY)


@kernel
def read_responses(p, step, groups, factors, work):
    """Store the velocities of the basis due to basis impulse p, for every articulation, and those of sampled rows."""
    for c in range(groups.articulations[0]):
        g = factors.basis[c]
        if p >= g:
            continue
        begin = groups.first_body_block[c]
        for h in range(begin, groups.first_body_block[c + 1] if factors.samples[c] else begin):
            k, side = groups.body_blocks[h] // BLOCKS_PER_ROW, groups.body_blocks[h] % BLOCKS_PER_ROW
            if is_sampled(c, step.rows[k], step.terms, len(groups.articulation), factors):
                velocity = block_velocity(step.rows[k], step.terms, c, groups, work.bodies, work.response, True)
                factors.B[factors.first[k, side] + p] = velocity
                if factors.from_rows[c] and h - begin < g:
                    factors.A[factors.first_A[c] + g * (h - begin) + p] = velocity
        if not factors.from_rows[c]:
            for q in range(g):
                body, axis = work.bodies[groups.bodies[groups.first_body[c] + q // AXES]], q % AXES
                factors.A[factors.first_A[c] + g * q + p] = body.dw[axis] if axis < 3 else body.dv[axis - 3]


@kernel
def is_sampled(c, row, terms, links, factors) -> bool:
    """Return whether the responses of a row in an articulation are sampled; else they follow from those of `links`."""
    sampled = factors.from_rows[c] != 0
    for k in range(row.first_term, row.last_term):
        sampled = sampled or terms[k].iv >= 0 or terms[k].body >= links
    return sampled


@kernel
def combine_responses(c, step, groups, factors):
    """Compute the velocities of the rows that are not sampled from those of the bodies, for all basis impulses."""
    g = factors.basis[c]
    for h in range(groups.first_body_block[c], groups.first_body_block[c + 1]):
        k, side = groups.body_blocks[h] // BLOCKS_PER_ROW, groups.body_blocks[h] % BLOCKS_PER_ROW
        first = factors.first[k, side]
        if not is_sampled(c, step.rows[k], step.terms, len(groups.articulation), factors):
            for p in range(g):
                factors.B[first + p] = 0.0
            for i in range(step.rows[k].first_term, step.rows[k].last_term):
                body = step.terms[i].body
                if body > 0 and groups.articulation[body] == c:
                    at, w = factors.first_A[c] + g * AXES * groups.index_of_body[body], load_force(step.terms[i])
                    factors.column[0], factors.column[1], factors.column[2] = w.t.x, w.t.y, w.t.z
                    factors.column[3], factors.column[4], factors.column[5] = w.f.x, w.f.y, w.f.z
                    for p in range(0, g, NODE):
                        add_power(factors.column, 0, factors.A, at + p, factors.B, first + p, g)


@kernel
def set_ineffective_bounds(tree, work, step, diagonal_bound):
    """Compute for each constraint row the diagonal Delassus entry below which the row is ineffective."""
    for k in range(step.sizes[0].constraint_rows):
        clear_impulses(work)
        apply_row_impulse(step.rows[k], step.terms, 1.0, work.wrenches, work.impulse)
        apply_loop_impulses(tree, work.impulse, work)
        transfer_marker_wrenches(tree, work.bodies, work.wrenches)
        diagonal_bound[k] = ineffective_threshold(tree.links, work, 0.0)


@template(apply_inverse_mass)
def factor_rows(system, work, v, step, groups, factors) -> bool:
    """Compute B and xi0 of all rows for bodies with poses and velocities v (nv,); return False if B is too large."""
    tree = system.tree
    set_ineffective_bounds(tree, work, step, factors.diagonal_bound)
    zero_rhs(work)
    widest = choose_impulse_basis(step, groups, factors)
    for p in range(widest):
        clear_impulses(work)
        apply_basis_impulses(p, step, groups, factors, work)
        apply_loop_impulses(tree, work.impulse, work)
        transfer_marker_wrenches(tree, work.bodies, work.wrenches)
        if len(work.rhs) > 0:
            write_round_off(p, tree, groups, factors, work)
        apply_inverse_mass(system, work, work.impulse, work.response)
        update_marker_changes(tree, work.bodies)
        compute_loop_rates(tree, work.response, work)
        read_responses(p, step, groups, factors, work)
    start = 0
    for c in range(groups.articulations[0]):
        factors.first_velocity[c] = start
        factor_articulation(c, v, step, groups, factors, work)
        start += factors.rank[c]
    return widest >= 0


# --- factors ----------------------------------------------------------------------------------------------------------
@kernel
def factor_articulation(c, v, step, groups, factors, work):
    """Compute L of one articulation, its part of xi0, and B of its body blocks."""
    A, g, at, velocity = factors.A, factors.basis[c], factors.first_A[c], factors.pivot
    combine_responses(c, step, groups, factors)
    rank, exchanged = factor_basis(c, groups, factors)
    factors.rank[c] = rank
    for j in range(g):
        velocity[j] = basis_velocity(c, j, v, step, groups, factors, work)
    forward_substitute(factors, at, g, rank, 0, velocity)
    for a in range(rank):
        factors.xi0[factors.first_velocity[c] + a] = velocity[a]
    regular = rank == g and g == NODE and not exchanged
    if regular:
        for j in range(NODE):
            for a in range(NODE):
                factors.upper[NODE * j + a] = A[at + NODE * a + j]
    for h in range(groups.first_body_block[c], groups.first_body_block[c + 1]):
        first = factors.first[groups.body_blocks[h] // BLOCKS_PER_ROW, groups.body_blocks[h] % BLOCKS_PER_ROW]
        if regular:
            solve_row(factors.upper, 0, factors.B, first)
            continue
        forward_substitute(factors, at, g, rank, first, factors.B)
        for a in range(rank, filled(g)):
            factors.B[first + a] = 0.0


@kernel
def factor_basis(c, groups, factors) -> tuple[int, bool]:
    """Compute L of one articulation in place of A; return the rank, and whether the order is not that of the axes."""
    A, g, at, order, pivot = factors.A, factors.basis[c], factors.first_A[c], factors.order, factors.pivot
    largest, rank, exchanged = 0.0, 0, False
    for j in range(g):
        largest = max(largest, A[at + g * j + j])
    for j in range(g):
        least = max(NEGLIGIBLE_RESPONSE * largest, factors.round_off[AXES * groups.first_body[c] + j])
        order[j], pivot[j] = j, A[at + g * j + j]
        factors.size[j] = pivot[j] if pivot[j] > least else 0.0
    while rank < g:
        k = next_basis_impulse(order, factors.size, pivot, rank, g)
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
def next_basis_impulse(order, size, pivot, rank, g) -> int:
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
def forward_substitute(factors, at, g, rank, first, y):
    """Replace basis values in y, from `first` on, by L^-1 of the independent ones, in order."""
    A = factors.A
    reorder(factors, rank, first, y)
    for a in range(rank):
        total, row = y[first + a], at + g * factors.order[a]
        for b in range(a):
            total -= A[row + b] * y[first + b]
        y[first + a] = total / A[row + a]


@kernel
def reorder(factors, rank, first, y):
    """Move the values of independent basis impulses in y to the front of y, from `first` on, in order."""
    for a in range(rank):
        factors.column[a] = y[first + factors.order[a]]
    for a in range(rank):
        y[first + a] = factors.column[a]


@kernel
def basis_velocity(c, j, v, step, groups, factors, work):
    """Return the velocity along basis vector j before impulses."""
    if factors.from_rows[c]:
        row = step.rows[groups.body_blocks[groups.first_body_block[c] + j] // BLOCKS_PER_ROW]
        return block_velocity(row, step.terms, c, groups, work.bodies, v, False)
    body, axis = work.bodies[groups.bodies[groups.first_body[c] + j // AXES]], j % AXES
    return body.w[axis] if axis < 3 else body.v[axis - 3]
