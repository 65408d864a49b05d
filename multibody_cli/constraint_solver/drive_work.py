"""Work of rows and of prescribed coordinates in impulses, and losses of impacts.

Impacts take work from the drives that keep the rates of prescribed coordinates.

An impulse on a body or a coordinate passes inward through the joints, and a drive resists the part along its own
coordinate.  With the reaction impulse W of the joint, by Newton and Euler from the changes of motion of all bodies, and
the generalized impulse x of rows on the coordinate itself, its work is (S . W - x) v at its rate v.
"""

from __future__ import annotations

from typing import Any

from multibody_cli.constraint_solver.loop_joints import apply_loop_impulses, wrench_of_rows
from multibody_cli.constraint_solver.solver import (
    VELOCITY,
    apply_active_row_impulses,
    apply_primary_row_impulses,
    build_delassus,
    clear_impulses,
    impulse_response,
    solve_dual,
    zero_rhs,
)
from multibody_cli.constraints.rows import apply_row_impulse, jacobian_product_of_row
from multibody_cli.kernel import kernel, kernel_parameter, lazy_kernel, lazy_template, template
from multibody_cli.method_kernels import apply_inverse_mass
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.spatial.products import no_force, power
from multibody_cli.tree.articulated_body import load_motion_change, rigid_body_inertia
from multibody_cli.tree.jacobian import accumulate_wrenches_inward, column_of
from multibody_cli.tree.markers import transfer_marker_wrenches


@kernel_parameter
def account_impacts(system: Any, work: Any, v: Any, ledger: Any) -> None:
    """Add the work of drives against the impulses of one-sided rows to the ledger: `account_drives_in_impacts`."""


@kernel_parameter
def account_impacts_of_step(system: Any, work: Any, row_states: Any, corrected: bool, v: Any, ledger: Any) -> None:
    """`account_impacts` of a variational step: `account_drives_in_step`."""


@kernel
def compute_reaction_impulses(tree, work):
    """Replace the impulses in `work.wrenches` by the reaction impulses of all joints to them and to `work.impulse`.

    The bodies hold the corresponding changes of motion, and the rows of closures their multipliers.
    """
    apply_loop_impulses(tree, work.impulse, work)
    transfer_marker_wrenches(tree, work.bodies, work.wrenches)
    links, bodies, wrenches = tree.links, work.bodies, work.wrenches
    store_force(wrenches[0], no_force())
    for i in range(1, len(links)):
        change = rigid_body_inertia(links[i], bodies[i]) @ load_motion_change(bodies[i])
        store_force(wrenches[i], change - load_force(wrenches[i]))
    accumulate_wrenches_inward(tree, work)
    for c in range(len(tree.closures)):
        store_force(wrenches[tree.closures[c].loop_frame], wrench_of_rows(tree.closures[c], work))


@lazy_kernel
def account_reaction_impulses(motions, work, start, v, ledger):
    """Add the work of prescribed coordinates against the reaction impulses in `work.wrenches` to the ledger.

    They act while the rates change from `start` (nv,) to v (nv,).  Generalized impulses of rows on the coordinate
    itself are part of the reaction, but no work of the drive.
    """
    rows = motions.rows
    for k in range(len(rows)):
        iv = rows[k].iv
        carried = power(column_of(work.columns[iv]), load_force(work.wrenches[rows[k].row]))
        ledger[rows[k].account] += (carried - work.impulse[iv]) * 0.5 * (start[iv] + v[iv])


@lazy_template(apply_inverse_mass)
def account_drives_in_impacts(system, work, v, ledger):
    """Add the work of drives against the impulses of one-sided rows, which are in their multipliers, to the ledger."""
    if len(system.motions.rows) > 0 and transmit_impacts(system, work):
        account_reactions_to_impacts(system, work, v, ledger)


@template(apply_inverse_mass)
def account_impacts_on_equalities(system, work, v, ledger):
    """`account_drives_in_impacts`, and the same for equalities of positions that move."""
    has_drives = len(system.motions.rows) > 0
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        has_drives = has_drives or (row.account >= 0 and row.holonomic and not row.one_sided)
    if not (has_drives and transmit_impacts(system, work)):
        return
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.account >= 0 and row.holonomic and not row.one_sided:
            ledger[row.account] -= row.multiplier * row.rate
    if len(system.motions.rows) > 0:
        account_reactions_to_impacts(system, work, v, ledger)


@kernel
def account_reactions_to_impacts(system, work, v, ledger):
    """Add the work of prescribed coordinates against the impulses of `transmit_impacts` to the ledger."""
    apply_primary_row_impulses(system.tree, work)
    compute_reaction_impulses(system.tree, work)
    account_reaction_impulses(system.motions, work, v, v, ledger)


@template(apply_inverse_mass)
def transmit_impacts(system, work) -> bool:
    """Compute the multipliers of the equalities that transmit the impulses of one-sided rows; return whether any acts.

    The impulses of one-sided rows are in their multipliers, those of the equalities are of the constrained response.
    Impulses that correct their drift are left out: they correct errors of v, and powers are integrated without.
    """
    rows, terms, dual, count = work.rows, work.terms, work.dual, 0
    for r in range(len(rows)):
        if rows[r].active and not rows[r].primary and not rows[r].one_sided:
            dual.active_rows[count] = r
            count += 1
    last = count
    clear_impulses(work)
    for k in range(len(work.special_rows)):
        row = rows[work.special_rows[k]]
        if row.one_sided and row.multiplier != 0.0:
            dual.active_rows[last], dual.r[last] = work.special_rows[k], row.multiplier
            apply_row_impulse(row, terms, row.multiplier, work.wrenches, work.impulse)
            last += 1
    if last == count:
        return False
    zero_rhs(work)
    impulse_response(system, work)
    for k in range(count):
        dual.r[k] = jacobian_product_of_row(rows[dual.active_rows[k]], terms, work.bodies, work.response)
    build_delassus(system, work, count)
    solve_dual(work, count, VELOCITY)
    for k in range(count, last):
        rows[dual.active_rows[k]].multiplier = dual.r[k]
    clear_impulses(work)
    apply_active_row_impulses(work, last)
    impulse_response(system, work)
    clear_impulses(work)
    apply_active_row_impulses(work, last)
    return True


@template(account_impacts)
def account_drives_in_step(system, work, row_states, corrected, v, ledger):
    """Add the work of drives, and of one-sided rows that move, against their impulses in a variational step.

    They are those in `row_states`, which make positions hold, and those in the rows, if velocities were `corrected`.
    The first ones repeat the second ones of the last step, except in rebounds, and those of the contact step, which has
    accounted for them.
    """
    for k in range(len(work.special_rows)):
        row, row_state = work.rows[work.special_rows[k]], row_states[work.special_rows[k]]
        if row.one_sided:
            correction = row.multiplier if corrected else 0.0
            row.multiplier = row_state.impulse + correction - row_state.anticipated - row_state.predicted
            row_state.anticipated = correction if row.rebound == 0.0 else 0.0
            if row.drive >= 0:
                ledger[row.drive] -= (row.multiplier - correction) * row.rate
    account_impacts(system, work, v, ledger)


@kernel
def account_row_impulses(work, of_positions, ledger):
    """Add the work of row impulses to the ledger, and the dissipation of one-sided rows in impacts to their `loss`.

    The work is the impulse times the mean J v before and after.  A rebound of an Euler step changes u^2 from that of
    the approach.  Impulses of equalities of positions count if `of_positions`.
    """
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.drive >= 0:
            ledger[row.drive] -= row.multiplier * row.rate
        if row.account < 0 or not (of_positions or row.one_sided or not row.holonomic):
            continue
        change = jacobian_product_of_row(row, work.terms, work.bodies, work.response)
        mean = row.residual + 0.5 * change
        row.residual += change
        if not row.one_sided:
            ledger[row.account] += row.multiplier * (mean - row.rate)
        elif row.rebound > 0.0 and change > 0.0 and work.dual.lag[0] > 0.0:
            row.loss += 0.5 * row.multiplier * (row.approach**2 - row.residual**2) / change
        else:
            row.loss -= row.multiplier * mean
