"""Pivoted LDL^T factorization of a semidefinite matrix: rank, dependent rows, and least-norm solution.

With the independent rows first, a symmetric matrix W of rank r is

    W = [ W11      W11 T^T ]      W11 = L D L^T  (r x r, regular),   T = W21 W11^-1  ((n - r) x r):
        [ T W11  T W11 T^T ]

row i of T expresses a dependent row by the independent ones.  The columns of N = [-T^T; I] span the null space, P = N
(N^T N)^-1 N^T is the projection onto it, and the Moore-Penrose solution of W x = y is computed without forming W^2:

    y <- (1 - P) y,    x <- [ W11^-1 y1; 0 ],    x <- (1 - P) x .

The first projection makes the system consistent in the least-squares sense, the last one yields the x of least norm.
Both use the Euclidean norm, as a pseudo-inverse does: equal supports share a load equally, but where x contains forces
and moments the distribution depends on their units.  A round-off error of P does not affect W x = y, since x changes
only by combinations of null vectors.

Pivots: elimination is invariant to a symmetric scaling, so that the criterion is the *relative pivot* of a row, its
remaining pivot divided by its size, which is its own diagonal entry if nothing else is known about its round-off: the
squared sine of the angle between the row and the rows before it, in the norm of W.  The next pivot is the first row
whose relative pivot is at least a tenth of the largest.  Hence entries of L stay below sqrt(10) in scaled terms, nearly
as with complete pivoting, and of rows that depend on each other the later are classified as dependent, unless an
earlier row is much closer to dependence.

Sources: Golub and Van Loan, Matrix Computations, 4.2.8 (semidefinite matrices, diagonal pivoting) and 5.5
(pseudo-inverse); Higham, Accuracy and Stability of Numerical Algorithms, 10.3.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from multibody_cli.kernel import formula, kernel
from multibody_cli.model import Floats, Integers

DEPENDENT_PIVOT = 1e-12
"""Smallest relative pivot of an independent row.

The entries of a Delassus matrix have errors of some 1e-14 of its diagonal.  Above this tolerance the multipliers keep
two digits or more, and the motion more: an error e in W x causes an error e / sqrt(relative pivot) in J^T x, 1e-8.  A
mechanism at the angle theta from a singular configuration has the relative pivot theta^2, and counts as singular for
|theta| < 1e-6.
"""

PIVOT_THRESHOLD = 0.1
"""Relative pivot, as a fraction of the largest, from which an earlier row is preferred."""

NEGLIGIBLE = 1e-28
"""Diagonal entry, relative to the largest, below which a row is zero: (1e-14)^2, the round-off of a Jacobian."""


class PivotedLdl(NamedTuple):
    """A factorization of n <= m rows, in the order of elimination."""

    rows: Annotated[Integers, "m"]  # numbers of the rows; from `rank` on the dependent ones
    A: Annotated[Floats, "m", "m"]  # lower: L and D of W11; T; and below the independent rows L and D of N^T N
    diagonal: Annotated[Floats, "m"]  # sizes of the rows: the diagonal of W, or more
    column: Annotated[Floats, "m"]  # scratch


@kernel
def factor_relative(factors, n, floor) -> int:
    """Factor the n rows in factors.A (lower triangle), whose numbers in factors.rows rise; return the rank.

    Pivots are relative to the sizes of the rows in factors.diagonal.  Rows whose size is at most `floor` count as zero.
    """
    A, diagonal, rows, column = factors.A, factors.diagonal, factors.rows, factors.column
    rank = 0
    while rank < n:
        pivot = next_pivot(A, diagonal, rank, n, floor)
        if pivot < 0:
            break
        if pivot > rank:
            exchange(A, diagonal, rows, rank, pivot, n)
        eliminate(A, column, rank, n)
        rank += 1
    if rank < n:
        span_null_space(A, column, rank, n)
    return rank


@kernel
def next_pivot(A, diagonal, k, n, floor):
    """First row from k on whose relative pivot is comparable to the largest; -1 if all depend on the rows before."""
    largest = 0.0
    for i in range(k, n):
        if diagonal[i] > floor:
            largest = max(largest, A[i, i] / diagonal[i])
    if largest > DEPENDENT_PIVOT:
        for i in range(k, n):
            if diagonal[i] > floor and A[i, i] >= PIVOT_THRESHOLD * largest * diagonal[i]:
                return i
    return -1


@kernel
def exchange(A, diagonal, rows, k, p, n):
    """Exchange rows and columns k < p of a symmetric matrix of which the lower triangle is stored."""
    rows[k], rows[p] = rows[p], rows[k]
    diagonal[k], diagonal[p] = diagonal[p], diagonal[k]
    A[k, k], A[p, p] = A[p, p], A[k, k]
    for j in range(k):
        A[k, j], A[p, j] = A[p, j], A[k, j]
    for i in range(k + 1, p):
        A[i, k], A[p, i] = A[p, i], A[i, k]
    for i in range(p + 1, n):
        A[i, k], A[i, p] = A[i, p], A[i, k]


@kernel
def eliminate(A, column, k, n):
    """Eliminate row k from the rows behind it; column k becomes a column of the unit lower factor."""
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
    """Compute T from the last rows of L, and factor N^T N = 1 + T T^T in place beside it.

    Where rows are larger by many orders of magnitude than the independent rows that they depend on, the term 1 is lost
    to round-off.  Directions in which it is lost are excluded from P: their rows get no multipliers.
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
        if A[k, k] <= DEPENDENT_PIVOT * row_product(A, k, k, rank):
            A[k, k] = math.inf
        eliminate(A, column, k, n)


@formula
def row_product(A, i, j, n):
    """Inner product of the first n entries of two rows."""
    total = 0.0
    for h in range(n):
        total += A[i, h] * A[j, h]
    return total


@kernel
def solve_block(A, first, last, y):
    """Compute (L D L^T)^-1 y in place, for the block of rows [first, last)."""
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
def null_space_component(factors, rank, n, y, part):
    """Compute P y, the component (n,) of y (n,) in the null space, into `part`."""
    A = factors.A
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
def solve_least_norm(factors, rank, n, y, null_component):
    """Replace y (n,) by the least-norm least-squares solution x of W x = y.

    `null_component` (n,) receives P y, the inconsistent part of y.  Both are in the order of factors.rows.
    """
    if rank == n:
        solve_block(factors.A, 0, n, y)
        for i in range(n):
            null_component[i] = 0.0
        return
    null_space_component(factors, rank, n, y, null_component)
    for i in range(rank):
        y[i] -= null_component[i]
    for i in range(rank, n):
        y[i] = 0.0
    solve_block(factors.A, 0, rank, y)
    part = factors.column
    null_space_component(factors, rank, n, y, part)
    for i in range(n):
        y[i] -= part[i]
