"""Products and solutions with matrices (m, 6) in arrays (6, 6), row by row; rows are Forces, which stay in registers.

Of the six rows of an array, the first m are used.
"""

from __future__ import annotations

from multibody_cli.contact_solver.tree_friction_workspace import load_vector, store_vector
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import inner, no_force
from multibody_cli.spatial.values import Force, Vec3


@kernel
def subtract_product(C, A, B, m, n):
    """Subtract A B from C (m, 6), for A (m, n) and B (n, 6)."""
    for i in range(m):
        row = load_vector(C[i])
        for k in range(n):
            row = row - A[i, k] * load_vector(B[k])
        store_vector(C[i], row)


@kernel
def subtract_transposed_product(C, A, B, m, n):
    """Subtract A^T B from C (m, 6), for A (n, m) and B (n, 6)."""
    for i in range(m):
        row = load_vector(C[i])
        for k in range(n):
            row = row - A[k, i] * load_vector(B[k])
        store_vector(C[i], row)


@kernel
def write_product(C, A, B, m, n):
    """Write A B into C (m, 6), for A (m, n) and B (n, 6)."""
    for i in range(m):
        row = no_force()
        for k in range(n):
            row = row + A[i, k] * load_vector(B[k])
        store_vector(C[i], row)


@kernel
def add_vector_product(y, A, x, factor, m, n):
    """Add `factor` A x to y (m,), for A (m, n) and x (n,)."""
    for i in range(m):
        total = 0.0
        for k in range(n):
            total += A[i, k] * x[k]
        y[i] += factor * total


@formula
def times_vector(A, W):
    """Return A W, for a Force W."""
    a, b, c = load_vector(A[0]), load_vector(A[1]), load_vector(A[2])
    d, e, f = load_vector(A[3]), load_vector(A[4]), load_vector(A[5])
    return Force(
        Vec3(inner(a, W), inner(b, W), inner(c, W)),
        Vec3(inner(d, W), inner(e, W), inner(f, W)),
    )


@formula
def transposed_times_vector(A, W):
    """Return A^T W, for a Force W."""
    of_moments = W.t.x * load_vector(A[0]) + W.t.y * load_vector(A[1]) + W.t.z * load_vector(A[2])
    return of_moments + W.f.x * load_vector(A[3]) + W.f.y * load_vector(A[4]) + W.f.z * load_vector(A[5])


@kernel
def solve_columns(S, order, X, Z):
    """Write S^-1 X into Z (m, 6), for the factors S (m, m) of `factor_scaled`, with their order (m,)."""
    for i in range(len(order)):
        row = load_vector(X[order[i]])
        for j in range(i):
            row = row - S[i, j] * load_vector(Z[j])
        store_vector(Z[i], row)
    for i in range(len(order) - 1, -1, -1):
        row = load_vector(Z[i])
        for j in range(i + 1, len(order)):
            row = row - S[i, j] * load_vector(Z[j])
        store_vector(Z[i], (1.0 / S[i, i]) * row)
