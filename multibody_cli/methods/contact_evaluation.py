"""Kernels that systems with contacts or dry friction have in addition, and their binding.

It imports all that detects and solves contacts: `by_acceleration` imports it for such systems alone.
"""

from __future__ import annotations

from typing import Any

from multibody_cli.constraint_solver.corrected_velocities import keep_multipliers, restore_multipliers
from multibody_cli.constraint_solver.projection import project_velocities_of_all_rows
from multibody_cli.contact_solver.contact_step import finish_contact_step, solve_contact_step
from multibody_cli.contact_solver.joint_friction import update_joint_reactions
from multibody_cli.contact_solver.results import clear_contact_forces, compute_contact_forces
from multibody_cli.contact_solver.rows import update_dual_wrenches
from multibody_cli.contact_solver.workspace import contact_workspace_for as contact_workspace_for
from multibody_cli.kernel import Kernel, bound_kernel, kernel, template
from multibody_cli.linalg.vectors import copy
from multibody_cli.method_kernels import evaluate
from multibody_cli.methods.contract import Dynamics


@template(evaluate)
def finalize_contact_output(system: Any, work: Any, contact_work: Any, state: Any, powers: Any, h: float) -> None:
    """Store accelerations and multipliers without contacts; evaluate those with the last contact impulses as forces."""
    if len(system.contacts.joint_friction.patches) > 0:
        update_joint_reactions(system, work, contact_work.joint_friction)
    copy(state.a, contact_work.free_acceleration)
    keep_multipliers(work, contact_work.free_multipliers)
    table, contacts = system.contacts.joint_friction, contact_work.detection.contacts
    update_dual_wrenches(system.tree, table, work)
    compute_contact_forces(system.tree, table, work, contact_work.step, contact_work.joint_friction, contacts, h)
    evaluate(system, work, state.time[0], state.q, state.v, state.a, powers)
    clear_contact_forces(work)


@kernel
def resume_contact_stepping(work, contact_work, a):
    """Restore the accelerations, multipliers and joint reactions without contacts and friction."""
    restore_multipliers(work, contact_work.free_multipliers)
    contact_work.joint_friction.reactions_valid[0] = 1
    copy(contact_work.free_acceleration, a)


def with_contacts(
    alone: Dynamics, accelerate: Kernel, apply_inverse_mass: Kernel, project: Kernel | None = None
) -> Dynamics:
    """Add the kernels for contacts and joint friction to those without; `project` projects velocities onto rows."""
    project = project or bound_kernel(project_velocities_of_all_rows, apply_inverse_mass=apply_inverse_mass)
    return alone._replace(
        solve_contact_step=bound_kernel(
            solve_contact_step,
            accelerate=accelerate,
            apply_inverse_mass=apply_inverse_mass,
            project_velocities=project,
        ),
        finalize_output=bound_kernel(finalize_contact_output, evaluate=alone.evaluate),
        resume_stepping=resume_contact_stepping,
        finish_contact_step=finish_contact_step,
        displace_step=None,  # a prediction is for accelerations without impulses
        restore_factors=None,
    )
