"""Least-norm solution of a square system that may be singular and need not be symmetric.

Gauss-Jordan elimination with complete pivoting reduces A, up to permutations of rows and columns, to

    [ 1  S ]      x = [ y - S g ; g ],    (1 + S^T S) g = S^T y :
    [ 0  0 ]

the solution of least norm.  The equations of the remaining rows are ignored.

Source: Golub and Van Loan, Matrix Computations, 3.4 (pivoting) and 5.5 (least norm).
"""

from __future__ import annotations

from multibody_cli.kernel import kernel
from multibody_cli.linalg.pivoted_lu import eliminate, solve_block

NEGLIGIBLE_PIVOT = 1e-11
"""Pivot, relative to the largest of all, that counts as 0."""


@kernel
def solve_least_norm_system(A, n, y, order, x, F):
    """Solve A x = y for n unknowns; return the rank.

    A (n, n) and y (n,) are overwritten, x (n,) is the solution, `order` (n,) is scratch, F is a `PivotedLdl` as
    scratch.
    """
    rank = gauss_jordan(A, n, y, order)
    free, g = n - rank, F.column
    for i in range(free):
        for j in range(i + 1):
            total = 1.0 if i == j else 0.0
            for k in range(rank):
                total += A[k, rank + i] * A[k, rank + j]
            F.A[i, j] = total
    for i in range(free):
        eliminate(F.A, g, i, free)
    for i in range(free):
        g[i] = 0.0
        for k in range(rank):
            g[i] += A[k, rank + i] * y[k]
    solve_block(F.A, 0, free, g)
    for k in range(rank):
        total = y[k]
        for i in range(free):
            total -= A[k, rank + i] * g[i]
        x[order[k]] = total
    for i in range(free):
        x[order[rank + i]] = g[i]
    return rank


@kernel
def gauss_jordan(A, n, y, order):
    """Reduce A to [1 S; 0 0] with right-hand side y; return the rank.  `order` (n,) receives the column permutation."""
    for j in range(n):
        order[j] = j
    first = 0.0
    for k in range(n):
        row, column, largest = k, k, 0.0
        for i in range(k, n):
            for j in range(k, n):
                if abs(A[i, j]) > largest:
                    row, column, largest = i, j, abs(A[i, j])
        first = max(first, largest)
        if largest <= NEGLIGIBLE_PIVOT * first:
            return k
        exchange_rows(A, y, n, k, row)
        exchange_columns(A, order, n, k, column)
        clear_column(A, y, n, k)
    return n


@kernel
def exchange_rows(A, y, n, k, row):
    """Exchange rows k and `row`."""
    for j in range(n):
        A[k, j], A[row, j] = A[row, j], A[k, j]
    y[k], y[row] = y[row], y[k]


@kernel
def exchange_columns(A, order, n, k, column):
    """Exchange columns k and `column`."""
    for i in range(n):
        A[i, k], A[i, column] = A[i, column], A[i, k]
    order[k], order[column] = order[column], order[k]


@kernel
def clear_column(A, y, n, k):
    """Scale row k to a unit pivot, and eliminate column k from all other rows."""
    pivot = A[k, k]
    for j in range(k, n):
        A[k, j] /= pivot
    y[k] /= pivot
    for i in range(n):
        factor = A[i, k]
        if i != k and factor != 0.0:
            for j in range(k, n):
                A[i, j] -= factor * A[k, j]
            y[i] -= factor * y[k]
