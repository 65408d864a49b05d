"""Linear combinations of rows: with coefficients C, matrix V = C W C^T, velocities C u, and impulses C^T y.

A pass varies combinations of rows of W: friction directions follow the sliding, and a normal impulse may include its
friction.
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel


@formula
def set_combination(C, k, first, a0, a1, a2):
    """Set combined row k: coefficients of rows first, first + 1 and first + 2."""
    C.first[k] = first
    C.a[k, 0] = a0
    C.a[k, 1] = a1
    C.a[k, 2] = a2


@kernel
def combined_entry(R, i, W, C, k):
    """Return entry (i, k) of R W C^T."""
    total = 0.0
    for g in range(3):
        if R.a[i, g] != 0.0:
            for h in range(3):
                if C.a[k, h] != 0.0:
                    total += R.a[i, g] * W[R.first[i] + g, C.first[k] + h] * C.a[k, h]
    return total


@kernel
def combined_velocity(C, k, u):
    """Return row k of C u."""
    total = 0.0
    for g in range(3):
        if C.a[k, g] != 0.0:
            total += C.a[k, g] * u[C.first[k] + g]
    return total


@kernel
def add_combined_impulses(C, n, y, x):
    """Add C^T y to x, for the first n combined rows."""
    for k in range(n):
        for g in range(3):
            if C.a[k, g] != 0.0:
                x[C.first[k] + g] += C.a[k, g] * y[k]
