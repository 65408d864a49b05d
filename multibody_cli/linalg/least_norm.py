"""Least-norm solution of a square system that may be singular and need not be symmetric.

Gauss-Jordan elimination with complete pivoting turns A, but for the order of its rows and columns, into

    [ 1  S ]      x = [ y - S g ; g ],    (1 + S^T S) g = S^T y :
    [ 0  0 ]

of all solutions the one of least norm.  What the system says of the rows that are left over is not looked at.

Source: Golub and Van Loan, Matrix Computations, 3.4 (pivoting) and 5.5 (least norm).
"""

from __future__ import annotations

from multibody_cli.kernel import kernel
from multibody_cli.linalg.pivoted_lu import eliminate, solve_block

NEGLIGIBLE_PIVOT = 1e-11
"""Pivot, relative to the largest of all, that counts as 0."""


@kernel
def solve_any(A, n, y, order, x, F):
    """Solve A x = y for n unknowns: x (n,), and the rank.  A (n, n) and y (n,) are lost; F is room of `pivoted`."""
    rank = reduce(A, n, y, order)
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
def reduce(A, n, y, order):
    """Bring A to [1 S; 0 0] and y along; `order` tells which unknown a column stands for.  The rank."""
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
    """Exchange two rows."""
    for j in range(n):
        A[k, j], A[row, j] = A[row, j], A[k, j]
    y[k], y[row] = y[row], y[k]


@kernel
def exchange_columns(A, order, n, k, column):
    """Exchange two columns."""
    for i in range(n):
        A[i, k], A[i, column] = A[i, column], A[i, k]
    order[k], order[column] = order[column], order[k]


@kernel
def clear_column(A, y, n, k):
    """Scale row k to a pivot of 1, and take it off all others."""
    pivot = A[k, k]
    for j in range(k, n):
        A[k, j] /= pivot
    y[k] /= pivot
    for i in range(n):
        share = A[i, k]
        if i != k and share != 0.0:
            for j in range(k, n):
                A[i, j] -= share * A[k, j]
            y[i] -= share * y[k]
