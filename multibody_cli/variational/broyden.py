"""Broyden's method for a step: the exact Jacobian of the first iteration, updated by secants.

With H_0 = N^-1 of the first correction s_0 and the residual e after k + 1 corrections, the next correction is

    z = H_0 e,    z += s_(i+1) (s_i . z) / s_i . s_i   for i < k,    s_(k+1) = z / (1 - (s_k . z) / s_k . s_k)

The matrix is never changed.

Source: Broyden, Math. Comp. 19 (1965); in this form Kelley, Iterative Methods for Linear and Nonlinear Equations, 7.3.
"""

from __future__ import annotations

from multibody_cli.kernel import formula
from multibody_cli.linalg.dense_lu import solve_dense
from multibody_cli.variational.newton import evaluate_residual, factor_jacobian, propagate_response


def broyden_response(system, work, step, h):
    """Compute the correction by secants for the impulses in `work.wrenches` and `work.impulse`."""
    dense, steps, k = step.solver.dense, step.solver.corrections, step.iteration[0]
    evaluate_residual(system.tree, work, dense.residual)
    if k == 0:
        factor_jacobian(system, work, step, h)
    z = work.response
    solve_dense(dense.N, dense.order, dense.residual, z)
    if k > 0:
        for i in range(k - 1):
            add_multiple(z, inner(steps[i], z) / inner(steps[i], steps[i]), steps[i + 1])
        scale = 1.0 / (1.0 - inner(steps[k - 1], z) / inner(steps[k - 1], steps[k - 1]))
        for j in range(len(z)):
            z[j] *= scale
    for j in range(len(z)):
        steps[k, j] = z[j]
    propagate_response(system.tree, work, dense.work)


@formula
def inner(a, b):
    """Return the inner product."""
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@formula
def add_multiple(a, factor, b):
    """Add `factor` times b to a."""
    for j in range(len(a)):
        a[j] += factor * b[j]
