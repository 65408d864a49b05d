"""Impacts at the start of a variational step: losses of one-sided rows, and the work of drives against them.

The impulses J^T x of the rows of a step act at its start, with the momenta and M there.  Where x stops an approach, the
rates J v of the rows change to J v + J M^-1 J^T x, and -x (J v + J M^-1 J^T x / 2) is lost, for any step.  Bodies then
move at the velocities after the impact, which the projection at the end changes again: the work of forces and drives in
this step is that at these velocities.

A row that was pressed and that the impact lifts has the smallest x, which takes back the impulse of its multiplier in
the forces of this node.  The sum of both is 0, and the row is open from the impact on.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.active_rows import ACTIVATION_TOLERANCE
from multibody_cli.constraint_solver.drive_work import account_impacts, transmit_impacts
from multibody_cli.constraints.rows import jacobian_product_of_row
from multibody_cli.kernel import kernel, lazy_template
from multibody_cli.linalg.vectors import add
from multibody_cli.method_kernels import apply_inverse_mass, evaluate
from multibody_cli.variational.energy import account_powers
from multibody_cli.variational.step_forces import act_within_step, evaluate_explicitly


@lazy_template(apply_inverse_mass, account_impacts, evaluate)
def account_start(system, work, step, t, h, q, v, ledger) -> bool:
    """Compute the energy that one-sided rows dissipate in a step of h from (t, q, v), J; return whether any arrives.

    v (nv,) becomes that after arrivals, and the work of all forces at this end of such a step is added to the ledger.
    The work of drives against impulses without an arrival is left to the end of the step.
    """
    compute_dissipation(work.rows, step.constrained, h)
    rows, row_states, special, arrives = work.rows, step.constrained.row_states, work.special_rows, False
    for k in range(len(special)):
        row, row_state = rows[special[k]], row_states[special[k]]
        arrives = arrives or (row.one_sided and row.active == 0 and row_state.impulse > 0.0 == row_state.predicted)
    if not arrives:
        return False
    for k in range(len(special)):
        row, row_state = rows[special[k]], row_states[special[k]]
        if row.one_sided:
            row.multiplier = row_state.impulse - row_state.anticipated
            if row.active == 1 and row_state.error * row.weight > ACTIVATION_TOLERANCE:  # lifted
                row.multiplier += step.settings.first_kick * h * row_state.start_multiplier
                row.active = 0
            if row.drive >= 0:
                ledger[row.drive] -= (row.multiplier - row_state.predicted) * row.rate
    transmit_impacts(system, work)
    for k in range(len(special)):
        row, row_state = rows[special[k]], row_states[special[k]]
        if row.one_sided:
            change = jacobian_product_of_row(row, work.terms, work.bodies, work.response)
            row_state.dissipation = -row.multiplier * (row.residual + 0.5 * change)
            row_state.anticipated, row_state.predicted = row_state.impulse, 0.0
    account_impacts(system, work, v, ledger)
    add(v, work.response)
    if act_within_step(step.forces):
        evaluate_explicitly(system, work)
    account_powers(system, work, step, t, 0.5 * h, q, v, step.start_powers, ledger)
    return True


@kernel
def compute_dissipation(rows, constrained, h):
    """Compute the energy that one-sided rows dissipate, J, from their mean rates at the start and over the step."""
    for r in range(len(rows)):
        if rows[r].one_sided:
            mean_rate = (constrained.row_states[r].error - rows[r].error) / h
            constrained.row_states[r].dissipation = (
                -0.5 * constrained.row_states[r].impulse * (rows[r].residual + mean_rate)
            )
