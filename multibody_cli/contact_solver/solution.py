"""The impulses of one step, island by island, from the factors of their rows."""

from __future__ import annotations

from functools import cache
from typing import Any

from multibody_cli.contact_solver.friction.dense import solve_densely
from multibody_cli.contact_solver.friction.factored import Factored, entry
from multibody_cli.contact_solver.friction.problem import Report
from multibody_cli.contact_solver.friction.proximal import solve_many
from multibody_cli.contact_solver.islands import SIDES, has_terms
from multibody_cli.contact_solver.rows import PER_CONTACT
from multibody_cli.kernel import bound_kernel, kernel
from multibody_cli.linalg.multipliers import SOLVED, UNFINISHED

PENETRATION = 1e-6
"""A penetration, relative to the distance within which bodies are near, that is left alone."""


# --- problems -------------------------------------------------------------------------------------------------------
@kernel
def number_blocks(first, last, touch) -> int:
    """Number the mechanisms of an island that answer to anything, by its rows [first, last); how many there are."""
    G, T, S, blocks = touch.groups, touch.factors, touch.factored, 0
    for i in range(first, last):
        for side in range(SIDES):
            if G.side[G.rows[i], side] >= 0:
                touch.block[G.side[G.rows[i], side]] = -1
    for i in range(first, last):
        for side in range(SIDES):
            c = G.side[G.rows[i], side]
            if c >= 0 and T.rank[c] > 0 and touch.block[c] < 0:
                touch.block[c] = blocks
                touch.mechanism[blocks] = c
                S.width[blocks] = T.rank[c]
                blocks += 1
    return blocks


@kernel
def gather(island, equalities, static, touch):
    """The rows of an island as one problem, without r, mu and xi0."""
    G, T, S = touch.groups, touch.factors, touch.factored
    first, last = G.first_row[island], G.first_row[island + 1]
    blocks, m = number_blocks(first, last, touch), last - first
    first_contact = static + PER_CONTACT * len(touch.journals.limit)
    own_equalities = own_static = own_journals = 0
    for j in range(m):
        k = G.rows[first + j]
        own_equalities += k < equalities
        own_static += k < static
        own_journals += static <= k < first_contact
        for side in range(SIDES):
            c = G.side[k, side]
            S.block[j, side] = touch.block[c] if c >= 0 and has_terms(touch.rows[k]) else -1
            S.first[j, side] = T.first[k, side]
    contacts = (m - own_static) // PER_CONTACT
    kinds = (own_equalities, own_static - own_equalities, own_journals // PER_CONTACT)
    rows = (S.r[:m], S.b[:m], S.w[:m], S.mu[:contacts])
    F = Factored(T.B, S.first[:m], S.block[:m], S.start[:blocks], S.width[:blocks], S.free, *rows, *kinds)
    for j in range(own_static):
        if entry(F, j, j) <= touch.least[G.rows[first + j]]:
            S.block[j, 0] = S.block[j, 1] = -1
    return F


# --- velocities -----------------------------------------------------------------------------------------------------
def solve_impulses(options, touch, equalities, static, islands):
    """Impulses of all rows into `touch.x`, which holds a guess; islands that are settled stay as they are."""
    for island in range(islands):
        if touch.settled[island]:
            continue
        F = gather(island, equalities, static, touch)
        fill(F, island, static, touch)
        report = solve_island(F, options, touch.own[: len(F.r)], touch)
        scatter(island, len(F.r), touch)
        touch.failed[island] = report.status != SOLVED
        touch.left[island] = report.residual
        touch.steps[0] = max(touch.steps[0], report.steps)


@kernel
def fill(F, island, static, touch):
    """What an island begins with: velocities without impulses, friction, and the guess."""
    G, T, place = touch.groups, touch.factors, 0
    first = G.first_row[island]
    for b in range(len(F.width)):
        c = touch.mechanism[b]
        for i in range(F.width[b]):
            F.free[place + i] = T.free[T.first_free[c] + i]
        place += F.width[b]
    for j in range(len(F.r)):
        F.r[j] = touch.r[G.rows[first + j]]
        touch.own[j] = touch.x[G.rows[first + j]]
    pads = len(touch.journals.limit)
    for c in range(len(F.mu)):
        k = G.rows[first + F.equalities + F.limits + PER_CONTACT * c]
        F.mu[c] = 1.0 if c < F.journals else touch.found.contacts[(k - static) // PER_CONTACT - pads].friction


@kernel
def solve_island(F, options, x, touch):
    """Impulses of one island into x: the proximal method."""
    return solve_many(F, options, x, touch.proximal)


@kernel
def solve_small_island(F, options, x, touch):
    """Impulses of one island into x: passes over its Delassus matrix; the proximal method where that has too many rows.

    Then they count as unsolved: they are not what was asked for.  Friction of joints is left to the proximal method.
    """
    if F.journals > 0:
        return solve_many(F, options, x, touch.proximal)
    if len(F.r) <= touch.dense_room[0]:
        return solve_densely(F, options, x, touch.dense)
    report = solve_many(F, options, x, touch.proximal)
    return Report(UNFINISHED, report.sweeps, report.steps, report.residual, report.change)


SOLVERS = {"proximal": solve_island, "dense": solve_small_island}
"""How the impulses of an island are found."""


@kernel
def scatter(island, m, touch):
    """Give the impulses of an island back to all rows."""
    first = touch.groups.first_row[island]
    for j in range(m):
        touch.x[touch.groups.rows[first + j]] = touch.own[j]


# --- penetration ----------------------------------------------------------------------------------------------------
@kernel
def solve_parting(settings, touch, h, static, islands) -> bool:
    """Displacements, as impulses, that part what will penetrate at the end of the step; whether anything will.

    Rows beside contacts stay where they are, and there is no friction.
    """
    parted = False
    for k in range(len(touch.x)):
        touch.x[k] = 0.0
    for island in range(islands):
        F = gather(island, static, static, touch)
        if find_depths(F, island, touch, h, static) > PENETRATION * settings.margin:
            parted = True
            for i in range(len(F.free)):
                F.free[i] = 0.0
            for c in range(len(F.mu)):
                F.mu[c] = 0.0
            solve_many(F, settings.options, touch.own[: len(F.r)], touch.proximal)
            scatter(island, len(F.r), touch)
    return parted


@kernel
def find_depths(F, island, touch, h, static) -> float:
    """How far contacts will be open at the end of the step, into the residuals; the deepest as a positive number."""
    first, deepest = touch.groups.first_row[island], 0.0
    for j in range(len(F.r)):
        F.r[j] = touch.own[j] = 0.0
    pads = len(touch.journals.limit)
    for c in range(F.journals, len(F.mu)):
        j = F.equalities + F.limits + PER_CONTACT * c
        k = touch.groups.rows[first + j]
        F.r[j] = touch.found.contacts[(k - static) // PER_CONTACT - pads].gap + h * touch.after[k]
        deepest = max(deepest, -F.r[j])
    return deepest


# --- binding --------------------------------------------------------------------------------------------------------
@cache
def bind(solver: str) -> Any:
    """Bind `solve_impulses` to one of the solvers."""
    return bound_kernel(solve_impulses, solve_island=SOLVERS[solver])
