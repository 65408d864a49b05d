"""Anderson acceleration of a fixed-point iteration x -> x + gap(x), in the norm of a matrix W.

With the gap g of the last iteration, and with G and X the changes of gap and result in the iterations before, the next
x is x - X s, where s minimizes (g - G s).W (g - G s).  For a linear iteration this is the method of generalized minimal
residuals.

Source: Walker and Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numer. Anal. 49 (2011).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from multibody_cli.kernel import Floats, Integers, allocate, kernel
from multibody_cli.linalg import free_rows
from multibody_cli.linalg.multipliers import solve_multipliers

DEPTH = 10
"""Number of previous iterations that are combined."""


class Iterations(NamedTuple):
    """The last iterations of m unknowns, and work arrays."""

    stored: Annotated[Integers, 1]  # number of stored changes; -1 before the first iteration
    gap: Annotated[Floats, "m"]  # gap of the last iteration
    x: Annotated[Floats, "m"]  # its result
    gap_changes: Annotated[Floats, DEPTH, "m"]
    x_changes: Annotated[Floats, DEPTH, "m"]
    product: Annotated[Floats, "m"]  # W times a change of the gap
    gram: Annotated[Floats, DEPTH, DEPTH]
    projection: Annotated[Floats, DEPTH]
    shares: Annotated[Floats, DEPTH]  # s
    lower: Floats  # (DEPTH,) minus infinity
    upper: Floats  # (DEPTH,) infinity
    solver: free_rows.Scratch


def iterations_for(m: int) -> Iterations:
    """Allocate the storage for m unknowns."""
    bound = np.full(DEPTH, math.inf)
    return allocate(Iterations, m=m, lower=-bound, upper=bound, solver=allocate(free_rows.Scratch, m=DEPTH))


@kernel
def store_iteration(iterations, gap, x, restart):
    """Store an iteration with that gap (m,) and result x (m,); `restart` forgets the changes stored before."""
    slot = iterations.stored[0] % DEPTH
    for i in range(len(x)):
        if iterations.stored[0] >= 0:
            iterations.gap_changes[slot, i] = gap[i] - iterations.gap[i]
            iterations.x_changes[slot, i] = x[i] - iterations.x[i]
        iterations.gap[i], iterations.x[i] = gap[i], x[i]
    iterations.stored[0] = 0 if restart else iterations.stored[0] + 1


@kernel
def extrapolate(iterations, W, x):
    """Replace x (m,), the result of the last iteration, by the combination of iterations with the smallest gap."""
    m = len(x)
    for a in range(min(iterations.stored[0], DEPTH)):
        for i in range(m):
            iterations.product[i] = 0.0
            for j in range(m):
                iterations.product[i] += W[i, j] * iterations.gap_changes[a, j]
        write_gram_row(iterations, a, iterations.product[:m])
    combine_iterations(iterations, x)


@kernel
def extrapolate_unweighted(iterations, x):
    """`extrapolate` for the identity in place of W."""
    for a in range(min(iterations.stored[0], DEPTH)):
        write_gram_row(iterations, a, iterations.gap_changes[a])
    combine_iterations(iterations, x)


@kernel
def write_gram_row(iterations, a, product):
    """Write row a of G^T W G and of -G^T W g, from W times the change a (m,) of the gap."""
    iterations.projection[a], iterations.shares[a] = 0.0, math.nan
    for i in range(len(product)):
        iterations.projection[a] -= iterations.gap[i] * product[i]
    for b in range(a + 1):
        iterations.gram[a, b] = 0.0
        for i in range(len(product)):
            iterations.gram[a, b] += iterations.gap_changes[b, i] * product[i]


@kernel
def combine_iterations(iterations, x):
    """Subtract the changes of the results times s from x (m,)."""
    n, m = min(iterations.stored[0], DEPTH), len(x)
    solve_multipliers(
        iterations.gram[:n, :n],
        iterations.projection[:n],
        iterations.lower[:n],
        iterations.upper[:n],
        iterations.shares[:n],
        iterations.solver,
    )
    for a in range(n):
        for i in range(m):
            x[i] -= iterations.shares[a] * iterations.x_changes[a, i]
