"""Free rows of a system of constraint rows: redundancy, and the multipliers that satisfy them.

Free rows are those whose multipliers are unbounded in the present iteration; the multipliers of the others are at a
bound.  The block of the Delassus matrix W of the free rows is factored, and solved for the multipliers with zero
residuals r = W x + b.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.pivoted_lu import NEGLIGIBLE, PivotedLdl, factor_relative, solve_least_norm
from multibody_cli.model import Floats, Integers

# State of a row: at a bound; free; at a bound, where it returned at once after its release; at a bound, since the free
# rows contradict it.
FIXED, FREE, BLOCKED, ABANDONED = range(4)

ROUND_OFF = 1e-11
"""Residual, relative to the absolute values of its terms, that counts as 0: ten times the dependence tolerance."""


class Scratch(NamedTuple):
    """Work arrays for up to m rows."""

    factors: PivotedLdl
    free: Annotated[Integers, "m"]  # FIXED, FREE, BLOCKED or ABANDONED
    dependent: Annotated[Integers, "m"]  # whether a row was dependent in the last factorization of the free rows
    size: Annotated[Floats, "m"]  # of each row, if it exceeds its diagonal entry: pivots are relative to it
    target: Annotated[Floats, "m"]  # solution for the free rows, in the order of factors.rows
    ray: Annotated[Floats, "m"]  # direction of unbounded descent of the objective, likewise


@kernel
def rank_of(W, scratch):
    """Rank of W (m, m), whose lower triangle is read; `scratch.dependent` (m,) marks the redundant rows."""
    for i in range(len(W)):
        scratch.free[i] = FREE
    return factor_free_rows(W, len(W), zero_diagonal(W), scratch)[1]


@kernel
def solve_free_rows(W, b, x, floor, scratch) -> tuple[int, bool]:
    """Solve for the free rows with the other multipliers fixed: their number, and whether they are inconsistent.

    The solution is in `target`.  For inconsistent rows it is the least-squares solution, and `ray` is a descent
    direction.
    """
    factors, target, ray = scratch.factors, scratch.target, scratch.ray
    n, rank = factor_free_rows(W, len(b), floor, scratch)
    size = 0.0
    for k in range(n):
        r, terms = residual_without(W, b, x, scratch.free, factors.rows[k])
        target[k] = -r
        if factors.diagonal[k] > floor:
            size = max(size, terms * terms / factors.diagonal[k])
    solve_least_norm(factors, rank, n, target, ray)
    return n, rank < n and is_descent_direction(factors.diagonal, ray, n, size, floor)


@kernel
def factor_free_rows(W, m, floor, scratch) -> tuple[int, int]:
    """Factor the block of W of the free rows; return their number and their rank."""
    factors, free, dependent = scratch.factors, scratch.free, scratch.dependent
    rows, A = factors.rows, factors.A
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
        factors.diagonal[k] = max(A[k, k], scratch.size[i])
    rank = factor_relative(factors, n, floor)
    for k in range(rank, n):
        dependent[rows[k]] = 1
    return n, rank


@kernel
def residual_without(W, b, x, free, i):
    """Residual r_i with all free multipliers at 0, and the sum of the absolute values of its terms."""
    r, terms = b[i], abs(b[i])
    for j in range(len(b)):
        if free[j] != FREE and x[j] != 0.0:
            term = symmetric_entry(W, i, j) * x[j]
            r += term
            terms += abs(term)
    return r, terms


@kernel
def significant_residual(W, b, x, i) -> float:
    """Residual r_i = (W x + b)_i; 0 if it is round-off of its terms."""
    r, terms = b[i], abs(b[i])
    for j in range(len(b)):
        term = symmetric_entry(W, i, j) * x[j]
        r += term
        terms += abs(term)
    return r if abs(r) > ROUND_OFF * terms else 0.0


@kernel
def is_descent_direction(diagonal, ray, n, size, floor) -> bool:
    """Whether the least-squares residual of the free rows exceeds round-off; if so, keep only its significant entries.

    A residual divided by sqrt(W_ii) is an acceleration in the norm of the masses, in any unit of the row, and round-off
    is relative to the largest of these, sqrt(size); a multiplier times sqrt(W_ii) is a force in the same norm.
    """
    contradictory, largest = False, 0.0
    for k in range(n):
        tolerated = ROUND_OFF * ROUND_OFF * diagonal[k] if diagonal[k] > floor else floor
        contradictory = contradictory or ray[k] * ray[k] > tolerated * size
        largest = max(largest, ray[k] * ray[k] * diagonal[k])
    for k in range(n):
        if ray[k] * ray[k] * diagonal[k] < ROUND_OFF * ROUND_OFF * largest:
            ray[k] = 0.0
    return contradictory


@formula
def symmetric_entry(W, i, j):
    """Entry (i, j) of a symmetric matrix of which the lower triangle is stored."""
    return W[i, j] if j <= i else W[j, i]


@kernel
def zero_diagonal(W):
    """Diagonal entry up to which a row of W counts as zero."""
    largest = 1e-280  # avoids division by 0 if all rows are zero
    for i in range(len(W)):
        largest = max(largest, W[i, i])
    return NEGLIGIBLE * largest
