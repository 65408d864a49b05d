"""Constraint rows in a variational step: positions hold at its end, velocities at every node (RATTLE).

The impulses J^T x of the rows act at the start of the step, with J of the start.  They make the errors g of the rows 0
at the end, or nonnegative for unilateral rows:

    g(q') >= 0,   x >= 0,   g x = 0.

With y_0 the correction of the mean rates by the residual alone, M^-1 J^T z corrects the rows, where

    W z + (g / h + J y_0) = 0,      W = J M^-1 J^T

W and J are those of the start: like RIQN, this is a quasi-Newton method, whose error decreases with the step.  At the
end of the step velocities are projected onto the constraints.  Rows that constrain velocities only take part in this
projection alone; their impulse is applied once more at the start of the next step, so that it acts symmetrically about
the node: the mean of the momenta before and after it satisfies the rows.

Sources: Lee, Liu, Park and Srinivasa 2016, (25); Andersen's RATTLE, see Hairer, Lubich and Wanner, VII.1.4; Bruedigam
and Manchester 2020, section 4; for rows of velocities, Ferraro, Iglesias and Martin de Diego, Nonlinearity 21 (2008).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_joints import apply_loop_impulses
from multibody_cli.constraint_solver.solver import (
    PROJECTION_TOLERANCE,
    VELOCITY,
    accumulate_impact_losses,
    activate_unilateral_rows,
    clear_impulses,
    compute_velocity_residuals,
    deactivate_separating_rows,
    impulse_response,
    largest_position_error,
    write_rhs,
    zero_rhs,
)
from multibody_cli.constraints.rows import apply_row_impulse, jacobian_product_of_row
from multibody_cli.kernel import formula, kernel, records
from multibody_cli.linalg.multipliers import solve_multipliers
from multibody_cli.model import Floats, Integers, System, Tree
from multibody_cli.tree.jacobian import add_jacobian_transposed_times
from multibody_cli.tree.workspace import Work, workspace_for
from multibody_cli.variational.discrete_motion import (
    add_impulses,
    add_velocity_changes,
    drnea_body_residuals,
    store_body_residuals,
)
from multibody_cli.variational.maximal_joints import MaximalJoints, maximal_joints_for
from multibody_cli.variational.unconstrained import prepare_unconstrained
from multibody_cli.variational.workspace import DIAGNOSTIC_RESIDUAL, max_abs


class ConstrainedStepWork(NamedTuple):
    """Work arrays of a step with m constraint rows."""

    tree: Tree  # its closures without the maximal-coordinate joints
    maximal_joints: MaximalJoints
    work: Work  # bodies, loop frames and rows at the iterate
    v: Floats  # (n,) scratch
    a: Floats  # (n,)
    errors: Floats  # (m,) of the rows at the iterate, m or rad
    initial_errors: Floats  # (m,) violations at the start of the run: assembly reaches no smaller ones
    start_multipliers: Floats  # (m,) multipliers included in the applied wrenches at the start
    impulses: Floats  # (m,) accumulated impulses of the rows, without these
    dissipation: Floats  # (m,) energy dissipated by unilateral rows, J
    is_active: Integers  # (m,) whether a row is in the active set
    active_count: Integers  # (1,) size of the active set


def constrained_step_work_for(system: System) -> ConstrainedStepWork:
    """Allocate the work arrays."""
    n, m, maximal_joints = len(system.tree.driven), len(system.rows), maximal_joints_for(system)
    left = np.delete(np.asarray(system.tree.closures), maximal_joints.table["closure"])
    left.flags.writeable = False
    return ConstrainedStepWork(
        tree=system.tree._replace(closures=records(left)),
        maximal_joints=maximal_joints,
        work=workspace_for(system),
        v=np.zeros(n),
        a=np.zeros(n),
        errors=np.zeros(m),
        initial_errors=np.zeros(m),
        start_multipliers=np.zeros(m),
        impulses=np.zeros(m),
        dissipation=np.zeros(m),
        is_active=np.zeros(m, np.int64),
        active_count=np.zeros(1, np.int64),
    )


# --- template parameters ------------------------------------------------------------------------------------------
def build_delassus(system: Any, work: Any, count: int) -> None:
    """Template parameter: compute W of the active rows (`constraint_solver.solver`)."""


def residual_response(system: Any, work: Any, step: Any, h: float) -> None:
    """Template parameter: the response to impulses on bodies and coordinates, by `riqn_response` or Newton's method.

    The kernel adds the accumulated impulses of the primary rows to `work.wrenches` and `work.impulse`, writes the
    correction of the mean rates to `work.response`, and accumulates the multipliers of the primary rows.
    """


def project(system: Any, work: Any, level: int) -> None:
    """Template parameter: project onto all rows of a level."""


# --- active set ---------------------------------------------------------------------------------------------------
def prepare_constrained(system, work, step, h):
    """Apply the first kick, compute the impulses on the coordinates, and compute W of the active rows."""
    prepare_unconstrained(system, work, step, h)
    select_active_rows(work, step.constrained)
    zero_rhs(work)
    build_delassus(system, work, step.constrained.active_count[0])


@kernel
def select_active_rows(work, constrained):
    """Write the active set: rows that constrain positions, and unilateral rows that are active at the start."""
    rows, count = work.rows, 0
    for r in range(len(rows)):
        constrained.impulses[r] = constrained.dissipation[r] = 0.0
        constrained.is_active[r] = 0
        if not rows[r].primary and (rows[r].active if rows[r].one_sided else rows[r].holonomic):
            work.dual.active_rows[count] = r
            constrained.is_active[r] = 1
            count += 1
    constrained.active_count[0] = count


@kernel
def add_violated_rows(work, constrained):
    """Add violated unilateral rows to the active set, loop joints excluded; return whether there are any."""
    rows, active_rows, before = work.rows, work.dual.active_rows, constrained.active_count[0]
    count = before
    for r in range(len(work.constraint_axes), len(rows)):
        if rows[r].one_sided and constrained.errors[r] < 0.0 and not constrained.is_active[r]:
            active_rows[count] = r
            constrained.is_active[r] = 1
            count += 1
    constrained.active_count[0] = count
    return count > before


# --- corrections --------------------------------------------------------------------------------------------------
def constrained_correction(system, work, step, h):
    """Compute the correction of the mean rates and of the row impulses, with the factorization and W of the start."""
    rows, terms, dual, constrained = work.rows, work.terms, work.dual, step.constrained
    if add_violated_rows(work, constrained):
        zero_rhs(work)
        build_delassus(system, work, constrained.active_count[0])
    drnea_constrained_residuals(system, work, step, h)
    residual_response(system, work, step, h)
    for j in range(len(step.correction)):
        step.correction[j] = work.response[j]
    count = constrained.active_count[0]
    if count == 0:
        return
    for k in range(count):
        r = dual.active_rows[k]
        dual.r[k] = constrained.errors[r] / h + jacobian_product_of_row(rows[r], terms, work.bodies, work.response)
        dual.lower[k] = (
            -constrained.impulses[r] - h * constrained.start_multipliers[r] if rows[r].one_sided else -math.inf
        )
        dual.upper[k] = math.inf
        dual.x[k] = math.nan
        if dual.W[k, k] == 0.0:
            dual.r[k] = 0.0
    solve_multipliers(
        dual.W[:count, :count], dual.r[:count], dual.lower[:count], dual.upper[:count], dual.x[:count], dual.solver
    )
    clear_impulses(work)
    for k in range(count):
        r = dual.active_rows[k]
        constrained.impulses[r] += dual.x[k]
        apply_row_impulse(rows[r], terms, dual.x[k], work.wrenches, work.impulse)
    zero_rhs(work)
    impulse_response(system, work)
    accumulate_primary_impulses(work, constrained)
    for j in range(len(step.correction)):
        step.correction[j] += work.response[j]


def riqn_response(system, work, step, h):
    """Compute the response to `work.wrenches` and `work.impulse` with the factorization of the start: RIQN, (25)."""
    apply_primary_impulses(work, step.constrained)
    for r in range(len(work.rhs)):
        if work.rows[r].primary:
            work.rows[r].residual = step.constrained.errors[r] / h
    write_rhs(work, VELOCITY)
    impulse_response(system, work)
    accumulate_primary_impulses(work, step.constrained)


@kernel
def drnea_constrained_residuals(system, work, step, h):
    """Compute the residual impulses by DRNEA, active rows included, into `work.wrenches` and `work.impulse`."""
    drnea_body_residuals(system.tree.links, work.bodies, step.discrete_motions, h, work.wrenches)
    for j in range(len(work.impulse)):
        work.impulse[j] = step.impulse[j]
    apply_active_impulses(work, step.constrained)


@kernel
def apply_active_impulses(work, constrained):
    """Apply the accumulated impulses of the active rows to bodies and coordinates."""
    for k in range(constrained.active_count[0]):
        r = work.dual.active_rows[k]
        apply_row_impulse(work.rows[r], work.terms, constrained.impulses[r], work.wrenches, work.impulse)


@kernel
def apply_primary_impulses(work, constrained):
    """Apply the accumulated impulses of the primary rows to bodies and coordinates."""
    for r in range(len(work.rhs)):
        if work.rows[r].primary:
            apply_row_impulse(work.rows[r], work.terms, constrained.impulses[r], work.wrenches, work.impulse)


@kernel
def accumulate_primary_impulses(work, constrained):
    """Add the multipliers of the primary rows to their accumulated impulses."""
    for r in range(len(work.rhs)):
        if work.rows[r].primary:
            constrained.impulses[r] += work.rows[r].multiplier


@kernel
def constraint_rows_satisfied(work, step, max_violation):
    """Return whether the active rows hold at the end, as closely as at the start of the run.

    Small corrections do not imply this: they do not include ineffective or dependent rows.
    """
    rows, constrained = work.rows, step.constrained
    for k in range(constrained.active_count[0]):
        r = work.dual.active_rows[k]
        if constraint_violation(rows[r], constrained.errors[r]) > max_violation + 10.0 * constrained.initial_errors[r]:
            return False
    return True


@formula
def constraint_violation(row, error):
    """Return the violation of a row with this error; nonnegative."""
    return max(-error, 0.0) if row.one_sided else abs(error)


@kernel
def carry_over_residual_constrained(system, work, step, h):
    """Store the residual impulse of the step, which the next step applies."""
    tree = system.tree
    drnea_constrained_residuals(system, work, step, h)
    apply_primary_impulses(work, step.constrained)
    apply_loop_impulses(tree, work.impulse, work)
    if step.settings.maximal:  # impulses act on bodies only
        left = store_body_residuals(tree.links, step.discrete_motions, work.wrenches)
    else:
        for j in range(len(step.residual_carry_over)):
            step.residual_carry_over[j] = 0.0 if tree.driven[j] else work.impulse[j]
        add_jacobian_transposed_times(tree, work, step.residual_carry_over)
        clear_loop_coordinates(tree, step.residual_carry_over)
        left = max_abs(step.residual_carry_over)
    step.diagnostics[DIAGNOSTIC_RESIDUAL] = max(step.diagnostics[DIAGNOSTIC_RESIDUAL], left)
    compute_dissipation(work.rows, step.constrained, h)


@kernel
def compute_dissipation(rows, constrained, h):
    """Compute the energy that unilateral rows dissipate, J, from their mean rates at the start and over the step."""
    for r in range(len(rows)):
        if rows[r].one_sided:
            on_the_way = (constrained.errors[r] - rows[r].error) / h
            constrained.dissipation[r] = -0.5 * constrained.impulses[r] * (rows[r].residual + on_the_way)


@kernel
def clear_loop_coordinates(tree, x):
    """Set the entries of loop joints to 0: their generalized forces have been applied to the bodies."""
    for k in range(len(tree.closures)):
        closure = tree.closures[k]
        for j in range(closure.iv, closure.iv + closure.nv):
            x[j] = 0.0


# --- start and end of a step --------------------------------------------------------------------------------------
@kernel
def begin_constraints(work, step):
    """Store multipliers and violations of the rows at the start of the run."""
    store_start_multipliers(work, step)
    for r in range(len(work.rows)):
        step.constrained.initial_errors[r] = constraint_violation(work.rows[r], work.rows[r].error)


@kernel
def store_start_multipliers(work, step):
    """Store the multipliers of unilateral rows at the start of the step, which `applied_wrench` includes."""
    for r in range(len(work.rows)):
        step.constrained.start_multipliers[r] = work.rows[r].multiplier if work.rows[r].one_sided else 0.0


def velocities_from_momenta_constrained(system, work, step, v, ledger):
    """Compute the velocities from the momenta and project them onto the constraints."""
    links, rows = system.tree.links, work.rows
    store_start_multipliers(work, step)
    for r in range(len(rows)):
        if rows[r].one_sided:
            ledger[rows[r].account] += step.constrained.dissipation[r]
    work.dual.position_error[0] = largest_position_error(work)
    for j in range(len(v)):
        work.impulse[j] = step.residual_carry_over[j]
    zero_rhs(work)
    impulse_response(system, work)
    apply_velocity_response(links, work, v)
    activate_unilateral_rows(work)
    if compute_velocity_residuals(work, v) > PROJECTION_TOLERANCE:
        project(system, work, VELOCITY)
        apply_velocity_response(links, work, v)
        accumulate_impact_losses(work, ledger)
        again = 1.0 / step.settings.first_kick - 1.0
        clear_impulses(work)
        for r in range(len(rows)):
            if not (rows[r].holonomic or rows[r].one_sided):
                apply_row_impulse(rows[r], work.terms, again * rows[r].multiplier, work.wrenches, work.impulse)
        apply_loop_impulses(system.tree, work.impulse, work)
        add_impulses(step.discrete_motions, work.wrenches)
        clear_loop_coordinates(system.tree, work.impulse)
        for j in range(len(v)):
            step.residual_carry_over[j] += work.impulse[j]
    deactivate_separating_rows(work)


@kernel
def apply_velocity_response(links, work, v):
    """Add the velocity response to the velocities of coordinates and bodies."""
    for j in range(len(v)):
        v[j] += work.response[j]
    add_velocity_changes(links, work.bodies)
