"""Linearization about a state: stiffness and damping matrices K and D of the generalized forces.

With the exact derivatives of all forces on bodies (`forces.variation`), J the Jacobian of the body twists, and C the
rates of the coordinates of loop joints,

    K = J^T (dF/dx) J + d tau/dq + C^T (d tau/dq) C,    and D likewise with velocities.

Derivatives of gravity and inertia forces are neglected: K and D are for motion that is fast in comparison.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_joints import apply_loop_impulses, compute_loop_rates
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.constraints.rows import jacobian_product_of_row
from multibody_cli.forces.elements import add_stiffness_damping_products, apply_forces, apply_implicit_joint_forces
from multibody_cli.forces.quantities import write_directions
from multibody_cli.implicit.implicit_forces import clear_wrenches, free_end
from multibody_cli.kernel import kernel
from multibody_cli.tree.articulated_body import accelerate, apply_inverse_mass
from multibody_cli.tree.jacobian import add_jacobian_transposed_times, jacobian_times, write_ball_columns
from multibody_cli.tree.markers import transfer_marker_wrenches, update_marker_changes


@kernel
def linearize(system, work, state, powers, inverse, K, D, G):
    """Compute M^-1, K and D (n, n) for the n coordinates of the tree, and the Jacobian G (m, n) of all constraint rows.

    K and D are derivatives of forces along fixed columns of S.  Entries of prescribed coordinates are 0.
    """
    tree, t, unit = system.tree, state.time[0], work.implicit_rates
    update_kinematics(system, t, state.q, state.v, state.a, work)
    apply_forces(system.forces, t, state.q, state.v, work, powers)
    accelerate(system, work, work.response)
    write_ball_columns(tree, work)
    for j in range(free_end(tree)):
        for i in range(len(unit)):
            unit[i] = 1.0 if i == j and not tree.driven[j] else 0.0
        write_column(system, work, t, 1.0, 0.0, K, j)
        write_column(system, work, t, 0.0, 1.0, D, j)
        for r in range(len(work.rows)):
            G[r, j] = jacobian_product_of_row(work.rows[r], work.terms, work.bodies, unit)
        clear_wrenches(work)
        apply_inverse_mass(system, work, unit, work.response)
        for i in range(free_end(tree)):
            inverse[i, j] = 0.0 if tree.driven[j] else work.response[i]


@kernel
def write_column(system, work, t, displacement_factor, velocity_factor, matrix, j):
    """Write column j: generalized forces of the unit motion of coordinate j in `work.implicit_rates`."""
    tree, unit, tau = system.tree, work.implicit_rates, work.impulse
    jacobian_times(tree, unit, work)
    update_marker_changes(tree, work.bodies)
    compute_loop_rates(tree, unit, work)
    coefficients = work.implicit_coefficients
    coefficients[0], coefficients[1], coefficients[2] = 0.0, displacement_factor, velocity_factor
    for i in range(len(tau)):
        tau[i] = 0.0
    forces = system.forces
    write_directions(forces.quantities, forces.signals, unit, work.bodies, displacement_factor, velocity_factor)
    apply_implicit_joint_forces(forces, t, coefficients, True, unit, tau, work.armature)
    coefficients[1] = coefficients[2] = 0.0
    clear_wrenches(work)
    add_stiffness_damping_products(forces, t, work.bodies, displacement_factor, velocity_factor, True, work.wrenches)
    apply_loop_impulses(tree, tau, work)
    transfer_marker_wrenches(tree, work.wrenches)
    add_jacobian_transposed_times(tree, work, tau)
    for i in range(free_end(tree)):
        matrix[i, j] = 0.0 if tree.driven[i] else tau[i]
