"""Dry friction of joints: constraint rows of friction patches, and friction limits from joint reactions.

The slip velocity of a friction patch (`joints.friction`) is u = (slip wrenches) . (twist of the child relative to the
parent).  The friction impulse of a step acts along u in the disc of radius

    limit = coefficient * sum |a| + h brake,   a = loads . (h F + G - friction at the points),

where F is the joint reaction without impulses, and G the reaction to the impulses of the step, those of all friction
in the joint included.  In the tree G follows from Newton-Euler, I (change of motion) - impulses on all bodies beyond
the joint; at a loop joint G follows from the multipliers of its rows.

Limits and impulses are computed by a fixed-point iteration.  It is algorithm 8 of Sueda's notes (bilateral staggered
projections), with both solvers for the impulses:

    lines 8 to 25              `contact_step.solve_contact_step`: the loop over sweeps
    line 10, (2.117)           `update_joint_reactions`, `transmit_impulses`: F and G
    lines 11 to 13             the same: reactions of all joints by one inward pass
    lines 14 to 16, (2.118)    `compute_friction_limits`: loads of least norm; signs are irrelevant for |a|
    line 18                    `update_friction_limits`: convergence
    line 23, (2.114)           the next solution for the impulses, with the new limits
    line 26                    v += response, in `contact_step.solve_contact_step`

The loop starts with line 23, with the limits of the previous step.  f_alpha of (2.117) as printed lacks the term
M dJ/dt q'; F follows from accelerations, which include it.  Secant steps accelerate the iteration.

Source: Sueda, notes 2.11.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.drive_work import compute_reaction_impulses
from multibody_cli.constraint_solver.loop_joints import apply_loop_impulses, compute_loop_reactions
from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.constraints.rows import jacobian_product_of_row, write_wrench
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.results import AT_LIMIT, LIMITS, gain_of_joint
from multibody_cli.contact_solver.rows import (
    TERMS,
    apply_row_impulses,
    patch_axes,
    slip_wrench,
)
from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.implicit.implicit_forces import add_implicit_impulses
from multibody_cli.kernel import allocate, formula, kernel, lazy_kernel
from multibody_cli.model import Floats, Integers, JointFriction, Records
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import dot, no_force, shift_force, transposed_times
from multibody_cli.spatial.values import Force
from multibody_cli.tree.joint_wrenches import compute_joint_wrenches
from multibody_cli.tree.markers import transfer_marker_wrenches
from multibody_cli.tree.workspace import WRENCH

MIN_SECANT_FACTOR, MAX_SECANT_FACTOR = 0.5, 20.0
"""Bounds of the factor by which the error of a limit is multiplied in a secant step."""


class JointFrictionWorkspace(NamedTuple):
    """Work arrays for p friction patches with n points, and l bodies; for g guides of ropes.

    There are b patches, brakes and guides, and t coordinates of brakes.
    """

    reactions: Annotated[Records, "p", WRENCH]  # F, in the axes of the patches
    reactions_valid: Annotated[Integers, 1]  # whether they are F of the coming step (output overwrites the bodies)
    normal_loads: Annotated[Floats, "n"]  # normal load of each point, N s
    largest_load: Annotated[Floats, "l"]  # largest sum of `normal_loads` over the patches of an island
    coefficient: Floats  # (p,) coefficients of friction of the step
    brake: Annotated[Floats, "p"]  # given limits of the step, in addition to those in proportion to the loads, N s
    limit: Annotated[Floats, "p"]  # friction limits due to the last impulses, N s
    transmitted: Annotated[Records, "p", WRENCH]  # h F + G of the last impulses, in the axes of the patches
    secant: Annotated[Floats, "p", 3]  # previous limit, its error, and the next factor if there is no secant
    previous_impulses: Annotated[Floats, "b", PER_CONTACT]  # limit and friction impulses of the last solution or step
    friction: Annotated[Records, "p", WRENCH]  # that of the previous step, in the axes of M, for output, N m and N
    worst: Annotated[Integers, 2]  # patch that disagrees most in the present iteration, and in the last unsolved step
    solved_by_passes: Annotated[Integers, "p"]  # whether a patch is in an island that passes over trees have solved
    brake_force: Annotated[Floats, "b"]  # of brakes in the previous step, for output, N or N m
    guide_force: Annotated[Floats, "g"]  # of guides in the previous step, for output, N
    brake_wrench: Annotated[Records, "t", WRENCH]  # at the joint of each coordinate, in the axes of M
    slip_changes: Annotated[Floats, "b", PER_CONTACT - 1]  # mean slip velocity of the step less that after the impulses
    grip: Annotated[Floats, "g"]  # friction limit of a guide relative to the sum of the tensions on both sides
    tension: Annotated[Floats, "g"]  # impulse of the row of its section that the motion without impulses contains, N s
    tension_changes: Annotated[Floats, "g"]  # that of the whole step less that after the impulses, N s
    guide_secant: Annotated[Floats, "g", 3]  # as `secant`


def joint_friction_workspace_for(joint_friction: JointFriction, bodies: int) -> JointFrictionWorkspace:
    """Allocate the work arrays."""
    p, b, t = len(joint_friction.patches), len(joint_friction.moved), len(joint_friction.brake_terms)
    coefficient, n = np.array(joint_friction.patches["static_friction"]), len(joint_friction.points)
    g = len(joint_friction.guides)
    return allocate(JointFrictionWorkspace, p=p, b=b, t=t, n=n, l=bodies, g=g, coefficient=coefficient)


# --- rows -----------------------------------------------------------------------------------------------------------
@kernel
def write_friction_rows(patches, work, step, term):
    """Write three rows for each friction patch; row 0 is a placeholder for the normal load and has no terms."""
    rows, terms, row = step.rows, step.terms, step.sizes[0].constraint_rows
    for p in range(len(patches)):
        patch = patches[p]
        for j in range(PER_CONTACT):
            rows[row + j].first_term = rows[row + j].last_term = term
            rows[row + j].rate = rows[row + j].bias = 0.0
        write_slip_row(patch, slip_wrench(patch, work), work.bodies, rows[row + 1], terms, term)
        if patch.slip_directions == 2:
            R = patch_axes(patch, work.bodies)
            across = Force(R @ load(patch.across_t), R @ load(patch.across_f))
            write_slip_row(patch, across, work.bodies, rows[row + 2], terms, term + TERMS)
        row += PER_CONTACT
        term += PER_CONTACT * TERMS


@kernel
def write_slip_row(patch, W, bodies, row, terms, first):
    """Write the row of a patch along one slip wrench W, world axes; the ground has no term."""
    at, k = bodies[patch.row], first
    if patch.parent > 0:
        W_parent = shift_force(W, load(at.x) - load(bodies[patch.parent].x))
        write_wrench(terms[k], patch.parent, -W_parent.t, -W_parent.f)
        k += 1
    W_child = shift_force(W, load(at.x) - load(bodies[patch.child].x))
    write_wrench(terms[k], patch.child, W_child.t, W_child.f)
    row.first_term = first
    row.last_term = k + 1


@kernel
def add_slip_changes(changes, step):
    """Add the changes (b, 2) of the slip velocities within the step to the velocities of the rows."""
    for p in range(len(changes)):
        for j in range(1, PER_CONTACT):
            step.r[step.sizes[0].constraint_rows + PER_CONTACT * p + j] += changes[p, j - 1]


# --- loads ----------------------------------------------------------------------------------------------------------
@lazy_kernel
def update_joint_reactions(system, work, joint_friction):
    """Compute the reactions without impulses in the joints of all patches; bodies have poses and accelerations.

    Implicit forces are those at the end of the step.
    """
    if not joint_friction.reactions_valid[0]:
        clear_impulses(work)
        add_implicit_impulses(system, work)
        compute_joint_reactions(system, work, joint_friction)
    joint_friction.reactions_valid[0] = 0


@kernel
def compute_joint_reactions(system, work, joint_friction):
    """Apply the impulses `work.impulse` and `work.wrenches` to the bodies as forces; compute the reactions."""
    tree, patches = system.tree, system.contacts.joint_friction.patches
    apply_loop_impulses(tree, work.impulse, work)
    transfer_marker_wrenches(tree, work.bodies, work.wrenches)
    for i in range(1, len(tree.links)):
        W = load_force(work.wrenches[i])
        apply_wrench(work.bodies[i], W.t, W.f)
    compute_joint_wrenches(tree, work)
    compute_loop_reactions(tree, work)
    for p in range(len(patches)):
        store_force(joint_friction.reactions[p], joint_reaction(patches[p], work))


@formula
def joint_reaction(patch, work):
    """Return the reaction wrench of a patch's joint in the axes of the patch."""
    R, W = patch_axes(patch, work.bodies), load_force(work.wrenches[patch.row])
    return Force(transposed_times(R, W.t), transposed_times(R, W.f))


@kernel
def transmit_impulses(tree, step, work):
    """Replace the impulses in `work.wrenches` and `work.impulse` by the reaction impulses of all joints to them.

    The bodies hold the corresponding changes of motion, and primary rows their multipliers.
    """
    for k in range(step.sizes[0].constraint_rows):
        if step.active_rows[k] < len(tree.constraint_axes):
            work.rows[step.active_rows[k]].multiplier = step.x[k]
    compute_reaction_impulses(tree, work)


@kernel
def compute_friction_limits(joint_friction, table, x, work, h):
    """Compute the friction limits of all patches for a step of h and the impulses x (3 p,) of the patches.

    Points share the friction in proportion to the normal loads of the previous iteration.
    """
    patches, impulses = table.patches, joint_friction.previous_impulses
    for p in range(len(patches)):
        for j in range(PER_CONTACT):
            impulses[p, j] = x[PER_CONTACT * p + j]
    for p in range(len(patches)):
        patch = patches[p]
        W = h * load_force(joint_friction.reactions[p]) + joint_reaction(patch, work)
        W = W + friction_of_joint(patch, patches, impulses, work.bodies)
        store_force(joint_friction.transmitted[p], W)
        share = share_of_points(joint_friction, p)
        W = W - friction_wrench(
            patch, share * impulses[p, 1], share * impulses[p, 2], table.points, joint_friction.normal_loads
        )
        loads = distribute_normal_load(patch, W, table, joint_friction.normal_loads)
        joint_friction.limit[p] = joint_friction.coefficient[p] * loads + joint_friction.brake[p]


@formula
def share_of_points(joint_friction, p):
    """Return the share of a friction that acts at the points of a patch; the brake has the rest."""
    limit, brake = joint_friction.limit[p], joint_friction.brake[p]
    return (limit - brake) / limit if brake > 0.0 and limit > 0.0 else 1.0


@kernel
def friction_of_joint(patch, patches, impulses, bodies) -> Force:
    """Return the wrench of the friction of all patches of a joint, in the axes of one of them.

    `impulses` (p, 3) are the limits and the friction impulses of all patches.  A row applies friction at the origin of
    the joint, where it does the work of the friction at the points.
    """
    R, total = patch_axes(patch, bodies), no_force()
    for p in range(patch.first_patch, patch.last_patch):
        other = patches[p]
        W = impulses[p, 1] * Force(load(other.along_t), load(other.along_f))
        W = W + impulses[p, 2] * Force(load(other.across_t), load(other.across_f))
        A = patch_axes(other, bodies)
        total = total + Force(transposed_times(R, A @ W.t), transposed_times(R, A @ W.f))
    return total


@kernel
def friction_wrench(patch, along, across, points, normal_loads) -> Force:
    """Return the wrench of the friction at all points of a patch, in proportion to their normal loads."""
    total, W = 0.0, no_force()
    for k in range(patch.first_point, patch.last_point):
        total += normal_loads[k]
    for k in range(patch.first_point, patch.last_point):
        if total > 0.0:
            share, point = normal_loads[k] / total, points[k]
            W = W + (share * along) * Force(load(point.along_t), load(point.along_f))
            W = W + (share * across) * Force(load(point.across_t), load(point.across_f))
    return W


@kernel
def distribute_normal_load(patch, W, table, normal_loads) -> float:
    """Compute the normal loads of the points of a patch due to a wrench; return their sum."""
    points, loads, total = table.points, table.loads, 0.0
    for k in range(patch.first_point, patch.last_point):
        normal_loads[k] = 0.0
        for i in range(points[k].first_load, points[k].last_load):
            a = load_force(loads[i])
            normal_loads[k] += abs(dot(a.t, W.t) + dot(a.f, W.f))
        total += normal_loads[k]
    return total


# --- iteration ------------------------------------------------------------------------------------------------------
@lazy_kernel
def update_friction_limits(system, work, joint_friction, groups, step, reports) -> bool:
    """Compare the friction limits of all patches with those due to the impulses; return whether to solve again.

    Islands whose limits agree within the tolerance are marked as converged.
    """
    patches, sizes, x = system.contacts.joint_friction.patches, step.sizes[0], step.x
    coefficient, largest_load = joint_friction.coefficient, joint_friction.largest_load
    apply_row_impulses(work, step)
    add_implicit_impulses(system, work)
    transmit_impulses(system.tree, step, work)
    own = x[sizes.constraint_rows : sizes.rows]
    compute_friction_limits(joint_friction, system.contacts.joint_friction, own, work, sizes.h)
    for island in range(len(reports.converged)):
        reports.converged[island] = 1
        largest_load[island] = 0.0
    for p in range(len(patches)):
        if not joint_friction.solved_by_passes[p] and coefficient[p] > 0.0:
            island = groups.row_island[sizes.constraint_rows + PER_CONTACT * p]
            load = (joint_friction.limit[p] - joint_friction.brake[p]) / coefficient[p]
            largest_load[island] = max(largest_load[island], load)
    worst, again = 0.0, False
    for p in range(len(patches)):
        if joint_friction.solved_by_passes[p]:
            continue
        k, limit = sizes.constraint_rows + PER_CONTACT * p, joint_friction.limit[p]
        island = groups.row_island[k]
        friction = math.hypot(x[k + 1], x[k + 2])
        scale = coefficient[p] * largest_load[island] + joint_friction.brake[p]
        error = abs(limit - x[k]) if friction >= (1.0 - AT_LIMIT) * x[k] else friction - limit
        if error > system.contacts.options.tolerance * scale:
            again = True
            x[k] = next_limit(x[k], limit, joint_friction.secant[p], MAX_SECANT_FACTOR)
            reports.converged[island] = 0
            reports.failed[island] = LIMITS
            if error > worst * scale:
                worst, joint_friction.worst[0] = error / scale, p
            reports.residual[island] = max(reports.residual[island], error / scale)
    return again


@kernel
def next_limit(used, resulting, secant, largest_factor):
    """Return the next friction limit by a secant step through the last two limits; `used` resulted in `resulting`.

    If the secant has no solution, as for a jammed patch, the factor doubles until the patch sticks.
    """
    short, factor = resulting - used, 1.0
    if used != secant[0]:
        slope = (short - secant[1]) / (used - secant[0])
        if slope < 0.0:
            factor = min(max(-1.0 / slope, MIN_SECANT_FACTOR), largest_factor)
            secant[2] = 1.0
        elif slope >= 0.0:
            factor = secant[2]
            secant[2] = min(2.0 * factor, MAX_SECANT_FACTOR)
    secant[0] = used
    secant[1] = short
    return max(used + factor * short, 0.0)


@kernel
def reset_limit_iteration(joint_friction):
    """Clear the secant data; the shares of the points remain as a guess."""
    reset_secants(joint_friction.secant)
    reset_secants(joint_friction.guide_secant)


@kernel
def reset_secants(secant):
    """Clear the secant data of some limits (p, 3)."""
    for p in range(len(secant)):
        secant[p, 0] = secant[p, 1] = math.nan
        secant[p, 2] = 1.0


@lazy_kernel
def account_joint_friction(table, joint_friction, step, bodies, response, impact_account, ledger):
    """Add the energy dissipated by patches, brakes and guides to the ledger, and store their impulses and limits.

    Where a step ends at rest or after a reversal, x (u + u') may have the wrong sign, by the square of the step: the
    dissipation is then 0.  In a rebound, friction opposes the rates after it and gains at those before, which reduces
    the loss of the impact.
    """
    rebounds = False
    for k in range(step.sizes[0].first_contact, step.sizes[0].rows):
        rebounds = rebounds or step.rebound[k] != 0.0
    for p in range(len(table.accounts)):
        first = step.sizes[0].constraint_rows + PER_CONTACT * p
        for k in range(first + 1, first + PER_CONTACT):
            step.velocity_after[k] += jacobian_product_of_row(step.rows[k], step.terms, bodies, response)
        gained = gain_of_joint(p, step)
        for j in range(1, PER_CONTACT):
            joint_friction.previous_impulses[p, j] = step.x[first + j]
        joint_friction.previous_impulses[p, 0] = joint_friction.limit[p] if p < len(table.patches) else step.x[first]
        ledger[table.accounts[p]] += max(-gained, 0.0)
        if rebounds:
            ledger[impact_account] -= max(gained, 0.0)
