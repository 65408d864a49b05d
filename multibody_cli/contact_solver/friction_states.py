"""States of friction patches in passes over a tree (`tree_friction`): guess, changes, and compliance beside edges."""

from __future__ import annotations

import math

from multibody_cli.contact_solver.disc_projection import (
    distance_to_projection,
    linearize_projection,
    project_disc,
    response_of_disc,
)
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.friction_limits import slip_per_rate
from multibody_cli.contact_solver.results import AT_LIMIT
from multibody_cli.contact_solver.tree_friction_workspace import STICKS, clear_share
from multibody_cli.contact_solver.two_directional_friction import clear_drag
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store_force
from multibody_cli.spatial.products import no_force, power
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.articulated_body import rigid_body_inertia
from multibody_cli.tree.jacobian import column_of

SLIP_ROUND_OFF = 1e-10
"""Slip velocity that counts as 0 in a loop or beside contacts, relative to the largest without impulses.

Where a loop and its drive determine the motion of a joint that sticks, its slip need not be 0.
"""

STOPS = 0.1
"""Part of its speed to which a disc must slow down in a pass to stick, if its friction is below its limit."""


# --- guess ---------------------------------------------------------------------------------------------------------
@kernel
def guess_states(system, contact_work, passes, first):
    """Guess states and directions of slip from the friction of the previous steps, and no coupling impulses."""
    joint_friction, patches, largest = contact_work.joint_friction, system.contacts.joint_friction.patches, 0.0
    passes.kept[0] = 0
    for i in range(len(passes.coupling.impulses)):
        store_force(passes.coupling.impulses[i], no_force())
    for p in range(len(patches)):
        k = first + PER_CONTACT * p
        limit = joint_friction.limit[p] = joint_friction.previous_impulses[p, 0]
        x = passes.friction[p, 0] = joint_friction.previous_impulses[p, 1]
        y = passes.friction[p, 1] = joint_friction.previous_impulses[p, 2]
        along, across = contact_work.step.velocity_before[k + 1], contact_work.step.velocity_before[k + 2]
        passes.state[p] = STICKS
        if len(passes.bodies.loop_of_joint) + passes.edges.number[0] > 0:
            largest = max(largest, abs(contact_work.step.r[k + 1]), abs(contact_work.step.r[k + 2]))
        if math.hypot(x, y) >= (1.0 - AT_LIMIT) * limit:
            slide_against(patches[p], p, x if x != 0.0 else -along, y, passes)
            if patches[p].slip_directions == 2:
                slide_against(patches[p], p, -along, -across, passes)
                passes.speed[p] = math.hypot(along, across)
        if patches[p].slip_directions == 1 and not passes.repeats[0]:
            extrapolate_state(patches[p], p, along, x, limit, passes)
        if patches[p].slip_directions == 2 and passes.soft[0]:
            slides = passes.state[p] != STICKS
            passes.slip[p, 0], passes.slip[p, 1] = (along, across) if slides else (0.0, 0.0)
            project_disc(p, limit, passes)
    passes.round_off[0] = SLIP_ROUND_OFF * largest


@kernel
def extrapolate_state(patch, p, slip, x, limit, passes):
    """Change the state of a patch with one slip direction that stops, or exceeds its limit, by linear extrapolation."""
    earlier = passes.earlier[p]
    next_slip, next_x, next_limit = 2.0 * slip - earlier[0], 2.0 * x - earlier[1], 2.0 * limit - earlier[2]
    if passes.state[p] != STICKS:
        if passes.state[p] * next_slip < 0.0:
            passes.state[p] = STICKS
    elif abs(next_x) > next_limit:
        slide_against(patch, p, next_x, 0.0, passes)
    earlier[0], earlier[1], earlier[2] = slip, x, limit


# --- changes ----------------------------------------------------------------------------------------------------------
@kernel
def update_states(system, joint_friction, passes, tolerance, switches) -> tuple[bool, float]:
    """Update directions of slip, and up to `switches` states that disagree with motion or friction.

    Return whether all friction, limits and states agree, and the largest relative error of a limit.
    """
    table, agree, residual = system.contacts.joint_friction, True, 0.0
    allowed = before = switches
    for p in range(len(table.patches)):
        patch, x, y = table.patches[p], passes.friction[p, 0], passes.friction[p, 1]
        if patch.slip_directions == 1 or p == patch.first_patch:
            allowed = switches
        limit, load = joint_friction.limit[p], passes.largest_load[passes.base[patch.child]]
        scale = joint_friction.coefficient[p] * load + joint_friction.brake[p]
        if patch.slip_directions == 2 and passes.soft[0]:
            project_disc(p, limit, passes)
        elif passes.state[p] == STICKS:
            if not math.hypot(x, y) - limit <= tolerance * scale:
                if allowed > 0:
                    slide_against(patch, p, x, y, passes)
                    if patch.slip_directions == 2:
                        passes.speed[p] = (math.hypot(x, y) - limit) / inertia_against_slip(p, passes)
                switches -= 1
                agree = False
            elif not (
                passes.soft[0]
                or math.hypot(passes.slip[p, 0], passes.slip[p, 1]) <= passes.round_off[0]
                or len(passes.bodies.loop_of_joint) == 0
            ):
                if allowed > 0:
                    slide_against(patch, p, -passes.slip[p, 0], -passes.slip[p, 1], passes)
                    passes.speed[p] = math.hypot(passes.slip[p, 0], passes.slip[p, 1])
                switches -= 1
                agree = False
        else:
            n, m = passes.state[p] * passes.direction[p, 0], passes.state[p] * passes.direction[p, 1]
            along, stops = n * passes.slip[p, 0] + m * passes.slip[p, 1], False
            if patch.slip_directions == 2 and along >= 0.0:
                speed = math.hypot(passes.slip[p, 0], passes.slip[p, 1])
                stops = math.hypot(x, y) < (1.0 - AT_LIMIT) * limit and speed <= STOPS * passes.speed[p]
                if speed > 0.0:
                    n, m = passes.slip[p, 0] / speed, passes.slip[p, 1] / speed
                passes.direction[p, 0], passes.direction[p, 1], passes.speed[p] = n, m, speed
            error = math.hypot(x + n * limit, y + m * limit)
            if not error <= tolerance * scale:
                agree = False
            elif scale > 0.0:
                residual = max(residual, error / scale)
            if along < -passes.round_off[0] or stops:
                if allowed > 0:
                    passes.state[p] = STICKS
                switches -= 1
                agree = False
    passes.kept[0] = passes.kept[0] and switches == before
    return agree, residual


@kernel
def slide_against(patch, p, x, y, passes):
    """Let a patch slide against the friction (x, y); a disc without friction sticks."""
    size = math.hypot(x, y)
    if patch.slip_directions == 1:
        passes.state[p] = -1 if x > 0.0 else 1
    elif size > 0.0:
        passes.state[p] = 1
        passes.direction[p, 0], passes.direction[p, 1] = -x / size, -y / size


@formula
def inertia_against_slip(p, passes):
    """Return the inertia of a disc against slip along its direction."""
    n, m, inertia = passes.direction[p, 0], passes.direction[p, 1], passes.slip_inertia[p]
    return n * n * inertia[0] + 2.0 * n * m * inertia[1] + m * m * inertia[2]


@kernel
def slide_without_friction(joint_friction, passes):
    """Let all patches slide without friction."""
    passes.bodies.frictionless[0] = 1
    for p in range(len(passes.state)):
        passes.state[p], passes.applied[p, 0], passes.applied[p, 1] = 1, 0.0, 0.0
        clear_share(p, passes)
        clear_drag(p, passes)
    for i in range(len(passes.coupling.impulses)):
        store_force(passes.coupling.impulses[i], no_force())


# --- patches beside edges ---------------------------------------------------------------------------------------------
@kernel
def speed_of_bodies(links, bodies) -> float:
    """Return the speed of all bodies in the norm of kinetic energy."""
    square = 0.0
    for i in range(1, len(links)):
        V = Motion(load(bodies[i].w), load(bodies[i].v))
        square += power(V, rigid_body_inertia(links[i], bodies[i]) @ V)
    return math.sqrt(square)


@kernel
def scale_patches(system, work, passes) -> bool:
    """Compute the responses w of all patches; return False if a body has no inertia there."""
    links, bodies, patches, regular = system.tree.links, work.bodies, system.contacts.joint_friction.patches, True
    for p in range(len(patches)):
        if patches[p].slip_directions == 2:
            passes.w[p] = response_of_disc(patches[p], passes.joints[p], links, work)
            regular = regular and passes.w[p] > 0.0
        else:
            j, i = passes.coordinate[p], patches[p].child
            S, sigma = column_of(work.columns[j]), slip_per_rate(patches[p], bodies, work.columns[j])
            inertia = power(S, rigid_body_inertia(links[i], bodies[i]) @ S) + work.armature[j]
            regular = regular and inertia > 0.0
            passes.w[p] = sigma * sigma / inertia if inertia > 0.0 else 0.0
    return regular


@kernel
def soften_sticking(system, work, joint_friction, passes, v):
    """Let patches that stick have the compliance of edges: x = x0 - u / (eps w); and discs that slide as well."""
    patches, edges = system.contacts.joint_friction.patches, passes.edges
    for p in range(len(patches)):
        if patches[p].slip_directions == 2:
            linearize_projection(p, joint_friction.limit[p], passes)
        elif passes.state[p] == STICKS:
            j = passes.coordinate[p]
            sigma, Z = (
                slip_per_rate(patches[p], work.bodies, work.columns[j]),
                1.0 / (edges.compliance[0] * passes.w[p]),
            )
            edges.armature[j] += sigma * Z * sigma
            edges.impulse[j] += sigma * (passes.friction[p, 0] - Z * (sigma * v[j] + joint_friction.slip_changes[p, 0]))


@kernel
def residual_of_patches(patches, limits, of_all, passes) -> tuple[float, float]:
    """Return the largest slip of patches that stick, and the size of their friction, in the norm of kinetic energy.

    The residual of a disc, and with `of_all` that of every patch, is |x - P(x - u / w)|.
    """
    worst, size = 0.0, 0.0
    if passes.soft[0]:
        for p in range(len(patches)):
            unit = math.sqrt(passes.w[p])
            if patches[p].slip_directions == 2:
                size = max(size, math.hypot(passes.friction[p, 0], passes.friction[p, 1]) * unit)
                worst = max(worst, distance_to_projection(p, limits[p], passes) * unit)
            else:
                x, limit = passes.friction[p, 0], limits[p]
                size = max(size, abs(x) * unit)
                if of_all:
                    worst = max(worst, abs(x - min(max(x - passes.slip[p, 0] / passes.w[p], -limit), limit)) * unit)
                elif passes.state[p] == STICKS:
                    worst = max(worst, abs(passes.slip[p, 0]) / unit)
    return worst, size


@kernel
def keep_patches(passes):
    """Keep friction and slip of all patches before a pass that is half a step."""
    for p in range(len(passes.state)):
        for i in range(2):
            passes.start[p, i], passes.gradient[p, i] = passes.friction[p, i], passes.slip[p, i]


@kernel
def halve_step(passes):
    """Take the means of friction and slip before and after a pass."""
    for p in range(len(passes.state)):
        for i in range(2):
            passes.friction[p, i] = 0.5 * (passes.friction[p, i] + passes.start[p, i])
            passes.slip[p, i] = 0.5 * (passes.slip[p, i] + passes.gradient[p, i])
