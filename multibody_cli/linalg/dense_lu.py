"""LU factorization of a dense unstructured matrix with row pivoting, in place: for up to some hundred rows."""

from __future__ import annotations

from multibody_cli.kernel import kernel


@kernel
def factor_dense(A, order) -> bool:
    """Factor A (n, n) in place; `order` (n,) receives the row permutation.  Returns False if A is singular."""
    n = len(order)
    for k in range(n):
        order[k] = k
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if not eliminate(A, order, k, best):
            return False
    return True


@kernel
def factor_scaled(A, order, sizes, scales) -> bool:
    """Like `factor_dense`, with pivots that do not depend on units: `sizes` (n,) are those of the unknowns.

    Rows count relative to their largest term, in `scales` (n,).
    """
    n = len(order)
    for k in range(n):
        order[k], scales[k] = k, 0.0
        for j in range(n):
            scales[k] = max(scales[k], abs(A[k, j]) * sizes[j])
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) * scales[order[best]] > abs(A[best, k]) * scales[order[i]]:
                best = i
        if not eliminate(A, order, k, best):
            return False
    return True


@kernel
def eliminate(A, order, k, best) -> bool:
    """Exchange row k with the row `best` and eliminate unknown k from the rows below; return False without a pivot."""
    n = len(order)
    if not abs(A[best, k]) > 0.0:
        return False
    if best != k:
        order[k], order[best] = order[best], order[k]
        for j in range(n):
            A[k, j], A[best, j] = A[best, j], A[k, j]
    for i in range(k + 1, n):
        factor = A[i, k] / A[k, k]
        A[i, k] = factor
        for j in range(k + 1, n):
            A[i, j] -= factor * A[k, j]
    return True


@kernel
def solve_dense(A, order, b, x):
    """Solve A x = b with a factored A: x (n,) from b (n,)."""
    n = len(order)
    for i in range(n):
        total = b[order[i]]
        for j in range(i):
            total -= A[i, j] * x[j]
        x[i] = total
    for i in range(n - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, n):
            total -= A[i, j] * x[j]
        x[i] = total / A[i, i]
