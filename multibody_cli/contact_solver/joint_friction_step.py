"""Fixed-point iteration for the friction limits of joints, and their energy accounts."""

from __future__ import annotations

import math

from multibody_cli.constraints.rows import jacobian_product_of_row
from multibody_cli.contact_solver.accounting import AT_LIMIT
from multibody_cli.contact_solver.islands import island_of
from multibody_cli.contact_solver.joint_friction import compute_friction_limits, transmit_impulses
from multibody_cli.contact_solver.rows import PER_CONTACT
from multibody_cli.kernel import kernel

MIN_SECANT_FACTOR, MAX_SECANT_FACTOR = 0.5, 20.0
"""Bounds of the factor by which the error of a limit is multiplied in a secant step."""


@kernel
def update_friction_limits(system, work, contact_work, h, constraint_rows, size, tolerance) -> bool:
    """Compare the friction limits of all patches with those due to the impulses; return whether to solve again.

    Islands whose limits agree within the tolerance are marked as converged.
    """
    joint_friction, G, tree, x = contact_work.joint_friction, contact_work.groups, system.tree, contact_work.x
    transmit_impulses(tree, contact_work, constraint_rows, size, work)
    patches, again = system.contacts.joint_friction.patches, False
    compute_friction_limits(joint_friction, system.contacts.joint_friction, x[constraint_rows:size], work, h)
    for island in range(len(contact_work.converged)):
        contact_work.converged[island] = 1
        joint_friction.largest_load[island] = 0.0
    for p in range(len(patches)):
        island = G.island_number[island_of(constraint_rows + PER_CONTACT * p, G)]
        joint_friction.largest_load[island] = max(
            joint_friction.largest_load[island], joint_friction.limit[p] / patches[p].coefficient
        )
    for p in range(len(patches)):
        k, limit = constraint_rows + PER_CONTACT * p, joint_friction.limit[p]
        island = G.island_number[island_of(k, G)]
        friction, scale = math.hypot(x[k + 1], x[k + 2]), patches[p].coefficient * joint_friction.largest_load[island]
        error = abs(limit - x[k]) if friction >= (1.0 - AT_LIMIT) * x[k] else friction - limit
        if error > tolerance * scale:
            again = True
            x[k] = next_limit(x[k], limit, joint_friction.secant[p])
            contact_work.converged[island] = 0
            contact_work.island_failed[island] = 1
            contact_work.island_residual[island] = max(contact_work.island_residual[island], error / scale)
    return again


@kernel
def next_limit(used, resulting, secant):
    """Return the next friction limit by a secant step through the last two limits; `used` resulted in `resulting`.

    If the secant has no solution, as for a jammed patch, the factor doubles until the patch sticks.
    """
    short, factor = resulting - used, 1.0
    if used != secant[0]:
        slope = (short - secant[1]) / (used - secant[0])
        if slope < 0.0:
            factor = min(max(-1.0 / slope, MIN_SECANT_FACTOR), MAX_SECANT_FACTOR)
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
    for p in range(len(joint_friction.secant)):
        joint_friction.secant[p, 0] = joint_friction.secant[p, 1] = math.nan
        joint_friction.secant[p, 2] = 1.0


@kernel
def account_joint_friction(patches, contact_work, bodies, response, constraint_rows, ledger):
    """Add the energy dissipated by friction patches to the ledger, and store their impulses and limits.

    Where a step ends at rest or after a reversal, x (u + u') may have the wrong sign, by the square of the step: the
    dissipation is then 0.
    """
    joint_friction = contact_work.joint_friction
    for p in range(len(patches)):
        first, gained = constraint_rows + PER_CONTACT * p, 0.0
        for k in range(first + 1, first + PER_CONTACT):
            contact_work.velocity_after[k] += jacobian_product_of_row(
                contact_work.rows[k], contact_work.terms, bodies, response
            )
            gained += 0.5 * contact_work.x[k] * (contact_work.velocity_before[k] + contact_work.velocity_after[k])
        for j in range(PER_CONTACT):
            joint_friction.previous_impulses[p, j] = contact_work.x[first + j]
        joint_friction.previous_impulses[p, 0] = joint_friction.limit[p]
        ledger[patches[p].account] += max(-gained, 0.0)


# --- systems without joint friction -----------------------------------------------------------------------------------
@kernel
def skip_joint_reactions(patches, tree, work, joint_friction):
    """Replace `update_joint_reactions` in systems without joint friction."""


@kernel
def no_limit_iteration(system, work, contact_work, h, constraint_rows, size, tolerance):
    """Replace `update_friction_limits` in systems without joint friction."""
    return False
