"""Broyden's method for a step: the exact derivative of the first correction, updated by what each correction did.

With H_0 = N^-1 of the first correction s_0 and what is lacking after k + 1 corrections, the next is

    z = H_0 lacks,    z += s_(i+1) (s_i . z) / s_i . s_i   for i < k,    s_(k+1) = z / (1 - (s_k . z) / s_k . s_k)

so that no matrix is ever changed.

Source: Broyden, Math. Comp. 19 (1965); in this form Kelley, Iterative Methods for Linear and Nonlinear Equations, 7.3.
"""

from __future__ import annotations

from multibody_cli.kernel import formula
from multibody_cli.linalg.dense_lu import solve_dense
from multibody_cli.variational.newton import factor_ahead, gather, spread_response


def answer_by_broyden(system, work, ahead, h):
    """Correction of the mean rates, by secants, for impulses in `work.wrenches` and `work.impulse`."""
    dense, steps, k = ahead.solver.dense, ahead.solver.corrections, ahead.corrected[0]
    gather(system.tree, work, dense.lacks)
    if k == 0:
        factor_ahead(system, work, ahead, h)
    z = work.response
    solve_dense(dense.N, dense.order, dense.lacks, z)
    if k > 0:
        for i in range(k - 1):
            add_multiple(z, inner(steps[i], z) / inner(steps[i], steps[i]), steps[i + 1])
        scale = 1.0 / (1.0 - inner(steps[k - 1], z) / inner(steps[k - 1], steps[k - 1]))
        for j in range(len(z)):
            z[j] *= scale
    for j in range(len(z)):
        steps[k, j] = z[j]
    spread_response(system.tree, work, dense.work)


@formula
def inner(a, b):
    """Inner product."""
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@formula
def add_multiple(a, factor, b):
    """Add a multiple of b to a."""
    for j in range(len(a)):
        a[j] += factor * b[j]
