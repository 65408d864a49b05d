"""Dry friction of the joints of a tree by bilateral staggered projections, each in O(n).

`tree_friction` solves for friction and loads at once, by Newton's method, which may cycle if joints jam.  Here they
alternate, as in algorithm 8 of Sueda's notes: friction for given limits, then limits for given friction, with the
secant steps of `joint_friction`.

For given limits, the friction x of all patches is the projection

    min 1/2 x . W x + x . u0   with   |x_p| <= limit_p,

of the slip velocities u0 without friction, in which W x is the slip that x causes.  The coordinates of a tree are
independent, so that W is positive definite and the solution unique.  W is never formed:

    u0 + W x               one pass over the tree in which x acts on its joints
    x of sticking joints   one pass in which they do not slip and the others have the friction of their limits

The projected Newton method moves from x towards the friction of the second pass, within the limits, as far as the
function decreases.  A patch slides if it is at its limit and the slip opposes its friction; all others stick.  Once no
state changes, the solution is exact.

Sources: Sueda, notes 2.11, algorithm 8; Bertsekas, Projected Newton methods for optimization problems with simple
constraints, SIAM J. Control Optim. 20 (1982).
"""

from __future__ import annotations

from multibody_cli.contact_solver.joint_friction import (
    friction_wrench,
    next_limit,
    reset_limit_iteration,
)
from multibody_cli.contact_solver.loaded_tree import (
    STICKS,
    clear_loads,
    compute_changes,
    compute_limit,
    eliminate_joints,
    holding_friction,
    slip_per_rate,
    store_vector,
    transmit_changes,
    transmitted_impulse,
)
from multibody_cli.contact_solver.results import AT_LIMIT
from multibody_cli.kernel import kernel
from multibody_cli.spatial.products import no_force

MAX_NEWTON_STEPS = 100
"""Largest number of Newton steps of a projection."""

MAX_BACKTRACKING = 30
"""Largest number of fractions of a Newton step that are tried, each half of the last."""

SUFFICIENT_DECREASE = 1e-4
"""Least decrease of the function, relative to that of its gradient along the step."""


@kernel
def start_sweeps(joint_friction, T):
    """Take friction and limits of the previous step as a first guess."""
    for p in range(len(T.limit)):
        T.limit[p] = joint_friction.previous_impulses[p, 0]
        T.target[p] = joint_friction.previous_impulses[p, 1]
    for k in range(len(T.normal_load)):
        T.normal_load[k] = joint_friction.normal_loads[k]
    reset_limit_iteration(joint_friction)


@kernel
def sweep(system, work, joint_friction, T, h, v, tolerance) -> tuple[bool, float]:
    """Compute friction for the present limits, and the limits for this friction, from the results of the last sweep.

    Return whether all agree, and the largest relative error of a limit.  The changes of all rates go to `work.response`
    (nv,), the friction to T.friction (p,), its limits to `joint_friction.limit` (p,), and the states of all joints to
    T.state (p,).
    """
    for p in range(len(T.limit)):
        store_vector(T.share[p], no_force())
        T.friction[p] = min(max(T.target[p], -T.limit[p]), T.limit[p])
    for k in range(len(T.normal_load)):
        joint_friction.normal_loads[k] = T.normal_load[k]
    solved = project(system, work, joint_friction, T, h, v, tolerance)
    compute_limits(system, work, joint_friction, T, h)
    agree, residual = update_limits(system, joint_friction, T, tolerance)
    return solved and agree, residual


# --- friction for given limits ----------------------------------------------------------------------------------------
@kernel
def project(system, work, joint_friction, T, h, v, tolerance) -> bool:
    """Compute friction within the limits, and the motion that it causes; return False if the iteration does not end."""
    count = len(T.state)
    for p in range(count):
        T.applied[p] = 0.0
    compute_slips(system, work, joint_friction, T, h, v)
    for p in range(count):
        T.free_slip[p] = T.slip[p]
        T.applied[p] = T.friction[p]
    compute_slips(system, work, joint_friction, T, h, v)
    for _ in range(MAX_NEWTON_STEPS):
        before = dissipation_function(T)
        for p in range(count):
            x, limit = T.friction[p], T.limit[p]
            T.state[p] = STICKS
            if abs(x) >= limit and x * T.slip[p] <= 0.0:
                T.state[p] = -1 if x > 0.0 else 1
            T.gradient[p] = T.slip[p]
        apply_states(system, work, joint_friction, T, h, v)
        if states_agree(T, tolerance):
            for p in range(count):
                T.friction[p] = T.target[p]
            return True
        for p in range(count):
            T.start[p] = T.friction[p]
        fraction = 1.0
        for _ in range(MAX_BACKTRACKING):
            slope = 0.0
            for p in range(count):
                x = T.start[p] + fraction * (T.target[p] - T.start[p])
                T.friction[p] = T.applied[p] = min(max(x, -T.limit[p]), T.limit[p])
                slope += T.gradient[p] * (T.friction[p] - T.start[p])
            compute_slips(system, work, joint_friction, T, h, v)
            if dissipation_function(T) <= before + SUFFICIENT_DECREASE * slope:
                break
            fraction *= 0.5
    return False


@kernel
def dissipation_function(T):
    """Return 1/2 x . W x + x . u0 of the friction whose slips were computed last."""
    total = 0.0
    for p in range(len(T.friction)):
        total += 0.5 * T.friction[p] * (T.slip[p] + T.free_slip[p])
    return total


@kernel
def states_agree(T, tolerance) -> bool:
    """Return whether friction `target` is within the limits, and slips oppose the friction of sliding joints."""
    for p in range(len(T.state)):
        if T.state[p] == STICKS:
            if abs(T.target[p]) > (1.0 + tolerance) * T.limit[p]:
                return False
        elif T.limit[p] > 0.0 and T.state[p] * T.slip[p] < 0.0:
            return False
    return True


@kernel
def compute_slips(system, work, joint_friction, T, h, v):
    """Compute the slip velocities after the step if the friction `applied` acts and no joint sticks."""
    for p in range(len(T.state)):
        T.state[p] = 1
    move(system, work, joint_friction, T, h, v)


@kernel
def apply_states(system, work, joint_friction, T, h, v):
    """Compute the motion of sticking and sliding joints, and its friction `target`."""
    for p in range(len(T.state)):
        T.applied[p] = -T.state[p] * T.limit[p]
    move(system, work, joint_friction, T, h, v)
    transmit_changes(system.tree, work)
    patches = system.contacts.joint_friction.patches
    for p in range(len(T.state)):
        T.target[p] = T.applied[p]
        if T.state[p] == STICKS:
            T.target[p] = holding_friction(patches[p], T.coordinate[p], work)


@kernel
def move(system, work, joint_friction, T, h, v):
    """Compute the changes of all rates, and the slip velocities after the step."""
    patches = system.contacts.joint_friction.patches
    eliminate_joints(system, work, joint_friction, T, h, v)
    compute_changes(system.tree, work, T, work.response)
    for p in range(len(T.slip)):
        j = T.coordinate[p]
        rate = v[j] + work.response[j]
        T.slip[p] = slip_per_rate(patches[p], work.bodies, work.columns[j]) * rate + joint_friction.slip_changes[p, 0]


# --- limits for given friction ----------------------------------------------------------------------------------------
@kernel
def compute_limits(system, work, joint_friction, T, h):
    """Compute the limits of all patches from the impulses that the joints transmit."""
    table = system.contacts.joint_friction
    clear_loads(T)
    for p in range(len(table.patches)):
        patch = table.patches[p]
        carried = transmitted_impulse(p, patch, work, joint_friction, h)
        W = carried - friction_wrench(patch, T.friction[p], 0.0, table.points, joint_friction.normal_loads)
        store_vector(T.reaction[p], W)
        compute_limit(p, patch, W, table, joint_friction, T)
    for k in range(len(T.normal_load)):
        T.normal_load[k] = joint_friction.normal_loads[k]


@kernel
def update_limits(system, joint_friction, T, tolerance) -> tuple[bool, float]:
    """Replace limits that disagree with those due to the friction; return whether all agree, and the largest error."""
    patches, agree, residual = system.contacts.joint_friction.patches, True, 0.0
    for p in range(len(patches)):
        used, limit, friction = T.limit[p], joint_friction.limit[p], abs(T.friction[p])
        scale = patches[p].coefficient * T.largest_load[T.base[patches[p].row]]
        error = abs(limit - used) if friction >= (1.0 - AT_LIMIT) * used else friction - limit
        if error > tolerance * scale:
            agree = False
            T.limit[p] = next_limit(used, limit, joint_friction.secant[p])
        elif scale > 0.0:
            residual = max(residual, error / scale)
    return agree, residual
