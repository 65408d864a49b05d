"""Rows combined of rows: with C the coefficients, V = C W C^T, b = C u, and impulses C^T y.

What a pass varies are seldom the rows of W themselves: directions of friction turn with the sliding, and a normal
impulse may bring its friction along.
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel


@formula
def put(C, k, first, a0, a1, a2):
    """Combined row k: a0 of row `first`, a1 of the next, a2 of the next but one."""
    C.first[k] = first
    C.a[k, 0] = a0
    C.a[k, 1] = a1
    C.a[k, 2] = a2


@kernel
def product(R, i, W, C, k):
    """Entry (i, k) of R W C^T."""
    total = 0.0
    for g in range(3):
        if R.a[i, g] != 0.0:
            for h in range(3):
                if C.a[k, h] != 0.0:
                    total += R.a[i, g] * W[R.first[i] + g, C.first[k] + h] * C.a[k, h]
    return total


@kernel
def combined(C, k, u):
    """Row k of C u."""
    total = 0.0
    for g in range(3):
        if C.a[k, g] != 0.0:
            total += C.a[k, g] * u[C.first[k] + g]
    return total


@kernel
def expand(C, n, y, x):
    """Add C^T y to x, for the first n combined rows."""
    for k in range(n):
        for g in range(3):
            if C.a[k, g] != 0.0:
                x[C.first[k] + g] += C.a[k, g] * y[k]
