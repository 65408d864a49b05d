"""Rows of restraint in Newton's method for a step: asked at its end, where the search is, and pushing at its start.

With y_0 what a root finder answers to all that the bodies lack, and y_k what it answers to a unit impulse of row k, by
the same factors, the impulses z of the called rows are found from

    W z + (g / h + K y_0) = 0,      W = K [y_1 y_2 ...]

with their derivatives K at the end.  `held` takes K = J instead, which is a W for the whole search, symmetric, and
enough where levers keep their sign.  In a singular position of a loop a lever passes 0: with K, the search finds the
other side; with J, it is sent back.

A one-sided row takes part where it would be violated without, or pushes: of both, one is 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.ineffective_rows import idle_bound
from multibody_cli.constraint_solver.loop_joints import impel_closures
from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.constraints.rows import change_of_row, impel_row, write_wrench
from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.ranked_lu import RankedLU, ranked_lu_for, solve_ranked
from multibody_cli.model import Floats, Integers, System
from multibody_cli.spatial.products import shift_force
from multibody_cli.tree.markers import hand_on
from multibody_cli.variational.constrained import call_more, call_rows, forget_closures, gather_lacks, keep_primary
from multibody_cli.variational.maximal_joints import reach_of, turned_lock
from multibody_cli.variational.root_finding import extent_of
from multibody_cli.variational.unconstrained import prepare_free

ROUNDS = 4
"""Rounds per row, beyond a first twenty, in which one-sided rows are taken in or left out."""

ROUND_OFF = 1e-12
"""Part of the sizes of its terms by which a row may seem violated."""

ROUND_OFF_OF_POSITIONS = 1e-15
"""Error, relative to the extent of the mechanism, that is not answered: near a singular position it would be large."""


class Exact(NamedTuple):
    """Work arrays for m rows."""

    factors: RankedLU
    b: Floats  # (m,)
    z: Floats  # (m,)
    pushing: Integers  # (m,) whether a row takes part
    places: Integers  # (m,) where those stand among the called


def exact_for(system: System) -> Exact:
    """Allocate the work arrays."""
    m = len(system.rows)
    return Exact(ranked_lu_for(m), np.zeros(m), np.zeros(m), np.zeros(m, np.int64), np.zeros(m, np.int64))


# --- stand-ins ----------------------------------------------------------------------------------------------------
def answer_lacks(system: Any, work: Any, ahead: Any, h: float) -> None:
    """Stand for the kernel of a root finder that answers by the exact derivative (`held`)."""


def answer_again(system: Any, work: Any, ahead: Any) -> None:
    """Stand for its kernel that answers to other impulses by the same factors, primary rows staying as they are."""


# --- a search -----------------------------------------------------------------------------------------------------
@kernel
def prepare_exactly(system, work, ahead, h):
    """Push the bodies at the start, gather the impulses on coordinates, and call the rows."""
    prepare_free(system, work, ahead, h)
    call_rows(work, ahead.held)


def correct_exactly(system, work, ahead, h):
    """Correct the mean rates by the response to what the bodies lack, and the rows by theirs."""
    rows, held, dual, ends, response = work.rows, ahead.held, work.dual, ahead.held.work.terms, work.response
    call_more(work, held)
    gather_lacks(system, work, ahead, h)
    answer_lacks(system, work, ahead, h)
    for j in range(len(ahead.change)):
        ahead.change[j] = response[j]
    count = held.called[0]
    if count == 0:
        return
    least = ROUND_OFF_OF_POSITIONS * extent_of(ahead.strides) / abs(h)
    write_bonds(held.bonds, system.tree.closures, ahead.strides, held.taken, ends)
    for k in range(count):
        r = dual.called[k]
        dual.r[k] = held.errors[r] / h + change_of_row(rows[r], ends, work.bodies, response)
        if abs(dual.r[k]) <= least:
            dual.r[k] = 0.0
        dual.lower[k] = -held.push[r] - h * held.load[r]
    fill_answers(system, work, ahead, count)
    solve_mixed(work, ahead.solver.exact, count)
    clear_impulses(work)
    for k in range(count):
        held.push[dual.called[k]] += dual.x[k]
        impel_row(rows[dual.called[k]], work.terms, dual.x[k], work.wrenches, work.impulse)
    answer_again(system, work, ahead)
    keep_primary(work, held)
    for j in range(len(ahead.change)):
        ahead.change[j] += response[j]


@kernel
def write_bonds(bonds, closures, poses, taken, terms):
    """Write the derivatives of called bonds, which are written as terms nowhere else."""
    for k in range(len(bonds.table)):
        bond = bonds.table[k]
        if not taken[bond.first_row]:
            continue
        term = closures[bond.closure].first_term
        R, outer, inner = reach_of(bond, poses[bond.parent], poses[bond.child])
        for r in range(bond.first_row, bond.last_row):
            T = turned_lock(R, bonds.locks[r])
            at_child, at_parent = shift_force(T, outer), shift_force(T, inner)
            write_wrench(terms[term], bond.child, at_child.t, at_child.f)
            write_wrench(terms[term + 1], bond.parent, -at_parent.t, -at_parent.f)
            term += 2


def fill_answers(system, work, ahead, count):
    """W for the called rows: column k is how they answer, at the end, to a unit impulse of row k.

    A row that has no answer to itself neither pushes nor answers.
    """
    tree, rows, called, W, ends = system.tree, work.rows, work.dual.called, work.dual.W, ahead.held.work.terms
    idle = ahead.solver.exact.pushing
    for k in range(count):
        clear_impulses(work)
        impel_row(rows[called[k]], work.terms, 1.0, work.wrenches, work.impulse)
        impel_closures(tree, work.impulse, work)
        forget_closures(tree, work.impulse)
        hand_on(tree, work.wrenches)
        least = idle_bound(tree.links, work, 0.0)
        answer_again(system, work, ahead)
        for i in range(count):
            W[i, k] = change_of_row(rows[called[i]], ends, work.bodies, work.response)
        idle[k] = abs(W[k, k]) <= least
    for k in range(count):
        if idle[k]:
            work.dual.r[k] = 0.0
            for i in range(count):
                W[i, k] = W[k, i] = 0.0


# --- the called rows ----------------------------------------------------------------------------------------------
@kernel
def solve_mixed(work, exact, count):
    """Find the multipliers of the called rows, of which the one-sided ones do not push or are not answered.

    Where that goes round in circles the first is no number.
    """
    rows, dual, pushing = work.rows, work.dual, exact.pushing
    for k in range(count):
        pushing[k] = 1
        dual.x[k] = 0.0
    for _ in range(20 + ROUNDS * count):
        solve_pushing(dual, exact, count)
        settled = True
        for k in range(count):
            if rows[dual.called[k]].one_sided and misplaced(dual, k, count, pushing[k]):
                pushing[k] = 1 - pushing[k]
                settled = False
        if settled:
            return
    dual.x[0] = math.nan


@kernel
def solve_pushing(dual, exact, count):
    """Find the multipliers of those rows that push, all others at their bounds."""
    W, x, A, b, z, places = dual.W, dual.x, exact.factors.A, exact.b, exact.z, exact.places
    n = 0
    for k in range(count):
        if exact.pushing[k]:
            places[n] = k
            n += 1
        else:
            x[k] = dual.lower[k]
    for i in range(n):
        b[i] = -dual.r[places[i]]
        for k in range(count):
            if not exact.pushing[k]:
                b[i] -= W[places[i], k] * x[k]
        for j in range(n):
            A[i, j] = W[places[i], places[j]]
    solve_ranked(exact.factors, n, b, z)
    for i in range(n):
        x[places[i]] = z[i]


@formula
def misplaced(dual, k, count, pushes):
    """Whether a one-sided row pulls, or does not push and is violated."""
    if pushes:
        return dual.x[k] < dual.lower[k]
    answer, size = dual.r[k], abs(dual.r[k])
    for j in range(count):
        part = dual.W[k, j] * dual.x[j]
        answer, size = answer + part, size + abs(part)
    return answer < -ROUND_OFF * size
