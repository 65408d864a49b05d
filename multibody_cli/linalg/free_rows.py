"""The free rows of a system of constraint rows: which of them are redundant, and what would satisfy them.

Free rows are those whose multipliers may take any value for now; the others stand at a bound.  Their block of the
Delassus matrix W is factored, and the multipliers that make their residuals r = W x + b zero are aimed at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.pivoted_lu import NEGLIGIBLE, Pivoted, factor, pivoted_for, solve_least_norm

# A row at a bound; one that takes any value; one at a bound that came straight back there when it was released; one
# at a bound that the free rows contradict.
FIXED, FREE, HELD, GIVEN_UP = range(4)

ROUND_OFF = 1e-11
"""Residual, relative to the sum of the sizes of its terms, that counts as 0: ten times the share of a dependent row."""


class Scratch(NamedTuple):
    """Work arrays for up to m rows."""

    factors: Pivoted
    free: NDArray[np.int64]  # (m,) FIXED, FREE, HELD or GIVEN_UP
    dependent: NDArray[np.int64]  # (m,) whether a row was dependent when the free rows were factored last
    target: NDArray[np.float64]  # (m,) solution for the free rows, in the order of factors.rows
    ray: NDArray[np.float64]  # (m,) direction in which the objective falls without end, likewise


def scratch_for(m: int) -> Scratch:
    """Allocate the work arrays for up to m rows."""
    return Scratch(pivoted_for(m), np.zeros(m, np.int64), np.zeros(m, np.int64), np.zeros(m), np.zeros(m))


@kernel
def rank_of(W, scratch):
    """Rank of W (m, m), of which the lower triangle is read; `scratch.dependent` tells the redundant rows."""
    for i in range(len(W)):
        scratch.free[i] = FREE
    return factor_free_rows(W, len(W), zero_diagonal(W), scratch)[1]


@kernel
def aim(W, b, x, floor, scratch) -> tuple[int, bool]:
    """Solve for the free rows with the others as they are: number of free rows, and whether they contradict each other.

    The solution lies in `target`.  If the rows are in contradiction it is one of least squares, and `ray` leads down.
    """
    F, target, ray = scratch.factors, scratch.target, scratch.ray
    n, rank = factor_free_rows(W, len(b), floor, scratch)
    size = 0.0
    for k in range(n):
        r, terms = residual_without(W, b, x, scratch.free, F.rows[k])
        target[k] = -r
        if F.own[k] > floor:
            size = max(size, terms * terms / F.own[k])
    solve_least_norm(F, rank, n, target, ray)
    return n, rank < n and points_down(F.own, ray, n, size, floor)


@kernel
def factor_free_rows(W, m, floor, scratch) -> tuple[int, int]:
    """Factor the block of W that belongs to the free rows: their number and their rank."""
    F, free, dependent = scratch.factors, scratch.free, scratch.dependent
    rows, A = F.rows, F.A
    n = 0
    for i in range(m):
        dependent[i] = 0
        if free[i] == FREE:
            rows[n] = i
            n += 1
    for k in range(n):
        i = rows[k]
        for h in range(k + 1):
            A[k, h] = W[i, rows[h]]
    rank = factor(F, n, floor)
    for k in range(rank, n):
        dependent[rows[k]] = 1
    return n, rank


@kernel
def residual_without(W, b, x, free, i):
    """r_i if all free multipliers were 0, and the sum of the sizes of its terms."""
    r, terms = b[i], abs(b[i])
    for j in range(len(b)):
        if free[j] != FREE and x[j] != 0.0:
            term = entry(W, i, j) * x[j]
            r += term
            terms += abs(term)
    return r, terms


@kernel
def points_down(own, ray, n, size, floor) -> bool:
    """Whether what was left over of the free rows is more than round-off; if so, only that is kept of the ray.

    A residual over sqrt(W_ii) is an acceleration in the norm of the masses, whatever the row's units, and round-off is
    a part of the largest of these, sqrt(size); a multiplier times sqrt(W_ii) is likewise a force.
    """
    contradictory, largest = False, 0.0
    for k in range(n):
        tolerated = ROUND_OFF * ROUND_OFF * own[k] if own[k] > floor else floor
        contradictory = contradictory or ray[k] * ray[k] > tolerated * size
        largest = max(largest, ray[k] * ray[k] * own[k])
    for k in range(n):
        if ray[k] * ray[k] * own[k] < ROUND_OFF * ROUND_OFF * largest:
            ray[k] = 0.0
    return contradictory


@formula
def entry(W, i, j):
    """An entry of a symmetric matrix, from its lower triangle."""
    return W[i, j] if j <= i else W[j, i]


@kernel
def zero_diagonal(W):
    """The diagonal up to which a row is zero."""
    largest = 1e-280  # where all rows are zero, nothing is divided by 0
    for i in range(len(W)):
        largest = max(largest, W[i, i])
    return NEGLIGIBLE * largest
