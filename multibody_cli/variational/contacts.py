"""Contacts and dry friction of joints in a variational step: impulses at its start.

All forces of the step are applied at its start.  With v the velocities there,

    v* = v + h M^-1 f

is linear in the impulses, which take v* to v' by the laws of `contact_solver.contact_step`.  These impulses are
added to the momenta at the start, and the step is solved like any other.  A sticking body has zero momentum and stays
in place to round-off.  Remaining penetration is corrected before the step by a displacement, without a change of
velocity.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.solver import update_rates, zero_rhs
from multibody_cli.constraints.reduction import update_dependent_coordinates
from multibody_cli.contact_solver.results import clear_contact_forces, compute_contact_forces
from multibody_cli.joints.motion import prescribe
from multibody_cli.kernel import kernel, lazy_kernel, template
from multibody_cli.linalg.vectors import copy
from multibody_cli.method_kernels import evaluate, impulse_response, solve_contact_step
from multibody_cli.tree.configuration import displace
from multibody_cli.tree.jacobian import write_ball_columns
from multibody_cli.variational.constrained import store_applied_reactions
from multibody_cli.variational.discrete_motion import (
    add_impulses,
    initialize_momenta,
    store_start_of_step,
    write_applied_impulses,
)
from multibody_cli.variational.poses import compute_poses
from multibody_cli.variational.step_forces import act_within_step, add_force_impulses, begin_forces, evaluate_forces


@lazy_kernel
def evaluate_forces_at_rates(system, step, t, h, q, v):
    """Evaluate the forces within a step of h from t, with the rates v."""
    copy(q, step.q)
    displace(system.tree, step.q, v, h)
    prescribe(system.motions, t + h, step.q, step.scratch, step.scratch)
    update_dependent_coordinates(system.reductions, step.q, step.scratch)
    compute_poses(system.tree, step.q, step.discrete_motions, step.pose_work)
    evaluate_forces(system, step, t + h, h)


@template(evaluate, impulse_response, solve_contact_step)
def start_of_step_contacts(system, work, contact_work, step, state, powers, t, h) -> bool:
    """Add the impulses of contacts and joint friction to the momenta at the start, and guess the mean rates from v'.

    Return False if there are too many contacts.
    """
    rate, moved, q, v = step.rate, step.q, state.q, state.v
    update_rates(system, t, q, v, state.a, work)  # those of the end of a step have the round-off of its changes
    restore_start_multipliers(work, step.constrained.row_states)
    write_applied_impulses(step.discrete_motions, h, work.wrenches)
    for j in range(len(v)):
        work.impulse[j] = h * step.tau[j]
    if act_within_step(step.forces):
        evaluate_forces_at_rates(system, step, t, h, q, v)
    add_force_impulses(step.forces, h, work)
    zero_rhs(work)
    impulse_response(system, work)
    for j in range(len(v)):
        rate[j] = v[j] + work.response[j]
    copy(q, moved)
    hold_limits(work, 1)
    solved = solve_contact_step(system, work, contact_work, t, h, q, v, rate, state.ledger)
    hold_limits(work, 0)
    if not solved:
        return False
    store_predicted_impulses(contact_work.step, step.constrained.row_states)
    table = system.contacts.joint_friction
    if contact_work.step.sizes[0].contacts + len(table.moved) == 0:
        return True
    if distance(moved, q) > 0.0:
        evaluate(step.forces.nodes, work, t, q, v, state.a, powers)
        write_ball_columns(system.tree, work)
        store_start_of_step(system.tree, work.bodies, step.discrete_motions)
        store_applied_reactions(system.tree, work, step.joint_friction.applied_reactions)
        initialize_momenta(system.tree.links, work.bodies, step.discrete_motions)
        if act_within_step(step.forces):
            begin_forces(system, work, step, t, h, q, v)
    contacts = contact_work.detection.contacts
    compute_contact_forces(system.tree, table, work, contact_work.step, contact_work.joint_friction, contacts, 1.0)
    clear_contact_forces(work)
    add_impulses(step.discrete_motions, work.wrenches)
    return True


@kernel
def restore_start_multipliers(work, row_states):
    """Restore the multipliers of one-sided rows that the forces at the start include; others are impulses by now."""
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.one_sided:
            row.multiplier = row_states[work.special_rows[k]].start_multiplier


@kernel
def hold_limits(work, in_contact):
    """Mark the limits, which the impulses of contacts respect; the step has its own impulses of limits.

    Those that are pressed are rows of the contact step in any case, which may release them.
    """
    for k in range(len(work.special_rows)):
        row = work.rows[work.special_rows[k]]
        if row.one_sided and row.restitution == 0.0:
            row.in_contact = in_contact if row.active != 1 else 0


@kernel
def store_predicted_impulses(step, row_states):
    """Store the impulses of the constraint rows in a contact step, which the variational step repeats."""
    for r in range(len(row_states)):
        row_states[r].predicted = 0.0
    for k in range(step.sizes[0].constraint_rows):
        row_states[step.active_rows[k]].predicted = step.row_impulses[k]


@kernel
def distance(x, y):
    """Return the largest absolute difference of two arrays."""
    largest = 0.0
    for k in range(len(x)):
        largest = max(largest, abs(x[k] - y[k]))
    return largest
