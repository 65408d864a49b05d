"""Dry friction of joints in a variational step: Coulomb's law for the mean slip velocity and for the loads of the step.

Friction impulses act at the start of the step, like those of contacts (`variational.contacts`).  A joint that sticks
keeps its coordinates: its mean slip velocity is 0, not that at the start, since the velocity changes within the step by
Coriolis and centripetal accelerations.  The mean slip velocity is

    u = u' + c,

where u' is the slip velocity after the impulses, a linear function of them, and c its change during the step.  The
wrench that a joint transmits is h F + G, with G a linear function of the impulses.  For given c and F the contact step
solves Coulomb's law for u and the impulses; with these the step follows, and from it other c and F: the change of the
slip velocity within the step, and the wrenches that balance its discrete momenta.  Both depend on the impulses only in
the order of the step, which is the rate of convergence.  The first guess is c of the previous step, and F from the
accelerations at the start.

The mean slip velocity follows from the displacement of the child relative to the parent,

    X_M^-1 X_P X_P'^-1 X_M',    h (w, v) = its rotation vector and its translation,

with the frame M of the joint, fixed in the child, the parent P, and the end of the step marked by a prime.  It is that
of the coordinates of the joint, if M is translated along the axis of rotation, or not at all.  Of a brake on the rate
of a coordinate, of a combination or of the length of a path, it is their change over the step.

The energy that friction dissipates is
-x (u_0 + u') / 2, with the slip velocity u_0 before the impulses: the exact change of the kinetic energy at the start.
"""

from __future__ import annotations

import math

from multibody_cli.cables.lines import length_of
from multibody_cli.cables.moving import place_points
from multibody_cli.constraint_solver.drive_work import compute_reaction_impulses, transmit_impacts
from multibody_cli.constraint_solver.solver import apply_primary_row_impulses, clear_impulses
from multibody_cli.constraints.capstan import displacement_at
from multibody_cli.constraints.elements import ROPES
from multibody_cli.constraints.rows import IMPACT_SPEED
from multibody_cli.contact_solver.friction.problem import PER_CONTACT, copy
from multibody_cli.contact_solver.guides import tension_at_end
from multibody_cli.contact_solver.joint_friction import compute_joint_reactions, friction_of_joint, joint_reaction
from multibody_cli.contact_solver.results import MEAN_SLIP
from multibody_cli.contact_solver.rows import patch_axes
from multibody_cli.kernel import formula, kernel, kernel_parameter, lazy_template, template
from multibody_cli.method_kernels import apply_inverse_mass, evaluate
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import dot, no_force, power, rotated_force, transposed, transposed_times
from multibody_cli.spatial.rotations import quaternion_product, vector_of_quaternion
from multibody_cli.spatial.values import Force, Motion, Vec3
from multibody_cli.tree.configuration import largest_change
from multibody_cli.tree.jacobian import accumulate_wrenches_inward, write_ball_columns
from multibody_cli.variational.constrained import apply_primary_impulses, transfer_impulses_to_bodies
from multibody_cli.variational.discrete_motion import extent_of, relative_quaternion
from multibody_cli.variational.step import drnea_residuals

CONVERGED, DIVERGED, TOO_MANY_CONTACTS = range(3)
"""Results of a step."""

MAX_ITERATIONS = 30
"""Maximum number of solutions of a step with changed slip velocities."""

TOLERANCE_FACTOR = 10.0
"""Tolerance of slip velocities, relative to that of the mean rates, and of impulses relative to limits and momenta."""

ROUND_OFF = 1e-14
"""Of relative positions of two bodies, relative to the extent of the mechanism."""


@kernel_parameter
def solve_basic_step(system, work, contact_work, step, state, powers, t, h) -> int:
    """Apply the impulses of contacts and friction, and solve the step; return CONVERGED or the failure.

    It may be repeated for the friction of joints (`solve_step_with_joint_friction`).
    """
    raise NotImplementedError


@template(evaluate, solve_basic_step, apply_inverse_mass)
def solve_step_with_joint_friction(system, work, contact_work, step, state, powers, t, h) -> int:
    """Solve a step and the impulses for the mean slip velocities; return CONVERGED or the failure.

    A step whose slip velocities do not converge counts as unsolved.
    """
    changes, start = step.joint_friction.slip_changes, step.joint_friction
    q, v, residual = state.q, state.v, contact_work.diagnostics.max_residual[0]
    copy(contact_work.diagnostics.unsolved_steps, start.unsolved_steps, len(start.unsolved_steps))
    store_start(step, q, state.ledger)
    for iteration in range(MAX_ITERATIONS):
        for p in range(len(changes)):
            for j in range(PER_CONTACT - 1):
                contact_work.joint_friction.slip_changes[p, j] = changes[p, j]
        evaluate(system, work, t, q, v, state.a, powers)
        write_ball_columns(system.tree, work)
        if iteration == 0:
            clear_impulses(work)
            compute_joint_reactions(system, work, contact_work.joint_friction)
        contact_work.joint_friction.reactions_valid[0] = 1
        result = solve_basic_step(system, work, contact_work, step, state, powers, t, h)
        if result != CONVERGED:
            return result
        agree = update_slip_changes(system, work, contact_work, step, h, q, v)
        agree = update_tensions(system, work, contact_work, step, h) and agree
        compute_impact_loads(system, work, contact_work.step, step)
        if update_reactions(system, work, contact_work, step, h) and agree:
            return CONVERGED
        if iteration < MAX_ITERATIONS - 1:
            restore_start(step, q, state.ledger)
            copy(start.unsolved_steps, contact_work.diagnostics.unsolved_steps, len(start.unsolved_steps))
            contact_work.diagnostics.max_residual[0] = residual
    copy(start.unsolved_steps, contact_work.diagnostics.unsolved_steps, len(start.unsolved_steps))
    contact_work.diagnostics.unsolved_steps[MEAN_SLIP - 1] += 1
    contact_work.joint_friction.worst[1] = contact_work.joint_friction.worst[0]
    return CONVERGED


@kernel
def store_start(step, q, ledger):
    """Store everything that a solution of the step changes."""
    start = step.joint_friction
    for i in range(len(step.discrete_motions)):
        start.discrete_motions[i] = step.discrete_motions[i]
    copy(step.residual_carry_over, start.residual_carry_over, len(step.residual_carry_over))
    copy(q, start.q, len(q))
    copy(ledger, start.ledger, len(ledger))


@kernel
def restore_start(step, q, ledger):
    """Restore the start of the step."""
    start = step.joint_friction
    for i in range(len(step.discrete_motions)):
        step.discrete_motions[i] = start.discrete_motions[i]
    copy(start.residual_carry_over, step.residual_carry_over, len(step.residual_carry_over))
    copy(start.q, q, len(q))
    copy(start.ledger, ledger, len(ledger))


@kernel
def update_slip_changes(system, work, contact_work, step, h, q, v) -> bool:
    """Update the changes of the slip velocities that differ from those in the step; return whether all agree.

    Changes that agree within the tolerance are kept, or 0 if they are small, so that a mechanism at rest stays there.
    """
    patches, changes, agree = system.contacts.joint_friction.patches, step.joint_friction.slip_changes, True
    row, scale = contact_work.step.sizes[0].constraint_rows, max(system.tree.rate, largest_change(system.tree, v))
    round_off = ROUND_OFF * extent_of(system.tree, step.discrete_motions) / abs(h)
    tolerance = TOLERANCE_FACTOR * (step.settings.tolerance * scale + round_off)
    for p in range(len(patches)):
        patch = patches[p]
        change_along = -contact_work.step.velocity_after[row + PER_CONTACT * p + 1]
        change_across = -contact_work.step.velocity_after[row + PER_CONTACT * p + 2]
        if patch.dual >= 0:
            change_along += mean_rate(system.tree, patch, step, q, h)
            accuracy = tolerance / system.tree.weights[patch.dual]
        else:
            V = mean_twist(patch, work.bodies, step.discrete_motions, h)
            along = Force(load(patch.along_t), load(patch.along_f))
            change_along += power(V, along)
            change_across += power(V, Force(load(patch.across_t), load(patch.across_f)))
            turn, slide = math.sqrt(dot(along.t, along.t)), math.sqrt(dot(along.f, along.f))
            accuracy = tolerance * max(turn, system.tree.length * slide)
        largest = max(abs(change_along - changes[p, 0]), abs(change_across - changes[p, 1]))
        if largest > accuracy:
            changes[p, 0], changes[p, 1] = change_along, change_across
            contact_work.joint_friction.worst[0] = p
            agree = False
        elif max(abs(change_along), abs(change_across)) <= accuracy:
            changes[p, 0] = changes[p, 1] = 0.0
    table = system.contacts.joint_friction
    for b in range(len(table.brakes)):
        p = len(patches) + b
        rate, scale = mean_rate_of_brake(system, table.brakes[b], work.bodies, step, q, h)
        change, accuracy = rate - contact_work.step.velocity_after[row + PER_CONTACT * p + 1], tolerance * scale
        if abs(change - changes[p, 0]) > accuracy:
            changes[p, 0] = change
            contact_work.joint_friction.worst[0] = p
            agree = False
        elif abs(change) <= accuracy:
            changes[p, 0] = 0.0
    spans = system.constraints.tables[ROPES]
    for g in range(len(table.guides)):
        p = len(table.moved) - len(table.guides) + g
        if contact_work.joint_friction.grip[g] > 0.0:
            guide, points = table.guides[g], system.constraints.points
            moved = displacement_at(spans, points, guide, work.bodies, q, step.discrete_motions, step.q)
            rate = moved / h
            change = rate - contact_work.step.velocity_after[row + PER_CONTACT * p + 1]
            if abs(change - changes[p, 0]) > tolerance * system.tree.length:
                changes[p, 0] = change
                contact_work.joint_friction.worst[0] = p
                agree = False
            elif abs(change) <= tolerance * system.tree.length:
                changes[p, 0] = 0.0
        else:
            changes[p, 0] = 0.0
    return agree


@kernel
def mean_rate_of_brake(system, brake, bodies, step, q, h) -> tuple[float, float]:
    """Return the mean rate over the step of the combination or of the path of a brake, and the scale of its error."""
    tree, points, total, scale = system.tree, system.forces.points, 0.0, 0.0
    for k in range(brake.first_term, brake.last_term):
        of = system.contacts.joint_friction.brake_terms[k]
        total += of.coefficient * mean_rate(tree, of, step, q, h)
        scale = max(scale, abs(of.coefficient) / tree.weights[of.dual])
    if brake.last_point > brake.first_point:
        place_points(points, step.q)
        end = length_of(points, brake.first_point, brake.last_point, step.discrete_motions)
        place_points(points, q)
        total += (end - length_of(points, brake.first_point, brake.last_point, bodies)) / h
        scale = tree.length
    return total, scale


@kernel
def update_tensions(system, work, contact_work, step, h) -> bool:
    """Update the tensions of ropes that slide with friction to those of the step; return whether they agree."""
    table, joint_friction, agree = system.contacts.joint_friction, contact_work.joint_friction, True
    for g in range(len(table.guides)):
        guide = table.guides[g]
        if joint_friction.grip[g] > 0.0:
            used = tension_at_end(work, contact_work.step, contact_work.step.row_impulses, joint_friction, guide, g)
            of_rows = used - joint_friction.tension[g] - h * guide.pretension
            row_state = step.constrained.row_states[guide.row]
            jerk = impact_of_row(work.rows[guide.row], row_state, contact_work.step.sizes[0].contacts)
            change = row_state.impulse + row_state.lacking - jerk - of_rows
            accuracy = TOLERANCE_FACTOR * step.settings.tolerance * max(abs(used), abs(jerk))
            if abs(change - joint_friction.tension_changes[g]) > accuracy:
                joint_friction.tension_changes[g] = change
                joint_friction.worst[0] = len(table.moved) - len(table.guides) + g
                agree = False
    return agree


@template(apply_inverse_mass)
def compute_impact_loads(system, work, contact_step, step):
    """Compute the impulses with which the joints react to impacts at one-sided rows, which do not load the friction.

    An impulse of a row acts at the start of the step if the row stops an approach in the step, or did in the last one.
    Limits that contacts press are part of the contact step, whose impulses load the friction.
    """
    row_states, contacts, acts = step.constrained.row_states, contact_step.sizes[0].contacts, False
    for p in range(len(step.joint_friction.impact_loads)):
        store_force(step.joint_friction.impact_loads[p], no_force())
    for k in range(len(work.special_rows)):
        r = work.special_rows[k]
        acts = acts or impact_of_row(work.rows[r], row_states[r], contacts) != 0.0
    if acts:
        transmit_impacts_to_joints(system, work, contacts, step)


@formula
def impact_of_row(row, row_state, contacts):
    """Return the impulse of the impacts at a row at the start of a step with so many contacts.

    A row that forces press may separate by round-off and be closed again in each step, which is no impact.
    """
    approaches = row.residual < -IMPACT_SPEED * row.speed and row_state.held == 0
    arrives = approaches and row.active == 0 and (row_state.predicted == 0.0 or contacts == 0)
    return row_state.impact + (row_state.impulse if arrives else 0.0) if row.one_sided else 0.0


@lazy_template(apply_inverse_mass)
def transmit_impacts_to_joints(system, work, contacts, step):
    """Compute the impact loads of all patches from the impulses of the impacts at the rows."""
    patches = system.contacts.joint_friction.patches
    for k in range(len(work.special_rows)):
        r = work.special_rows[k]
        if work.rows[r].one_sided:
            work.rows[r].multiplier = impact_of_row(work.rows[r], step.constrained.row_states[r], contacts)
    transmit_impacts(system, work)
    apply_primary_row_impulses(system.tree, work)
    compute_reaction_impulses(system.tree, work)
    for p in range(len(patches)):
        store_force(step.joint_friction.impact_loads[p], joint_reaction(patches[p], work))


@kernel
def update_reactions(system, work, contact_work, step, h) -> bool:
    """Update the reactions F so that the joints transmit the impulses of the step; return whether the limits agree.

    The momentum at the start of a body, with all applied impulses, less its discrete momentum, loads its joints, except
    for the impulses of impacts.
    """
    tree, table, joint_friction = system.tree, system.contacts.joint_friction, contact_work.joint_friction
    drnea_residuals(system, work, step, h)
    apply_primary_impulses(work, step.constrained)
    transfer_impulses_to_bodies(tree, work)
    accumulate_wrenches_inward(tree, work)
    for i in range(1, len(tree.links)):
        store_force(work.wrenches[i], -load_force(work.wrenches[i]))
    write_loop_impulses(tree, work, step, h)
    largest, error, worst, patches, loads = 0.0, 0.0, 0, table.patches, step.joint_friction.impact_loads
    for p in range(len(patches)):
        patch, transmitted = patches[p], load_force(joint_friction.transmitted[p])
        W = step_impulse(patch, patches, work, joint_friction.previous_impulses) - load_force(loads[p])
        largest = max(largest, joint_friction.coefficient[p] * load_sum(patch, W, table) + joint_friction.brake[p])
        change = joint_friction.coefficient[p] * load_sum(patch, W - transmitted, table)
        if change > error:
            error, worst = change, p
    for i in range(1, len(tree.links)):
        momentum = load(step.discrete_motions[i].linear_momentum)
        largest = max(largest, math.sqrt(dot(momentum, momentum)))
    if error <= TOLERANCE_FACTOR * step.settings.tolerance * largest:
        return True
    joint_friction.worst[0] = worst
    for p in range(len(patches)):
        transmitted = load_force(joint_friction.transmitted[p])
        W = step_impulse(patches[p], patches, work, joint_friction.previous_impulses) - load_force(loads[p])
        F = load_force(joint_friction.reactions[p])
        store_force(joint_friction.reactions[p], F + (1.0 / h) * (W - transmitted))
    return False


@kernel
def step_impulse(patch, patches, work, impulses) -> Force:
    """Return the impulse that the joint of a patch transmits in the step, in the axes of the patch.

    It includes friction; `impulses` (p, 3) are the limits and the friction impulses of all patches.
    """
    return joint_reaction(patch, work) + friction_of_joint(patch, patches, impulses, work.bodies)


@kernel
def write_loop_impulses(tree, work, step, h):
    """Write the impulses of all loop joints in the step into `work.wrenches`.

    The applied wrenches of the start include one part; the impulses of the rows add to it.
    """
    for k in range(len(tree.closures)):
        closure, T = tree.closures[k], no_force()
        for r in range(closure.first_row, closure.last_row):
            T = T + step.constrained.row_states[r].impulse * load_force(work.constraint_axes[r])
        W = rotated_force(load(work.bodies[closure.loop_frame].R), T)
        store_force(work.wrenches[closure.loop_frame], h * load_force(step.joint_friction.applied_reactions[k]) + W)


@kernel
def load_sum(patch, W, table) -> float:
    """Return the sum of the normal loads of a patch due to a wrench."""
    total = 0.0
    for k in range(patch.first_point, patch.last_point):
        for i in range(table.points[k].first_load, table.points[k].last_load):
            a = load_force(table.loads[i])
            total += abs(dot(a.t, W.t) + dot(a.f, W.f))
    return total


@formula
def mean_twist(patch, bodies, discrete_motions, h):
    """Return the mean twist of the child relative to the parent over the step, in the axes of a patch."""
    R, frame, parent, child = patch_axes(patch, bodies), bodies[patch.row], bodies[patch.parent], bodies[patch.child]
    parent_end, child_end = discrete_motions[patch.parent], discrete_motions[patch.child]
    M, x = load(frame.R), load(frame.x)
    back = load(parent.R) @ transposed(load(parent_end.R))
    turned = load(child_end.R) @ transposed(load(child.R))
    end = load(child_end.x) + turned @ (x - load(child.x))
    moved = load(parent.x) + back @ (end - load(parent_end.x)) - x
    s, u = relative_quaternion(M, back @ (turned @ M))
    w = vector_of_quaternion(s, u)
    return Motion((1.0 / h) * transposed_times(R, w), (1.0 / h) * transposed_times(R, moved))


@kernel
def mean_rate(tree, patch, step, q, h) -> float:
    """Return the mean rate over the step of the coordinate with which a patch slips; q is the start of the step."""
    if patch.row < len(tree.links):
        return step.rate[patch.dual]
    closure = tree.closures[patch.row - len(tree.links)]
    for k in range(closure.first_plain, closure.last_plain):
        if tree.plain[k].iv == patch.dual:
            return (step.q[tree.plain[k].iq] - q[tree.plain[k].iq]) / h
    for k in range(closure.first_quaternion, closure.last_quaternion):
        component = patch.dual - tree.quaternions[k].iv
        if 0 <= component < 3:
            i = tree.quaternions[k].iq
            s, u = q[i], Vec3(q[i + 1], q[i + 2], q[i + 3])
            s_end, u_end = step.q[i], Vec3(step.q[i + 1], step.q[i + 2], step.q[i + 3])
            if tree.quaternions[k].outer:
                s, u = quaternion_product(s, -u, s_end, u_end)
            else:
                s, u = quaternion_product(s_end, u_end, s, -u)
            w = vector_of_quaternion(s, u)
            return (w.x if component == 0 else (w.y if component == 1 else w.z)) / h
    return 0.0
