"""LU factorization of a dense matrix of any rank with complete pivoting, and a solution of the independent equations.

Rows and columns are first scaled to a largest entry of 1, so that units do not affect the choice of pivots.
Elimination ends where no pivot above DEPENDENT remains: the remaining equations are assumed to follow from the others,
and the remaining unknowns are 0.

Source: Golub and Van Loan, Matrix Computations, 3.4.8 and 3.5.2.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from multibody_cli.kernel import kernel
from multibody_cli.model import Floats, Integers

DEPENDENT = 1e-10
"""Largest pivot of a dependent row, for a matrix scaled to 1.

Where constraint Jacobian and force directions belong to different configurations, a singular configuration between the
two causes a pivot of the product of both distances, angles in rad: it counts as singular where these are 1e-5.
"""


class RankedLU(NamedTuple):
    """Work arrays for up to m equations."""

    A: Annotated[Floats, "m", "m"]
    rows: Annotated[Integers, "m"]  # row permutation
    columns: Annotated[Integers, "m"]  # column permutation
    by_row: Annotated[Floats, "m"]  # scale factors
    by_column: Annotated[Floats, "m"]
    y: Annotated[Floats, "m"]


@kernel
def solve_ranked(factors, n, b, x) -> int:
    """Solve n equations with matrix factors.A, which is overwritten, and right-hand side b (n,); return the rank."""
    scale(factors, n)
    rank = factor_ranked(factors, n)
    A, rows, columns, y = factors.A, factors.rows, factors.columns, factors.y
    for i in range(rank):
        total = b[rows[i]] * factors.by_row[rows[i]]
        for j in range(i):
            total -= A[i, j] * y[j]
        y[i] = total
    for j in range(n):
        x[j] = 0.0
    for i in range(rank - 1, -1, -1):
        total = y[i]
        for j in range(i + 1, rank):
            total -= A[i, j] * y[j]
        y[i] = total / A[i, i]
        x[columns[i]] = y[i] * factors.by_column[columns[i]]
    return rank


@kernel
def scale(factors, n):
    """Scale the largest entry of each row, and then of each column, to 1; zero rows and columns stay zero."""
    A, by_row, by_column = factors.A, factors.by_row, factors.by_column
    for i in range(n):
        most = 0.0
        for j in range(n):
            most = max(most, abs(A[i, j]))
        by_row[i] = 1.0 / most if most > 0.0 else 1.0
    for j in range(n):
        most = 0.0
        for i in range(n):
            most = max(most, abs(A[i, j]) * by_row[i])
        by_column[j] = 1.0 / most if most > 0.0 else 1.0
    for i in range(n):
        for j in range(n):
            A[i, j] *= by_row[i] * by_column[j]


@kernel
def factor_ranked(factors, n) -> int:
    """Factor a scaled matrix in place with exchanges of rows and columns; return the rank."""
    A, rows, columns = factors.A, factors.rows, factors.columns
    for k in range(n):
        rows[k] = columns[k] = k
    for k in range(n):
        p, q = k, k
        for i in range(k, n):
            for j in range(k, n):
                if abs(A[i, j]) > abs(A[p, q]):
                    p, q = i, j
        if not abs(A[p, q]) > DEPENDENT:
            return k
        exchange(A, rows, columns, k, p, q, n)
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return n


@kernel
def exchange(A, rows, columns, k, p, q, n):
    """Exchange row k with row p and column k with column q."""
    rows[k], rows[p] = rows[p], rows[k]
    columns[k], columns[q] = columns[q], columns[k]
    for j in range(n):
        A[k, j], A[p, j] = A[p, j], A[k, j]
    for i in range(n):
        A[i, k], A[i, q] = A[i, q], A[i, k]
