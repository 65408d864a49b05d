"""Contact and friction forces for output: the impulses of the last step divided by its length."""

from __future__ import annotations

from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.constraints.rows import apply_row_impulse
from multibody_cli.contact_solver.rows import PER_CONTACT
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.spatial.products import no_force


@kernel
def compute_contact_forces(work, contact_work, h):
    """Compute the body wrenches of all contact and joint-friction impulses of the last step, divided by h."""
    clear_impulses(work)
    friction_forces, constraint_rows = contact_work.joint_friction.friction_forces, contact_work.constraint_row_count[0]
    for p in range(len(friction_forces)):
        for j in range(1, PER_CONTACT):
            friction_forces[p, j] = contact_work.joint_friction.previous_impulses[p, j] / h
            row = contact_work.rows[constraint_rows + PER_CONTACT * p + j]
            apply_row_impulse(row, contact_work.terms, friction_forces[p, j], work.wrenches, work.impulse)
    first = constraint_rows + PER_CONTACT * len(friction_forces)
    for c in range(contact_work.contact_count[0]):
        for j in range(PER_CONTACT):
            row = contact_work.rows[first + PER_CONTACT * c + j]
            apply_row_impulse(
                row, contact_work.terms, contact_work.detection.contacts[c].impulse[j] / h, work.wrenches, work.impulse
            )
    for i in range(1, len(work.contact_forces)):
        store_force(work.contact_forces[i], load_force(work.wrenches[i]))


@kernel
def apply_contact_forces(work):
    """Apply the contact forces for output to the bodies."""
    for i in range(1, len(work.contact_forces)):
        store_force(work.bodies[i], load_force(work.bodies[i]) - load_force(work.contact_forces[i]))


@kernel
def clear_contact_forces(work):
    """Set the contact forces for output to 0."""
    for i in range(1, len(work.contact_forces)):
        store_force(work.contact_forces[i], no_force())
