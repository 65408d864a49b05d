"""Coupled forces of a contact step: their changes with the impulses of contacts.

The impulses x of the rows of a step change the velocities by y, with the matrices of `coupled_forces`:

    A y = J^T x,    A = A_s - U W^T:    y = A_s^-1 J^T x + Z c,    c = W^T y.

Contacts are solved for constant impulses c of the coupled forces, which change the velocities of the rows by J Z c; the
result is y(c).  Broyden's method solves c = W^T y(c).  Its first matrix is that for constant impulses of contacts, 1 -
W^T Z; where contacts neither open nor begin to slip, it ends in 2 m iterations for m rows, up to round-off.

Source: Gay, Some convergence properties of Broyden's method, SIAM J. Numer. Anal. 16 (1979).
"""

from __future__ import annotations

import math

from multibody_cli.constraints.rows import jacobian_product_of_row
from multibody_cli.implicit.coupled_forces import add_coupled_force, add_derivatives, write_coupled_matrix
from multibody_cli.kernel import kernel, lazy_kernel, lazy_template
from multibody_cli.linalg.dense_lu import factor_dense, solve_dense
from multibody_cli.linalg.vectors import clear
from multibody_cli.method_kernels import apply_inverse_mass
from multibody_cli.tree.jacobian import jacobian_times
from multibody_cli.tree.markers import update_marker_changes


@lazy_template(apply_inverse_mass)
def start_coupled_impulses(system, work, step, groups, sleep):
    """Compute Z and the inverse of 1 - W^T Z, set c = 0, and store the velocities of the rows.

    Bodies that coupled forces move do not sleep: impulses elsewhere change these forces within the step.
    """
    coupling, k = work.coupling, len(work.coupling.forces)
    write_coupled_matrix(system, work, 0)
    for i in range(k):
        coupling.impulses[i] = 0.0
        for j in range(len(coupling.rates)):
            if coupling.responses[i, j] != 0.0:
                sleep.at_rest[groups.body_of_coordinate[j]] = 0
    for r in range(step.sizes[0].rows):
        step.r_without_coupled[r] = step.r[r]
    coupling.sweeps[0] = system.contacts.options.sweeps
    if not factor_dense(coupling.matrix, coupling.order):
        coupling.sweeps[0] = 1
    else:
        for i in range(k):
            for j in range(k):
                coupling.rhs[j] = 1.0 if i == j else 0.0
            solve_dense(coupling.matrix, coupling.order, coupling.rhs, coupling.values)
            for j in range(k):
                coupling.inverse[j, i] = coupling.values[j]


@lazy_kernel
def add_coupled_impulses(system, work):
    """Add the impulses c of the coupled forces to `work.impulse` and `work.wrenches`."""
    for i in range(len(work.coupling.forces)):
        add_coupled_force(system, work, i, work.coupling.impulses[i], work.impulse)


@lazy_kernel
def update_coupled_impulses(system, work, groups, step, reports) -> bool:
    """Complete the change of the velocities by that due to c, and change c; return whether to solve again.

    c has converged if its error changes velocities by no more than the tolerance of the contacts, relative to their
    change y.  If it does not converge, the last sweep has c = 0, and the step counts as unsolved.
    """
    coupling, h, k = work.coupling, work.implicit_coefficients[0], len(work.coupling.forces)
    coupling.sweeps[0] -= 1
    add_responses(coupling, coupling.impulses, work.response)
    write_motion(system.tree, work, work.response)
    for i in range(k):
        coupling.values[i] = 0.0
    add_derivatives(system, work, work.response, h * h, h, coupling.values)
    for i in range(k):
        before, coupling.rhs[i] = coupling.rhs[i], coupling.impulses[i] - coupling.values[i]
        coupling.values[i] = coupling.rhs[i] - before
    clear(coupling.rates)
    add_responses(coupling, coupling.rhs, coupling.rates)
    if norm(coupling.rates) <= system.contacts.options.tolerance * norm(work.response):
        for i in range(k):
            coupling.impulses[i] -= coupling.rhs[i]  # also of forces that drives bear, without an effect on velocities
        add_primary_multipliers(work)
        return False
    if coupling.sweeps[0] <= 0:
        coupling.unsolved[1] += 1
        return False
    if coupling.sweeps[0] < system.contacts.options.sweeps - 1:
        update_inverse(coupling.inverse, coupling.change, coupling.values, coupling.row, coupling.excess)
    for i in range(k):
        coupling.change[i] = 0.0
        for m in range(k):
            coupling.change[i] -= coupling.inverse[i, m] * coupling.rhs[m]
        if coupling.sweeps[0] == 1:
            coupling.change[i] = -coupling.impulses[i]
        coupling.impulses[i] += coupling.change[i]
    change_row_velocities(system.tree, work, groups, step, reports)
    return True


@kernel
def add_primary_multipliers(work):
    """Add the multipliers due to c to those of the primary rows, which balance the impulses of the rows alone."""
    coupling, rows = work.coupling, work.rows
    for r in range(len(rows)):
        if rows[r].primary:
            for i in range(len(coupling.forces)):
                rows[r].multiplier += coupling.impulses[i] * coupling.multipliers[i, r]


@kernel
def change_row_velocities(tree, work, groups, step, reports):
    """Compute the velocities of the rows with c, and mark the islands in which they change to be solved again."""
    coupling = work.coupling
    clear(coupling.rates)
    add_responses(coupling, coupling.impulses, coupling.rates)
    write_motion(tree, work, coupling.rates)
    for island in range(groups.islands[0]):
        changed = False
        for i in range(groups.first_row[island], groups.first_row[island + 1]):
            k = groups.rows[i]
            r = step.r_without_coupled[k] + jacobian_product_of_row(
                step.rows[k], step.terms, work.bodies, coupling.rates
            )
            changed = changed or r != step.r[k]
            step.r[k] = r
        reports.converged[island] = not changed


@kernel
def add_responses(coupling, c, rates):
    """Add Z c to the rates (nv,)."""
    for i in range(len(c)):
        for j in range(len(rates)):
            rates[j] += c[i] * coupling.responses[i, j]


@kernel
def write_motion(tree, work, rates):
    """Write the motion of the bodies for rates (nv,) into `dw` and `dv`."""
    jacobian_times(tree, rates, work)
    update_marker_changes(tree, work.bodies)


@kernel
def update_inverse(inverse, change, difference, row, excess):
    """Update the inverse H (k, k) of a matrix to H + (s - H y) s^T H / (s . H y), which maps y (k,) to s (k,).

    `row` (k,) and `excess` (k,) are scratch.
    """
    k, product = len(change), 0.0
    for i in range(k):
        row[i], excess[i] = 0.0, change[i]
        for m in range(k):
            row[i] += change[m] * inverse[m, i]
            excess[i] -= inverse[i, m] * difference[m]
        product += change[i] * (change[i] - excess[i])
    for i in range(k):
        for m in range(k):
            inverse[i, m] += excess[i] * row[m] / product if product != 0.0 else 0.0


@kernel
def norm(y):
    """Euclidean norm of y (n,)."""
    total = 0.0
    for j in range(len(y)):
        total += y[j] * y[j]
    return math.sqrt(total)
