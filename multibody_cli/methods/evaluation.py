"""Evaluation of accelerations: the kernels that all methods of two kernels have in common, and their binding.

Systems without constraint rows use separate, smaller kernels.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.corrected_velocities import start_corrected_velocities
from multibody_cli.constraint_solver.drive_work import account_drives_in_impacts
from multibody_cli.constraint_solver.loop_joints import apply_loop_forces, compute_loop_reactions
from multibody_cli.constraint_solver.projection import (
    Projection,
    project_onto_constraints,
    take_factored_positions,
)
from multibody_cli.constraint_solver.solver import (
    accumulate_row_power,
    add_loop_motions,
    enforce_constraints,
    update_kinematics,
    write_acceleration_rhs,
)
from multibody_cli.forces.elements import apply_forces
from multibody_cli.implicit.implicit_forces import add_implicit_joint_terms
from multibody_cli.kernel import Kernel, bound_kernel, kernel, kernel_parameter, template
from multibody_cli.method_kernels import accelerate, apply_inverse_mass, evaluate, finish_accelerations
from multibody_cli.methods.contract import Dynamics
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.tree.computed_torque import add_computed_torques
from multibody_cli.tree.joint_wrenches import accumulate_drive_power, compute_joint_wrenches
from multibody_cli.tree.kinematics import update_tree_kinematics
from multibody_cli.tree.markers import transfer_marker_wrenches


@kernel_parameter
def add_implicit_terms(system, work, t) -> None:
    """Add the implicit terms of forces for the rates `work.implicit_rates`: of joints alone, or of all forces."""


@kernel
def apply_contact_forces(work):
    """Apply the contact forces for output to the bodies; there are none without contacts."""
    for i in range(1, len(work.contact_forces)):
        store_force(work.bodies[i], load_force(work.bodies[i]) - load_force(work.contact_forces[i]))


@template(accelerate)
def evaluate_unconstrained(system, work, t, q, v, a, powers) -> None:
    """Compute dv/dt of every coordinate at (t, q, v) into `a`, and the power of every energy account (na,), W."""
    update_tree_kinematics(system, t, q, v, a, work)
    apply_forces(system.forces, t, q, v, work, powers)
    add_computed_torques(system, work, t, v, powers)
    if work.implicit_coefficients[0] > 0.0:
        add_implicit_joint_terms(system, work, t)
    apply_contact_forces(work)
    accelerate(system, work, a)
    if len(system.motions.rows) > 0:
        compute_joint_wrenches(system.tree, work)
        accumulate_drive_power(system, v, a, work, powers)


@kernel_parameter
def accelerate_again(system, work, a) -> None:
    """Compute dv/dt like `accelerate`, with the factors for the same positions."""


PARAMETERS = (accelerate, accelerate_again, apply_inverse_mass, add_implicit_terms, finish_accelerations)
"""The kernels of a method with constraint rows."""


@template(*PARAMETERS)
def evaluate_constrained(system, work, t, q, v, a, powers) -> None:
    """Like `evaluate_unconstrained`, for systems with constraint rows or markers; computes their multipliers too."""
    is_factored = take_factored_positions(work, t, q)
    update_kinematics(system, t, q, v, a, work)
    compute_accelerations(system, work, t, q, v, a, powers, is_factored)


@template(*PARAMETERS)
def evaluate_constrained_projected(system, work, t, q, v, a, powers) -> None:
    """Like `evaluate_constrained`, after `project_onto_constraints`, with the kinematics of bodies that it leaves."""
    is_factored = take_factored_positions(work, t, q)
    if work.feedback[0] > 0.0:  # nothing was projected
        update_kinematics(system, t, q, v, a, work)
    elif len(system.tree.closures) > 0:
        add_loop_motions(system, q, v, a, work)
    compute_accelerations(system, work, t, q, v, a, powers, is_factored)


@template(*PARAMETERS)
def compute_accelerations(system, work, t, q, v, a, powers, is_factored) -> None:
    """`evaluate_constrained`, with the kinematics in `work`, and the factors for q if it `is_factored`."""
    tree = system.tree
    start_corrected_velocities(work, v)
    write_acceleration_rhs(system, work, v, a)
    apply_forces(system.forces, t, q, v, work, powers)
    add_computed_torques(system, work, t, v, powers)
    if work.implicit_coefficients[0] > 0.0:
        add_implicit_terms(system, work, t)
        is_factored = False  # they change the inertia
    apply_loop_forces(tree, work.tau, work)
    apply_contact_forces(work)
    transfer_marker_wrenches(tree, work.bodies, work.bodies)
    if is_factored:
        accelerate_again(system, work, a)
    else:
        accelerate(system, work, a)
    enforce_constraints(system, work, v, a)
    finish_accelerations(system, work, a)
    accumulate_row_power(work, v, powers)
    if len(system.motions.rows) > 0:
        compute_joint_wrenches(tree, work)
        compute_loop_reactions(tree, work)
        accumulate_drive_power(system, v, a, work, powers)


@template(evaluate)
def evaluate_repeatedly(system, work, t, q, v, a, powers, count) -> None:
    """Call `evaluate` `count` times."""
    for _ in range(count):
        evaluate(system, work, t, q, v, a, powers)


def unconstrained_dynamics(accelerate: Kernel) -> Dynamics:
    """Bind a method's kernel for systems without constraint rows and markers."""
    evaluate = bound_kernel(evaluate_unconstrained, accelerate=accelerate)
    return Dynamics(evaluate, evaluate)


def constrained_dynamics(factor: Kernel, projection: Projection, **kernels: Kernel | None) -> Dynamics:
    """Bind a method's kernels for systems with constraint rows; `factor` is its `accelerate` for the factors alone."""
    account_impacts = bound_kernel(account_drives_in_impacts, apply_inverse_mass=kernels["apply_inverse_mass"])
    return Dynamics(
        bound_kernel(evaluate_constrained, **kernels),
        bound_kernel(evaluate_constrained_projected, **kernels),
        bound_kernel(
            project_onto_constraints, accelerate=factor, account_impacts=account_impacts, **projection._asdict()
        ),
    )
