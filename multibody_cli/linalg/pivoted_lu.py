"""Pivoted L D L^T of a semidefinite matrix: its rank, its dependent rows, and the least-norm solution.

With the kept rows first, a symmetric matrix W of rank r is

    W = [ W11      W11 T^T ]      W11 = L D L^T  (r x r, regular),   T = W21 W11^-1  ((n - r) x r):
        [ T W11  T W11 T^T ]

row i of T says of which kept rows dependent row i is made.  The columns of N = [-T^T; I] span the null space, so
P = N (N^T N)^-1 N^T projects onto it, and the Moore-Penrose solution of W x = y is found without ever squaring W:

    y <- (1 - P) y,    x <- [ W11^-1 y1; 0 ],    x <- (1 - P) x .

The first projection makes the system consistent in the sense of least squares, the last one makes x least in norm.
Both mean the plain Euclidean norm, as a pseudo-inverse does: equal supports share a load equally, but where x mixes
forces and moments the sharing depends on their units.  Whatever P may lose to round-off, W x = y still holds, since x
changes only by combinations of null vectors.

Pivots: elimination is indifferent to a symmetric scaling, so only the *share* of a row counts, its remaining pivot
over its own diagonal: the squared sine between the row and those kept before, in the norm of W.  The next pivot is
the first row whose share is at least a tenth of the largest.  Hence entries of L stay below sqrt(10) in scaled terms,
as with complete pivoting nearly, and of rows that depend on each other the earlier are kept and the later are called
dependent, unless an earlier row is much closer to dependence than a later one.

Sources: Golub and Van Loan, Matrix Computations, 4.2.8 (semidefinite matrices, diagonal pivoting) and 5.5
(pseudo-inverse); Higham, Accuracy and Stability of Numerical Algorithms, 10.3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import formula, kernel

DEPENDENT_SHARE = 1e-12
"""Least share of an independent row.

A Delassus matrix is known to some 1e-14 of its diagonal.  Above this share the multipliers keep two digits or more,
and the motion more: an error e in W x leaves one of e / sqrt(share) in J^T x, 1e-8.  A mechanism that passes a
singular position at the angle theta has the share theta^2, and is held to be singular where |theta| < 1e-6.
"""

COMPARABLE = 0.1
"""Share, relative to the largest, from which an earlier row goes first."""

NEGLIGIBLE = 1e-28
"""Diagonal, relative to the largest of all rows, below which a row is zero: (1e-14)^2, a Jacobian's round-off."""


class Pivoted(NamedTuple):
    """A factorization of n <= m rows, in the order in which they were eliminated."""

    rows: NDArray[np.int64]  # (m,) which rows these are; from `rank` on the dependent ones
    A: NDArray[np.float64]  # (m, m) lower: L and D of W11; T; and below the kept rows L and D of N^T N
    own: NDArray[np.float64]  # (m,) diagonals of W
    column: NDArray[np.float64]  # (m,) work


def pivoted_for(m: int) -> Pivoted:
    """Room for a factorization of up to m rows."""
    return Pivoted(np.zeros(m, np.int64), np.zeros((m, m)), np.zeros(m), np.zeros(m))


@kernel
def factor(F, n, floor):
    """Factor the n rows that lie in F.A (lower triangle), named in F.rows in rising order: their rank.

    Rows whose diagonal is at most `floor` count as zero.
    """
    A, own, rows, column = F.A, F.own, F.rows, F.column
    for i in range(n):
        own[i] = A[i, i]
    rank = 0
    while rank < n:
        pivot = next_pivot(A, own, rank, n, floor)
        if pivot < 0:
            break
        if pivot > rank:
            exchange(A, own, rows, rank, pivot, n)
        eliminate(A, column, rank, n)
        rank += 1
    if rank < n:
        span_null_space(A, column, rank, n)
    return rank


@kernel
def next_pivot(A, own, k, n, floor):
    """The first of the rows from k on whose share is comparable to the largest; -1 if all depend on those before."""
    largest = 0.0
    for i in range(k, n):
        if own[i] > floor:
            largest = max(largest, A[i, i] / own[i])
    if largest > DEPENDENT_SHARE:
        for i in range(k, n):
            if own[i] > floor and A[i, i] >= COMPARABLE * largest * own[i]:
                return i
    return -1


@kernel
def exchange(A, own, rows, k, p, n):
    """Exchange rows and columns k < p of a symmetric matrix of which the lower triangle is kept."""
    rows[k], rows[p] = rows[p], rows[k]
    own[k], own[p] = own[p], own[k]
    A[k, k], A[p, p] = A[p, p], A[k, k]
    for j in range(k):
        A[k, j], A[p, j] = A[p, j], A[k, j]
    for i in range(k + 1, p):
        A[i, k], A[p, i] = A[p, i], A[i, k]
    for i in range(p + 1, n):
        A[i, k], A[i, p] = A[i, p], A[i, k]


@kernel
def eliminate(A, column, k, n):
    """Eliminate row k from those behind it; column k becomes that of the unit lower factor."""
    dinv = 1.0 / A[k, k]
    for i in range(k + 1, n):
        column[i] = A[i, k]
        A[i, k] *= dinv
    for i in range(k + 1, n):
        l_ik = A[i, k]
        for j in range(k + 1, i + 1):
            A[i, j] -= l_ik * column[j]


@kernel
def span_null_space(A, column, rank, n):
    """Make T of the last rows of L, and factor N^T N = 1 + T T^T beside it.

    Where rows are stronger by many orders of magnitude than the kept rows they depend on, that 1 drowns.  A direction
    in which it has drowned is left out of P: its rows carry nothing.
    """
    for i in range(rank, n):
        for j in range(rank - 1, 0, -1):
            t = A[i, j]
            for h in range(j):
                A[i, h] -= A[j, h] * t
    for i in range(rank, n):
        for j in range(rank, i + 1):
            A[i, j] = row_product(A, i, j, rank)
        A[i, i] += 1.0
    for k in range(rank, n):
        if A[k, k] <= DEPENDENT_SHARE * row_product(A, k, k, rank):
            A[k, k] = math.inf
        eliminate(A, column, k, n)


@formula
def row_product(A, i, j, n):
    """Product of the first n entries of two rows."""
    total = 0.0
    for h in range(n):
        total += A[i, h] * A[j, h]
    return total


@kernel
def solve_block(A, first, last, y):
    """(L D L^T)^-1 y in place, for the block of rows [first, last)."""
    for i in range(first, last):
        total = y[i]
        for j in range(first, i):
            total -= A[i, j] * y[j]
        y[i] = total
    for i in range(first, last):
        y[i] /= A[i, i]
    for i in range(last - 1, first, -1):
        for j in range(first, i):
            y[j] -= A[i, j] * y[i]


@kernel
def null_part(F, rank, n, y, part):
    """P y, the part (n,) of y (n,) in the null space."""
    A = F.A
    for i in range(rank, n):
        total = y[i]
        for j in range(rank):
            total -= A[i, j] * y[j]
        part[i] = total
    solve_block(A, rank, n, part)
    for j in range(rank):
        part[j] = 0.0
    for i in range(rank, n):
        for j in range(rank):
            part[j] -= A[i, j] * part[i]


@kernel
def solve_least_norm(F, rank, n, y, contradiction):
    """Replace y (n,) by the least-norm least-squares solution x of W x = y; what was in the way is P y.

    Both are in the order of F.rows.
    """
    if rank == n:
        solve_block(F.A, 0, n, y)
        for i in range(n):
            contradiction[i] = 0.0
        return
    null_part(F, rank, n, y, contradiction)
    for i in range(rank):
        y[i] -= contradiction[i]
    for i in range(rank, n):
        y[i] = 0.0
    solve_block(F.A, 0, rank, y)
    idle = F.column
    null_part(F, rank, n, y, idle)
    for i in range(n):
        y[i] -= idle[i]
