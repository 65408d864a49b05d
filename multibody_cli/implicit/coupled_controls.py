"""Joint forces that depend on other coordinates or on bodies: unsymmetric terms of implicit integrators.

The matrix of an implicit step, A_s of `implicit_forces`, is symmetric; of a joint force it has the derivative by its
own coordinate and rate where these are a stiffness or a damping.  The rest of the derivatives of k forces f_i on the
coordinates j_i is a matrix of rank k:

    A = A_s - U W^T,    U = [e_j1 ... e_jk],    row i of W^T = h^2 df_i/dq + h df_i/dv, without the part that is in A_s.

With the solutions of A_s for the right-hand side, y_s, and for the columns of U, Z = A_s^-1 U,

    A^-1 b = y_s + Z c,    (1 - W^T Z) c = W^T y_s.

W^T is never formed: a product with it is a derivative of the forces along a motion (`forces.quantities`).

Source: Woodbury, Inverting modified matrices (1950).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from multibody_cli.forces.elements import PLACES
from multibody_cli.forces.joint_control import own_stiffness
from multibody_cli.forces.quantities import write_directions
from multibody_cli.implicit.implicit_forces import (
    add_implicit_joint_terms,
    add_implicit_terms,
    clear_wrenches,
    jacobian_product,
)
from multibody_cli.kernel import bound_kernel, kernel, template
from multibody_cli.linalg.dense_lu import factor_dense, solve_dense
from multibody_cli.method_kernels import accelerate, apply_inverse_mass
from multibody_cli.signals import derivative_along
from multibody_cli.tree.jacobian import jacobian_times, write_ball_columns

CONTROLS = PLACES["controls"]


@kernel
def add_coupled_joint_terms(system, work, t):
    """Add the implicit terms of joints, with all derivatives of their forces."""
    add_implicit_joint_terms(system, work, t)
    add_coupling_terms(system, work, t)


@kernel
def add_coupled_terms(system, work, t):
    """Add the implicit terms of all forces, with all derivatives of those of joints."""
    add_implicit_terms(system, work, t)
    add_coupling_terms(system, work, t)


@kernel
def add_coupling_terms(system, work, t):
    """Add the change of the coupled forces along the rates `work.implicit_rates` to `work.tau`."""
    forces, C, coefficients, rates = system.forces, work.coupling, work.implicit_coefficients, work.implicit_rates
    C.time[0] = t
    for i in range(len(C.controls)):
        C.stiffness[i], C.damping[i] = own_stiffness(forces.tables[CONTROLS][C.controls[i]], forces, t)
    write_ball_columns(system.tree, work)
    differentiate_forces(system, work, rates, coefficients[1], coefficients[2], C.values)
    for i in range(len(C.controls)):
        work.tau[forces.tables[CONTROLS][C.controls[i]].iv] += C.values[i]


@kernel
def differentiate_forces(system, work, rates, displacement_factor, velocity_factor, values):
    """Compute the derivatives of the coupled forces along a motion, without the part in A_s, into `values` (k,).

    The coordinates change by `displacement_factor` times `rates` (nv,), their rates by `velocity_factor` times these.
    """
    forces, C = system.forces, work.coupling
    jacobian_product(system.tree, rates, work)
    write_directions(forces.quantities, forces.signals, rates, work.bodies, displacement_factor, velocity_factor)
    for i in range(len(C.controls)):
        control = forces.tables[CONTROLS][C.controls[i]]
        own = displacement_factor * C.stiffness[i] + velocity_factor * C.damping[i]
        values[i] = derivative_along(forces.signals, control.signal, C.time[0]) + own * rates[control.iv]


@template(accelerate, apply_inverse_mass)
def accelerate_coupled(system, work, a):
    """A method's `accelerate` with the coupled forces at the end of the step."""
    accelerate(system, work, a)
    h = work.implicit_coefficients[0]
    if h > 0.0:
        tree, C = system.tree, work.coupling
        differentiate_forces(system, work, a, h * h, h, C.rhs)
        for i in range(len(C.controls)):
            iv = system.forces.tables[CONTROLS][C.controls[i]].iv
            clear_wrenches(work)
            for j in range(len(a)):
                C.impulse[j] = 1.0 if j == iv and not tree.driven[j] else 0.0
            apply_inverse_mass(system, work, C.impulse, C.responses[i])
            differentiate_forces(system, work, C.responses[i], h * h, h, C.values)
            for k in range(len(C.controls)):
                C.matrix[k, i] = (1.0 if k == i else 0.0) - C.values[k]
        factor_dense(C.matrix, C.order)
        solve_dense(C.matrix, C.order, C.rhs, C.values)
        for i in range(len(C.controls)):
            for j in range(len(a)):
                a[j] += C.values[i] * C.responses[i, j]
        jacobian_times(tree, a, work)


@cache
def coupled(accelerate: Any, apply_inverse_mass: Any) -> Any:
    """Bind the template to the two kernels of a method."""
    return bound_kernel(accelerate_coupled, accelerate=accelerate, apply_inverse_mass=apply_inverse_mass)
