"""States of friction patches in passes over a tree (`tree_friction`): guess, changes, and compliance beside edges."""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.friction_limits import slip_per_rate
from multibody_cli.contact_solver.loaded_discs import clear_drag
from multibody_cli.contact_solver.results import AT_LIMIT
from multibody_cli.contact_solver.tree_friction_workspace import STICKS, clear_share
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
def guess_states(system, contact_work, T, first):
    """Guess states and directions of slip from the friction of the previous steps, and no coupling impulses."""
    joint_friction, patches, largest = contact_work.joint_friction, system.contacts.joint_friction.patches, 0.0
    T.kept[0] = 0
    for i in range(len(T.coupling.impulses)):
        store_force(T.coupling.impulses[i], no_force())
    for p in range(len(patches)):
        k = first + PER_CONTACT * p
        limit = joint_friction.limit[p] = joint_friction.previous_impulses[p, 0]
        x = T.friction[p, 0] = joint_friction.previous_impulses[p, 1]
        y = T.friction[p, 1] = joint_friction.previous_impulses[p, 2]
        along, across = contact_work.step.velocity_before[k + 1], contact_work.step.velocity_before[k + 2]
        T.state[p] = STICKS
        if len(T.bodies.loop_of_joint) + T.edges.number[0] > 0:
            largest = max(largest, abs(contact_work.step.r[k + 1]), abs(contact_work.step.r[k + 2]))
        if math.hypot(x, y) >= (1.0 - AT_LIMIT) * limit:
            slide_against(patches[p], p, x if x != 0.0 else -along, y, T)
            if patches[p].slip_directions == 2:
                slide_against(patches[p], p, -along, -across, T)
                T.speed[p] = math.hypot(along, across)
        if patches[p].slip_directions == 1 and not T.repeats[0]:
            extrapolate_state(patches[p], p, along, x, limit, T)
    T.round_off[0] = SLIP_ROUND_OFF * largest


@kernel
def extrapolate_state(patch, p, slip, x, limit, T):
    """Change the state of a patch with one slip direction that stops, or exceeds its limit, by linear extrapolation."""
    earlier = T.earlier[p]
    next_slip, next_x, next_limit = 2.0 * slip - earlier[0], 2.0 * x - earlier[1], 2.0 * limit - earlier[2]
    if T.state[p] != STICKS:
        if T.state[p] * next_slip < 0.0:
            T.state[p] = STICKS
    elif abs(next_x) > next_limit:
        slide_against(patch, p, next_x, 0.0, T)
    earlier[0], earlier[1], earlier[2] = slip, x, limit


# --- changes ----------------------------------------------------------------------------------------------------------
@kernel
def update_states(system, joint_friction, T, tolerance, switches) -> tuple[bool, float]:
    """Update directions of slip, and up to `switches` states that disagree with motion or friction.

    Return whether all friction, limits and states agree, and the largest relative error of a limit.
    """
    table, agree, residual = system.contacts.joint_friction, True, 0.0
    allowed = before = switches
    for p in range(len(table.patches)):
        patch, x, y = table.patches[p], T.friction[p, 0], T.friction[p, 1]
        if patch.slip_directions == 1 or p == patch.first_patch:
            allowed = switches
        limit, load = joint_friction.limit[p], T.largest_load[T.base[patch.child]]
        scale = joint_friction.coefficient[p] * load + joint_friction.brake[p]
        if T.state[p] == STICKS:
            if not math.hypot(x, y) - limit <= tolerance * scale:
                if allowed > 0:
                    slide_against(patch, p, x, y, T)
                    if patch.slip_directions == 2:
                        T.speed[p] = (math.hypot(x, y) - limit) / inertia_against_slip(p, T)
                switches -= 1
                agree = False
            elif not (
                T.soft[0]
                or math.hypot(T.slip[p, 0], T.slip[p, 1]) <= T.round_off[0]
                or len(T.bodies.loop_of_joint) == 0
            ):
                if allowed > 0:
                    slide_against(patch, p, -T.slip[p, 0], -T.slip[p, 1], T)
                    T.speed[p] = math.hypot(T.slip[p, 0], T.slip[p, 1])
                switches -= 1
                agree = False
        else:
            n, m = T.state[p] * T.direction[p, 0], T.state[p] * T.direction[p, 1]
            along, stops = n * T.slip[p, 0] + m * T.slip[p, 1], False
            if patch.slip_directions == 2 and along >= 0.0:
                speed = math.hypot(T.slip[p, 0], T.slip[p, 1])
                stops = math.hypot(x, y) < (1.0 - AT_LIMIT) * limit and speed <= STOPS * T.speed[p]
                if speed > 0.0:
                    n, m = T.slip[p, 0] / speed, T.slip[p, 1] / speed
                T.direction[p, 0], T.direction[p, 1], T.speed[p] = n, m, speed
            error = math.hypot(x + n * limit, y + m * limit)
            if not error <= tolerance * scale:
                agree = False
            elif scale > 0.0:
                residual = max(residual, error / scale)
            if along < -T.round_off[0] or stops:
                if allowed > 0:
                    T.state[p] = STICKS
                switches -= 1
                agree = False
    T.kept[0] = T.kept[0] and switches == before
    return agree, residual


@kernel
def slide_against(patch, p, x, y, T):
    """Let a patch slide against the friction (x, y); a disc without friction sticks."""
    size = math.hypot(x, y)
    if patch.slip_directions == 1:
        T.state[p] = -1 if x > 0.0 else 1
    elif size > 0.0:
        T.state[p] = 1
        T.direction[p, 0], T.direction[p, 1] = -x / size, -y / size


@formula
def inertia_against_slip(p, T):
    """Return the inertia of a disc against slip along its direction."""
    n, m, inertia = T.direction[p, 0], T.direction[p, 1], T.slip_inertia[p]
    return n * n * inertia[0] + 2.0 * n * m * inertia[1] + m * m * inertia[2]


@kernel
def slide_without_friction(joint_friction, T):
    """Let all patches slide without friction."""
    for p in range(len(T.state)):
        T.state[p], T.applied[p, 0], T.applied[p, 1] = 1, 0.0, 0.0
        clear_share(p, T)
        clear_drag(p, T)
    for i in range(len(T.coupling.impulses)):
        store_force(T.coupling.impulses[i], no_force())


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
def scale_patches(system, work, T) -> bool:
    """Compute the responses w of all patches with one slip direction; return False if a body has no inertia there."""
    links, bodies, patches, regular = system.tree.links, work.bodies, system.contacts.joint_friction.patches, True
    for p in range(len(patches)):
        if patches[p].slip_directions == 1:
            j, i = T.coordinate[p], patches[p].child
            S, sigma = column_of(work.columns[j]), slip_per_rate(patches[p], bodies, work.columns[j])
            inertia = power(S, rigid_body_inertia(links[i], bodies[i]) @ S) + work.armature[j]
            regular = regular and inertia > 0.0
            T.w[p] = sigma * sigma / inertia if inertia > 0.0 else 0.0
    return regular


@kernel
def soften_sticking(system, work, joint_friction, T, v):
    """Let patches that stick have the compliance of edges: x = x0 - u / (eps w)."""
    patches, E = system.contacts.joint_friction.patches, T.edges
    for p in range(len(patches)):
        if patches[p].slip_directions == 1 and T.state[p] == STICKS:
            j = T.coordinate[p]
            sigma, Z = slip_per_rate(patches[p], work.bodies, work.columns[j]), 1.0 / (E.compliance[0] * T.w[p])
            E.armature[j] += sigma * Z * sigma
            E.impulse[j] += sigma * (T.friction[p, 0] - Z * (sigma * v[j] + joint_friction.slip_changes[p, 0]))


@kernel
def residual_of_sticking(patches, T) -> tuple[float, float]:
    """Return the largest slip of patches that stick, and the size of their friction, in the norm of kinetic energy."""
    worst, size = 0.0, 0.0
    if T.soft[0]:
        for p in range(len(patches)):
            if patches[p].slip_directions == 1:
                unit = math.sqrt(T.w[p])
                size = max(size, abs(T.friction[p, 0]) * unit)
                if T.state[p] == STICKS:
                    worst = max(worst, abs(T.slip[p, 0]) / unit)
    return worst, size
