"""Forces that depend on other coordinates or on bodies: unsymmetric terms of implicit integrators.

The matrix of an implicit step, A_s of `implicit_forces`, is symmetric; of a joint force it has the derivative by its
own coordinate and rate where these are a stiffness or a damping.  The other derivatives of k forces f_i, each along a
fixed direction U_i of the coordinates, are a matrix of rank k:

    A = A_s - U W^T,    row i of W^T = h^2 df_i/dq + h df_i/dv, without the part that is in A_s.

U_i is the unit of a coordinate for a force of a joint, and J^T F for a component of a load on a body with the unit
wrench F.  The directions of loads count as constant, as in A_s.  With the solutions of A_s for the right-hand side,
y_s, and for the columns of U, Z = A_s^-1 U,

    A^-1 b = y_s + Z c,    (1 - W^T Z) c = W^T y_s.

W^T is never formed: a product with it is a derivative of the forces along a motion (`forces.quantities`).  Forces are
functions of the poses and twists of the bodies at the end of the step, bias accelerations included, as in
`implicit_forces`, so that the step does not depend on the choice of coordinates.

Source: Woodbury, Inverting modified matrices (1950).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from multibody_cli.constraint_solver.loop_joints import compute_loop_rates
from multibody_cli.constraint_solver.solver import apply_impulses_as_forces, clear_impulses, impulse_response, zero_rhs
from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.coupled import CONTROLS, apply_times, own_derivatives
from multibody_cli.forces.quantities import write_directions
from multibody_cli.implicit.implicit_forces import (
    add_implicit_joint_terms,
    add_implicit_terms,
    clear_wrenches,
    jacobian_product,
    write_bias_motion,
)
from multibody_cli.kernel import bound_kernel, kernel, template
from multibody_cli.linalg.dense_lu import factor_dense, solve_dense
from multibody_cli.method_kernels import accelerate, apply_inverse_mass
from multibody_cli.signals import derivative_along
from multibody_cli.spatial.memory import load_force
from multibody_cli.tree.jacobian import jacobian_times, write_ball_columns
from multibody_cli.tree.markers import update_marker_changes


@kernel
def add_coupled_joint_terms(system, work, t):
    """Add the implicit terms of joints, and all derivatives of the coupled forces."""
    add_implicit_joint_terms(system, work, t)
    add_coupling_terms(system, work, t)


@kernel
def add_coupled_terms(system, work, t):
    """Add the implicit terms of all forces, and all derivatives of the coupled ones."""
    add_implicit_terms(system, work, t)
    add_coupling_terms(system, work, t)


@kernel
def add_coupling_terms(system, work, t):
    """Add the changes of the coupled forces along the rates `work.implicit_rates`, and with the bias accelerations."""
    tree, bodies, C = system.tree, work.bodies, work.coupling
    h, displacement_factor, velocity_factor = work.implicit_coefficients
    C.time[0] = t
    for i in range(len(C.forces)):
        C.stiffness[i], C.damping[i] = own_derivatives(C.forces[i], system.forces, t)
        C.values[i] = 0.0
    write_ball_columns(tree, work)
    jacobian_product(tree, work.implicit_rates, work)
    update_marker_changes(tree, bodies)
    add_derivatives(system, work, work.implicit_rates, displacement_factor, velocity_factor, C.values)
    if displacement_factor > 0.0:
        for j in range(len(C.rates)):
            C.rates[j] = 0.0
        write_bias_motion(tree, work, C.rates)
        add_derivatives(system, work, C.rates, h * h, h, C.values)
    clear_wrenches(work)
    for i in range(len(C.forces)):
        apply_times(C.forces[i], system.forces, tree, bodies, C.values[i], work.tau, work.wrenches)
    for i in range(len(bodies)):
        w = load_force(work.wrenches[i])
        apply_wrench(bodies[i], w.t, w.f)


@kernel
def add_derivatives(system, work, rates, displacement_factor, velocity_factor, values):
    """Add the derivatives of the coupled forces along a motion, without the part in A_s, to `values` (k,).

    Coordinates change by `displacement_factor` times `rates` (nv,), and poses by as much as the twists `dw` and `dv` of
    the bodies; rates and twists change by `velocity_factor` times these.
    """
    forces, C = system.forces, work.coupling
    write_directions(forces.quantities, forces.signals, rates, work.bodies, displacement_factor, velocity_factor)
    for i in range(len(C.forces)):
        force = C.forces[i]
        values[i] += derivative_along(forces.signals, force.signal, C.time[0])
        if force.control >= 0:
            own = displacement_factor * C.stiffness[i] + velocity_factor * C.damping[i]
            values[i] += own * rates[forces.tables[CONTROLS][force.control].iv]


@template(accelerate, apply_inverse_mass)
def accelerate_coupled(system, work, a):
    """A method's `accelerate` with the coupled forces at the end of the step."""
    accelerate(system, work, a)
    h = work.implicit_coefficients[0]
    if h > 0.0:
        tree, C = system.tree, work.coupling
        k = len(C.forces)
        store_multipliers(work, C.multipliers[k])
        update_marker_changes(tree, work.bodies)
        for j in range(len(a)):
            C.rates[j] = a[j]
        compute_loop_rates(tree, C.rates, work)  # without the bias
        for i in range(k):
            C.rhs[i] = 0.0
        add_derivatives(system, work, C.rates, h * h, h, C.rhs)
        zero_rhs(work)
        for i in range(k):
            clear_impulses(work)
            apply_times(C.forces[i], system.forces, tree, work.bodies, 1.0, work.impulse, work.wrenches)
            impulse_response(system, work)
            store_multipliers(work, C.multipliers[i])
            for j in range(len(a)):
                C.responses[i, j] = work.response[j]
            for m in range(k):
                C.values[m] = 0.0
            add_derivatives(system, work, work.response, h * h, h, C.values)
            for m in range(k):
                C.matrix[m, i] = (1.0 if m == i else 0.0) - C.values[m]
        factor_dense(C.matrix, C.order)
        solve_dense(C.matrix, C.order, C.rhs, C.values)
        for i in range(k):
            for j in range(len(a)):
                a[j] += C.values[i] * C.responses[i, j]
        combine_multipliers(work, C.values, C.multipliers)
        clear_impulses(work)
        for i in range(k):
            apply_times(C.forces[i], system.forces, tree, work.bodies, C.values[i], work.impulse, work.wrenches)
        apply_impulses_as_forces(tree, work)
        jacobian_times(tree, a, work)


@kernel
def store_multipliers(work, multipliers):
    """Store the multipliers of the primary rows."""
    for r in range(len(work.rhs)):
        multipliers[r] = work.rows[r].multiplier


@kernel
def combine_multipliers(work, factors, multipliers):
    """Set the multipliers of the primary rows to those of y_s + Z c, with c the `factors` (k,)."""
    for r in range(len(work.rhs)):
        total = multipliers[len(factors), r]
        for i in range(len(factors)):
            total += factors[i] * multipliers[i, r]
        work.rows[r].multiplier = total


@cache
def coupled(accelerate: Any, apply_inverse_mass: Any) -> Any:
    """Bind the template to the two kernels of a method."""
    return bound_kernel(accelerate_coupled, accelerate=accelerate, apply_inverse_mass=apply_inverse_mass)
