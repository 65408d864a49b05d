"""Multipliers and errors of the rows of constraints, couplings and limits, and the largest error of all rows."""

from __future__ import annotations

from multibody_cli.kernel import kernel


@kernel
def observe(system, state, work, rows, samples, k):
    """Store multiplier and error of each row that does not belong to a loop joint, and the largest error.

    Rows of reduced couplings behind the last recorded element have no place in the samples.
    """
    samples.residual[k] = work.dual.position_error[0]
    first = len(system.tree.constraint_axes)
    for r in range(first, min(len(work.rows), first + samples.multiplier.shape[1])):
        samples.multiplier[k, r - first] = work.rows[r].multiplier
        samples.row_error[k, r - first] = work.rows[r].error
