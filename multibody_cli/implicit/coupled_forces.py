"""Forces that depend on other coordinates or on bodies: unsymmetric terms of implicit integrators.

The matrix of an implicit step, A_s of `implicit_forces`, is symmetric; of a joint force it has the derivative by its
own coordinate and rate where these are a stiffness or a damping.  The other derivatives of k forces f_i, each along a
fixed direction U_i of the coordinates, are a matrix of rank k:

    A = A_s - U W^T,    row i of W^T = h^2 df_i/dq + h df_i/dv, without the part that is in A_s.

U_i is the unit of a coordinate for a force of a joint, and J^T F for a component of a load on a body with the unit
wrench F, or for the activation f_i of a muscle, with the derivatives F of its wrenches by it.  Directions of loads and
muscles count as constant, as in A_s.  With the solutions of A_s for the right-hand side, y_s, and for the columns of U,
Z = A_s^-1 U,

    A^-1 b = y_s + Z c,    (1 - W^T Z) c = W^T y_s.

All solutions satisfy the equality rows, and their multipliers combine like the solutions.

One-sided rows make the accelerations a and the multipliers x, with the Jacobian J of the active rows, those of

    A a = b + J^T x,    one-sided rows:  J a + bias >= 0,  x >= 0,  one of both 0.

A step solves with changes c of the coupled forces; it is exact where c = W^T a.  At c = 0, which the symmetric matrix
solves (`constraint_solver.solver`), the residual is W^T y_s.  For constant *held* rows, those with a multiplier, all
quantities are linear in c, and the formula above is the direction in which the residual vanishes, with solutions
that satisfy the held rows.  The step follows it to the first row whose multiplier or acceleration becomes 0, releases
or holds that row, and continues: on the path, the residual decreases in proportion and the other conditions are met.
It ends after finitely many rows if the matrix 1 - W^T Z has a determinant of the same sign for all sets of held rows,
as where A + A^T is definite; then the solution is unique.  If the path turns back, or has too many sets, the step keeps
the last point and counts as unsolved.

W^T is never formed: a product with it is a derivative of the forces along a motion (`forces.quantities`).  Forces are
functions of the poses and twists of the bodies at the end of the step, bias accelerations included, as in
`implicit_forces`: methods in any coordinates take the same step, up to the choice of the origins of the bodies.

Sources: Woodbury, Inverting modified matrices (1950); Katzenelson, An algorithm for solving nonlinear resistor networks
(1965); Cottle, Pang and Stone, The Linear Complementarity Problem, chapter 4.
"""

from __future__ import annotations

import math
from typing import Any

from multibody_cli.constraint_solver.loop_joints import compute_loop_rates, compute_loop_velocities
from multibody_cli.constraint_solver.solver import (
    ACCELERATION,
    apply_active_row_impulses,
    apply_impulses_as_forces,
    clear_impulses,
    impulse_response,
    select_active_rows,
    solve_within_bounds,
    zero_rhs,
)
from multibody_cli.constraints.rows import apply_row_impulse, jacobian_product_of_row
from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.coupled import CONTROLS, apply_times, own_derivatives
from multibody_cli.forces.quantities import write_directions
from multibody_cli.implicit.implicit_forces import clear_wrenches, jacobian_product, write_bias_motion
from multibody_cli.kernel import formula, kernel, kernel_parameter, template
from multibody_cli.linalg.dense_lu import factor_dense, solve_dense
from multibody_cli.linalg.free_rows import significant_residual
from multibody_cli.linalg.multipliers import is_finite
from multibody_cli.linalg.vectors import clear
from multibody_cli.method_kernels import apply_inverse_mass, finish_accelerations
from multibody_cli.signals import derivative_along
from multibody_cli.spatial.memory import load_force
from multibody_cli.tree.jacobian import jacobian_times, write_ball_columns
from multibody_cli.tree.markers import update_marker_changes

PASSES, PASSES_PER_ROW = 20, 4
"""Maximum number of sets of held rows, and of those for each active row; usual are one or two."""


@kernel_parameter
def add_other_terms(system: Any, work: Any, t: float) -> None:
    """Add the implicit terms of the symmetric matrix: of joints alone, or of all forces."""


@template(add_other_terms)
def add_coupled_terms(system, work, t):
    """Add the implicit terms of forces, with all derivatives of the coupled ones."""
    add_other_terms(system, work, t)
    add_coupling_terms(system, work, t)


@kernel
def add_coupling_terms(system, work, t):
    """Add the changes of the coupled forces along the rates `work.implicit_rates`, and with the bias accelerations."""
    tree, bodies, coupling = system.tree, work.bodies, work.coupling
    h, displacement_factor, velocity_factor = work.implicit_coefficients
    coupling.time[0] = t
    for i in range(len(coupling.forces)):
        coupling.stiffness[i], coupling.damping[i] = own_derivatives(coupling.forces[i], system.forces, t)
        coupling.values[i] = 0.0
    write_ball_columns(tree, work)
    jacobian_product(tree, work.implicit_rates, work)
    update_marker_changes(tree, bodies)
    compute_loop_velocities(tree, work.implicit_rates, work)
    add_derivatives(system, work, work.implicit_rates, displacement_factor, velocity_factor, coupling.values)
    if displacement_factor > 0.0:
        clear(coupling.rates)
        write_bias_motion(tree, work, coupling.rates)
        add_derivatives(system, work, coupling.rates, h * h, h, coupling.values)
    clear_wrenches(work)
    for i in range(len(coupling.forces)):
        add_coupled_force(system, work, i, coupling.values[i], work.tau)
    for i in range(len(bodies)):
        w = load_force(work.wrenches[i])
        apply_wrench(bodies[i], w.t, w.f)
    clear_wrenches(work)  # impulses on markers would add to theirs


@kernel
def add_coupled_force(system, work, i, factor, x):
    """Add `factor` times the unit of coupled force i to the forces x (nv,) on coordinates, or to `work.wrenches`."""
    coupling = work.coupling
    apply_times(coupling.forces[i], system.forces, coupling.time[0], work.bodies, factor, x, work.wrenches)


@kernel
def add_derivatives(system, work, rates, displacement_factor, velocity_factor, values):
    """Add the derivatives of the coupled forces along a motion, without the part in A_s, to `values` (k,).

    Coordinates change by `displacement_factor` times `rates` (nv,), and poses by as much as the twists `dw` and `dv` of
    the bodies; rates and twists change by `velocity_factor` times these.
    """
    forces, coupling = system.forces, work.coupling
    write_directions(
        forces.quantities, forces.points, forces.signals, rates, work.bodies, displacement_factor, velocity_factor
    )
    for i in range(len(coupling.forces)):
        force = coupling.forces[i]
        values[i] += derivative_along(forces.signals, force.signal, coupling.time[0])
        if force.table == CONTROLS:
            own = displacement_factor * coupling.stiffness[i] + velocity_factor * coupling.damping[i]
            values[i] += own * rates[forces.tables[CONTROLS][force.number].iv]


@template(apply_inverse_mass, finish_accelerations)
def finish_coupled(system, work, a):
    """Correct dv/dt (nv,), which satisfies all rows, to that with the coupled forces at the end of the step."""
    if work.implicit_coefficients[0] > 0.0:
        correct_coupled(system, work, a)
    finish_accelerations(system, work, a)


@template(apply_inverse_mass)
def correct_coupled(system, work, a):
    """Correct dv/dt (nv,), the multipliers, and the forces."""
    tree, coupling = system.tree, work.coupling
    count = select_active_rows(work, ACCELERATION)
    write_residuals(system, work, a)
    hold_loaded_rows(work, count)
    for _ in range(PASSES + PASSES_PER_ROW * count):
        write_coupled_matrix(system, work, count)
        if not factor_dense(coupling.matrix, coupling.order):
            coupling.singular[0] = is_finite(coupling.matrix, coupling.rhs)
            for j in range(len(a)):
                a[j] = math.nan
            return
        solve_dense(coupling.matrix, coupling.order, coupling.rhs, coupling.values)
        length, blocking = step_to_bound(work, count)
        for i in range(len(coupling.values)):
            coupling.values[i] *= length
            coupling.rhs[i] *= 1.0 - length
            for j in range(len(a)):
                a[j] += coupling.values[i] * coupling.responses[i, j]
        apply_combination(system, work, coupling.values)
        if blocking < 0:
            break
        exchange_row(work, blocking)
    else:
        coupling.unsolved[0] += 1
    jacobian_times(tree, a, work)


@kernel
def write_residuals(system, work, a):
    """Write the derivatives of the coupled forces along dv/dt (nv,) to `rhs`: the residuals without their changes."""
    tree, coupling = system.tree, work.coupling
    h, at_start = work.implicit_coefficients[0], work.implicit_coefficients[1] > 0.0
    for j in range(len(a)):
        coupling.rates[j] = a[j] if at_start or not tree.driven[j] else 0.0  # stages have prescribed rates of their own
    compute_loop_rates(tree, coupling.rates, work)  # without the bias
    for i in range(len(coupling.forces)):
        coupling.rhs[i] = 0.0
    add_derivatives(system, work, coupling.rates, h * h, h, coupling.rhs)


@template(apply_inverse_mass)
def write_coupled_matrix(system, work, count):
    """Write 1 - W^T Z, with the responses Z that satisfy the held rows, and their multipliers."""
    coupling, k, h = work.coupling, len(work.coupling.forces), work.implicit_coefficients[0]
    store_multipliers(work, coupling.multipliers[k])
    zero_rhs(work)
    for i in range(k):
        respond(system, work, i, count)
        store_multipliers(work, coupling.multipliers[i])
        for j in range(len(work.response)):
            coupling.responses[i, j] = work.response[j]
        for m in range(k):
            coupling.values[m] = 0.0
        add_derivatives(system, work, work.response, h * h, h, coupling.values)
        for m in range(k):
            coupling.matrix[m, i] = (1.0 if m == i else 0.0) - coupling.values[m]


@template(apply_inverse_mass)
def respond(system, work, i, count):
    """Compute the response to the unit of coupled force i, into `work.response`, that satisfies the held rows."""
    dual, rows = work.dual, work.rows
    clear_impulses(work)
    add_coupled_force(system, work, i, 1.0, work.impulse)
    impulse_response(system, work)
    if count > 0:
        for m in range(count):
            row = rows[dual.active_rows[m]]
            dual.r[m] = jacobian_product_of_row(row, work.terms, work.bodies, work.response)
        solve_within_bounds(work, count)
        write_slacks(work, count, work.coupling.slacks[i])
        clear_impulses(work)
        add_coupled_force(system, work, i, 1.0, work.impulse)
        apply_active_row_impulses(work, count)
        impulse_response(system, work)


# --- one-sided rows ---------------------------------------------------------------------------------------------------
@kernel
def hold_loaded_rows(work, count):
    """Hold the one-sided rows with a multiplier, at the solution of the dual problem; write the slacks of all."""
    dual = work.dual
    for m in range(count):
        row = work.rows[dual.active_rows[m]]
        if row.one_sided:
            hold(dual, m, row.multiplier > 0.0)
    write_slacks(work, count, work.coupling.slacks[len(work.coupling.forces)])


@formula
def hold(dual, m, held):
    """Set the bounds of the multiplier of an active row: unbounded if it is held, else 0."""
    dual.lower[m] = -math.inf if held else 0.0
    dual.upper[m] = math.inf if held else 0.0


@kernel
def write_slacks(work, count, slacks):
    """Write the multiplier of each held row, and the acceleration of each other row, to `slacks` (m,)."""
    dual = work.dual
    W, b, x = dual.W[:count, :count], dual.r[:count], dual.x[:count]
    for m in range(count):
        slacks[m] = x[m] if dual.upper[m] > 0.0 else significant_residual(W, b, x, m)


@kernel
def step_to_bound(work, count) -> tuple[float, int]:
    """Return the part, at most 1, of the changes `values` (k,) up to a bound, and the active row there; -1 if none."""
    coupling, rows = work.coupling, work.rows
    length, blocking, k = 1.0, -1, len(work.coupling.forces)
    for m in range(count):
        slack, change = max(coupling.slacks[k, m], 0.0), slack_change(coupling, m)
        if rows[work.dual.active_rows[m]].one_sided and slack < -length * change:
            length, blocking = slack / -change, m
    for m in range(count):
        coupling.slacks[k, m] += length * slack_change(coupling, m)
    return length, blocking


@formula
def slack_change(coupling, m):
    """Change of the slack of an active row with the changes `values` (k,) of the coupled forces."""
    total = 0.0
    for i in range(len(coupling.values)):
        total += coupling.values[i] * coupling.slacks[i, m]
    return total


@kernel
def exchange_row(work, m):
    """Release an active row that is held, or hold it, where its slack is 0."""
    dual = work.dual
    hold(dual, m, not dual.upper[m] > 0.0)
    work.rows[dual.active_rows[m]].multiplier = 0.0


# --- results ----------------------------------------------------------------------------------------------------------
@kernel
def store_multipliers(work, multipliers):
    """Store the multipliers (nr,) of a solution."""
    for r in range(len(work.rows)):
        multipliers[r] = work.rows[r].multiplier


@kernel
def apply_combination(system, work, c):
    """Apply the coupled forces times c (k,), and the change of the multipliers, as forces."""
    rows, coupling = work.rows, work.coupling
    clear_impulses(work)
    for i in range(len(c)):
        add_coupled_force(system, work, i, c[i], work.impulse)
    for r in range(len(rows)):
        change = 0.0
        for i in range(len(c)):
            change += c[i] * coupling.multipliers[i, r]
        rows[r].multiplier = coupling.multipliers[len(c), r] + change
        if change != 0.0:
            apply_row_impulse(rows[r], work.terms, change, work.wrenches, work.impulse)
    apply_impulses_as_forces(system.tree, work)
