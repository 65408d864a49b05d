"""Linearization about a state: the constraint Jacobian, and the stiffness and damping of the generalized forces.

With the exact derivatives of all forces on bodies (`forces.variation`), J the Jacobian of the body twists, and C the
rates of the coordinates of loop joints,

    K = J^T (dF/dx) J + d tau/dq + C^T (d tau/dq) C,    and D likewise with velocities.

Derivatives of gravity and inertia forces are neglected: K and D are for motion that is fast in comparison.

Each kernel is an entry of its own, so that a model compiles the kernels of the constraints and forces that it has.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_joints import (
    apply_loop_impulses,
    compute_loop_accelerations,
    compute_loop_rates,
)
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.constraints.rows import acceleration_of_row, jacobian_product_of_row
from multibody_cli.forces.element_products import add_stiffness_damping_products, linearize_forces
from multibody_cli.forces.elements import apply_forces, apply_implicit_joint_forces
from multibody_cli.forces.quantities import write_directions
from multibody_cli.implicit.implicit_forces import clear_wrenches
from multibody_cli.kernel import kernel
from multibody_cli.linalg.vectors import clear
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import ZERO, cross
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.articulated_body import load_motion_change, store_motion_change
from multibody_cli.tree.configuration import free_end
from multibody_cli.tree.inverse_dynamics import fill_mass_matrix
from multibody_cli.tree.jacobian import add_jacobian_transposed_times, jacobian_times, write_ball_columns
from multibody_cli.tree.kinematics import update_tree_kinematics
from multibody_cli.tree.markers import transfer_marker_wrenches, update_marker_changes


@kernel
def compute_mass_matrix(system, work, state, x, M):
    """Compute the mass matrix M (n, n) of all n coordinates of the tree; `x` (n,) is scratch."""
    update_tree_kinematics(system, state.time[0], state.q, state.v, state.a, work)
    write_ball_columns(system.tree, work)
    fill_mass_matrix(system.tree, work, x, M)


@kernel
def compute_constraint_jacobian(system, work, state, G):
    """Compute the Jacobian G (m, n) of all constraint rows; entries of prescribed coordinates are 0."""
    update_kinematics(system, state.time[0], state.q, state.v, state.a, work)
    write_ball_columns(system.tree, work)
    for j in range(free_end(system.tree)):
        set_unit_motion(system, work, j)
        compute_loop_rates(system.tree, work.implicit_rates, work)  # rows may have coefficients of loop joints
        for r in range(len(work.rows)):
            G[r, j] = jacobian_product_of_row(work.rows[r], work.terms, work.bodies, work.implicit_rates)


@kernel
def compute_rates_of_coordinates(system, work, C):
    """Compute the rates C (nv, n) of all coordinates, those of loop joints too, for unit rates of those of the tree.

    The kinematics are in `work`, with the columns of balls.
    """
    for j in range(free_end(system.tree)):
        set_unit_motion(system, work, j)
        compute_loop_rates(system.tree, work.implicit_rates, work)
        for i in range(len(C)):
            C[i, j] = work.implicit_rates[i]


@kernel
def compute_frame_jacobians(system, work, frames, J):
    """Compute the Jacobians J (f, 6, n), [angular; linear] in world axes, of frames on bodies, rows of `FIXED_FRAME`.

    The kinematics are in `work`; columns of prescribed coordinates are 0.
    """
    write_ball_columns(system.tree, work)
    for j in range(free_end(system.tree)):
        set_unit_motion(system, work, j)
        for i in range(len(frames)):
            body = work.bodies[frames[i].row]
            change = load_motion_change(body)
            v = change.v + cross(change.w, load(body.R) @ load(frames[i].origin))
            J[i, 0, j], J[i, 1, j], J[i, 2, j] = change.w.x, change.w.y, change.w.z
            J[i, 3, j], J[i, 4, j], J[i, 5, j] = v.x, v.y, v.z


@kernel
def compute_row_accelerations(system, work, a, values):
    """Compute the values (m,) of all rows at acceleration level, with dv/dt = 0 of all free coordinates.

    The kinematics are in `work`; `a` (nv,) are the prescribed dv/dt, and receives those of loop joints.
    """
    for i in range(len(work.bodies)):
        store_motion_change(work.bodies[i], Motion(ZERO, ZERO))
    compute_loop_accelerations(system.tree, a, work)
    for r in range(len(work.rows)):
        values[r] = acceleration_of_row(work.rows[r], work.terms, work.bodies, a)


@kernel
def differentiate_forces(system, work, state, powers, K, D):
    """Compute K and D (n, n); entries of prescribed coordinates are 0.

    K and D are derivatives of forces along fixed columns of S.
    """
    t = state.time[0]
    update_kinematics(system, t, state.q, state.v, state.a, work)
    apply_forces(system.forces, t, state.q, state.v, work, powers)
    linearize_forces(system.forces, t, work.bodies)
    write_ball_columns(system.tree, work)
    for j in range(free_end(system.tree)):
        write_column(system, work, t, 1.0, 0.0, K, j)
        write_column(system, work, t, 0.0, 1.0, D, j)


@kernel
def set_unit_motion(system, work, j):
    """Compute the motion of the bodies for the unit rate of coordinate j, which `work.implicit_rates` receives."""
    tree, unit = system.tree, work.implicit_rates
    for i in range(len(unit)):
        unit[i] = 1.0 if i == j and not tree.driven[j] else 0.0
    jacobian_times(tree, unit, work)
    update_marker_changes(tree, work.bodies)


@kernel
def write_column(system, work, t, displacement_factor, velocity_factor, matrix, j):
    """Write column j: the generalized forces of the unit motion of coordinate j."""
    tree, unit, tau = system.tree, work.implicit_rates, work.impulse
    set_unit_motion(system, work, j)
    compute_loop_rates(tree, unit, work)
    coefficients = work.implicit_coefficients
    coefficients[0], coefficients[1], coefficients[2] = 0.0, displacement_factor, velocity_factor
    clear(tau)
    forces = system.forces
    write_directions(
        forces.quantities, forces.points, forces.signals, unit, work.bodies, displacement_factor, velocity_factor
    )
    apply_implicit_joint_forces(forces, t, coefficients, True, unit, tau, work.armature)
    coefficients[1] = coefficients[2] = 0.0
    clear_wrenches(work)
    add_stiffness_damping_products(forces, t, work.bodies, displacement_factor, velocity_factor, True, work.wrenches)
    apply_loop_impulses(tree, tau, work)
    transfer_marker_wrenches(tree, work.bodies, work.wrenches)
    add_jacobian_transposed_times(tree, work, tau)
    for i in range(free_end(tree)):
        matrix[i, j] = 0.0 if tree.driven[i] else tau[i]
