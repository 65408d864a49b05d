"""How the rows of contacts answer to impulses, as factors of W = B B^T (`friction.factored`).

What a mechanism can do is known from how it answers to a few unit impulses, its *generators*: along the six axes of
each of its bodies, or on each of its rows if these are fewer.  With A the velocities of the generators after unit
impulses of each other and G those of its rows,

    A = L L^T,   B = G L^-T,   xi0 = L^-1 (velocities of the generators),

where L is made of the independent generators.  Mechanisms feel nothing of each other, so the k-th generators of all of
them are answered at once: a heap of free bodies takes six answers of the method, whatever touches.

`respond` stands for the kernel of a method (`bound_kernel`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_joints import follow_closures, impel_closures
from multibody_cli.constraint_solver.solver import aim_nowhere, clear_impulses, respond
from multibody_cli.contact_solver.islands import SIDES, body_of
from multibody_cli.kernel import kernel
from multibody_cli.linalg.pivoted_lu import DEPENDENT_SHARE
from multibody_cli.model import Floats, Integers
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import power
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.markers import follow_markers, hand_on

LARGEST = 1 << 26
"""Numbers that B has room for, at most."""

AXES = 6

NOTHING = 1e-28
"""Answer of a generator to itself, relative to the largest, that counts as none: a Jacobian's round-off, squared."""


class Factors(NamedTuple):
    """Factors of all mechanisms, and room for them: for l mechanisms, n generators and m rows."""

    generators: Integers  # (l,) how many each has
    by_rows: Integers  # (l,) whether they are rows
    rank: Integers  # (l,) how many of them are independent
    A: Floats  # of all mechanisms, one behind the other: A, then L
    first_A: Integers  # (l,)
    free: Floats  # (n,) xi0
    first_free: Integers  # (l,)
    B: Floats  # of all halves of rows
    first: Integers  # (m, 2) where that of a half begins
    kept: Integers  # (n,) independent generators of one mechanism
    column: Floats  # (n,) work


def factors_for(bodies: int, m: int) -> Factors:
    """Allocate room for so many bodies and rows; what is never reached takes no memory."""
    n = AXES * bodies
    widest = min(n, SIDES * m)
    return Factors(
        generators=np.zeros(bodies, np.int64),
        by_rows=np.zeros(bodies, np.int64),
        rank=np.zeros(bodies, np.int64),
        A=np.zeros(n * widest),
        first_A=np.zeros(bodies, np.int64),
        free=np.zeros(n),
        first_free=np.zeros(bodies, np.int64),
        B=np.zeros(min(SIDES * m * widest, LARGEST)),
        first=np.zeros((m, SIDES), np.int64),
        kept=np.zeros(n, np.int64),
        column=np.zeros(n),
    )


# --- halves of rows ---------------------------------------------------------------------------------------------------
@kernel
def impel_half(row, terms, mechanism, G, wrenches, x):
    """Add the impulses that a unit multiplier of a row has on one mechanism."""
    for k in range(row.first_term, row.last_term):
        term = terms[k]
        body = body_of(term, G)
        if body > 0 and G.mechanism[body] == mechanism:
            if term.iv >= 0:
                x[term.iv] += term.coefficient
            else:
                store_force(wrenches[body], load_force(wrenches[body]) + load_force(term))


@kernel
def rate_of_half(row, terms, mechanism, G, bodies, y, changed) -> float:
    """What the motion of one mechanism makes of a row, with the rates y of coordinates, or what its change makes."""
    total = 0.0
    for k in range(row.first_term, row.last_term):
        term = terms[k]
        at = body_of(term, G)
        if at > 0 and G.mechanism[at] == mechanism:
            if term.iv >= 0:
                total += term.coefficient * y[term.iv]
            else:
                body = bodies[at]
                twist = Motion(load(body.dw), load(body.dv)) if changed else Motion(load(body.w), load(body.v))
                total += power(twist, load_force(term))
    return total


# --- generators -------------------------------------------------------------------------------------------------------
@kernel
def choose_generators(mechanisms, G, T) -> int:
    """Choose the generators of all mechanisms, and lay out what they give: their largest number; -1 without room."""
    place_A = place_B = widest = 0
    for c in range(mechanisms):
        rows = G.first_half[c + 1] - G.first_half[c]
        axes = AXES * (G.first_body[c + 1] - G.first_body[c])
        T.by_rows[c] = rows < axes
        g = min(rows, axes)
        T.generators[c] = g
        T.first_A[c] = place_A
        place_A += g * g
        widest = max(widest, g)
        for h in range(G.first_half[c], G.first_half[c + 1]):
            k, side = G.halves[h] // SIDES, G.halves[h] % SIDES
            T.first[k, side] = place_B
            place_B += g
    return widest if place_B <= len(T.B) else -1


@kernel
def impel_generators(p, mechanisms, rows, terms, G, T, work):
    """A unit impulse on generator p of every mechanism."""
    for c in range(mechanisms):
        if p < T.generators[c]:
            if T.by_rows[c]:
                row = rows[G.halves[G.first_half[c] + p] // SIDES]
                impel_half(row, terms, c, G, work.wrenches, work.impulse)
            else:
                wrench = work.wrenches[G.bodies[G.first_body[c] + p // AXES]]
                if p % AXES < 3:
                    wrench.t[p % AXES] = 1.0
                else:
                    wrench.f[p % AXES - 3] = 1.0


@kernel
def read_answers(p, mechanisms, rows, terms, G, T, work):
    """What the impulse on generator p makes of the rows and of the other generators, on every mechanism."""
    for c in range(mechanisms):
        g = T.generators[c]
        if p >= g:
            continue
        begin = G.first_half[c]
        for h in range(begin, G.first_half[c + 1]):
            k, side = G.halves[h] // SIDES, G.halves[h] % SIDES
            answer = rate_of_half(rows[k], terms, c, G, work.bodies, work.response, True)
            T.B[T.first[k, side] + p] = answer
            if T.by_rows[c] and h - begin < g:
                T.A[T.first_A[c] + g * (h - begin) + p] = answer
        if not T.by_rows[c]:
            for q in range(g):
                body, axis = work.bodies[G.bodies[G.first_body[c] + q // AXES]], q % AXES
                T.A[T.first_A[c] + g * q + p] = body.dw[axis] if axis < 3 else body.dv[axis - 3]


def factor_rows(system, work, v, mechanisms, rows, terms, G, T) -> bool:
    """Find B and xi0 for the listed rows, of bodies placed at the velocities v: whether there was room for it."""
    tree = system.tree
    aim_nowhere(work)
    widest = choose_generators(mechanisms, G, T)
    for p in range(widest):
        clear_impulses(work)
        impel_generators(p, mechanisms, rows, terms, G, T, work)
        impel_closures(tree, work.impulse, work)
        hand_on(tree, work.wrenches)
        respond(system, work, work.impulse, work.response)
        follow_markers(tree, work.bodies)
        follow_closures(tree, work.response, work)
        read_answers(p, mechanisms, rows, terms, G, T, work)
    place = 0
    for c in range(mechanisms):
        T.first_free[c] = place
        factor_mechanism(c, v, rows, terms, G, T, work)
        place += T.rank[c]
    return widest >= 0


# --- factors ----------------------------------------------------------------------------------------------------------
@kernel
def factor_mechanism(c, v, rows, terms, G, T, work):
    """L of one mechanism, its part of xi0, and B of the halves of rows on it."""
    A, g, at, column = T.A, T.generators[c], T.first_A[c], T.column
    largest = 0.0
    for j in range(g):
        largest = max(largest, A[at + g * j + j])
    rank = 0
    for j in range(g):
        own = A[at + g * j + j]
        forward(T, at, g, rank, at + g * j, A)
        for b in range(rank):
            own -= A[at + g * j + b] ** 2
        if own > DEPENDENT_SHARE * A[at + g * j + j] and A[at + g * j + j] > NOTHING * largest:
            A[at + g * j + rank] = math.sqrt(own)
            T.kept[rank] = j
            rank += 1
    T.rank[c] = rank
    for j in range(g):
        column[j] = velocity_of_generator(c, j, v, rows, terms, G, T, work)
    forward(T, at, g, rank, 0, column)
    for a in range(rank):
        T.free[T.first_free[c] + a] = column[a]
    for h in range(G.first_half[c], G.first_half[c + 1]):
        forward(T, at, g, rank, T.first[G.halves[h] // SIDES, G.halves[h] % SIDES], T.B)


@kernel
def forward(T, at, g, rank, first, y):
    """Replace the numbers of generators in y, from `first` on, by L^-1 of the independent ones, in their order."""
    A, kept = T.A, T.kept
    for a in range(rank):
        total, row = y[first + kept[a]], at + g * kept[a]
        for b in range(a):
            total -= A[row + b] * y[first + b]
        y[first + a] = total / A[row + a]


@kernel
def velocity_of_generator(c, j, v, rows, terms, G, T, work):
    """How fast a generator moves before impulses."""
    if T.by_rows[c]:
        row = rows[G.halves[G.first_half[c] + j] // SIDES]
        return rate_of_half(row, terms, c, G, work.bodies, v, False)
    body, axis = work.bodies[G.bodies[G.first_body[c] + j // AXES]], j % AXES
    return body.w[axis] if axis < 3 else body.v[axis - 3]
