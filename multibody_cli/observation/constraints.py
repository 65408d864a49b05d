"""Multipliers and errors of the rows of constraints, couplings and limits, and the largest error of all rows."""

from __future__ import annotations

from multibody_cli.constraints.rows import constraint_violation
from multibody_cli.kernel import lazy_kernel


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store multiplier and error of each row that does not belong to a loop joint, and the largest error.

    Rows of reduced couplings behind the last recorded element have no place in the samples.
    """
    first, largest = len(system.tree.constraint_axes), 0.0
    samples.residual[k] = 0.0
    for r in range(len(work.rows)):
        error = constraint_violation(work.rows[r], work.rows[r].error)
        if error * work.rows[r].weight > largest:
            largest, samples.residual[k] = error * work.rows[r].weight, error
    for r in range(first, min(len(work.rows), first + samples.multiplier.shape[1])):
        samples.multiplier[k, r - first] = work.rows[r].multiplier
        acts = work.rows[r].last_term > work.rows[r].first_term
        samples.row_error[k, r - first] = work.rows[r].error if acts else 0.0
