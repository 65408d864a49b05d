"""Dry friction of the joints of a tree by bilateral staggered projections, each in O(n).

`tree_friction` solves for friction and loads at once, by Newton's method, which may cycle if joints jam.  Here they
alternate, as in algorithm 8 of Sueda's notes: friction for given limits, then limits for given friction, with the
secant steps of `joint_friction`.

For given limits, the friction x of all patches is the projection

    min 1/2 x . W x + x . u0   with   |x_p| <= limit_p,

of the slip velocities u0 without friction, in which W x is the slip that x causes.  The coordinates of a tree are
independent, so that W is positive definite, but for the three discs of a ball, and the motion unique.  W is never
formed:

    u0 + W x               one pass over the tree in which x acts on its joints
    x of sticking joints   one pass in which they do not slip and the others have the friction of their limits

In the second pass, the friction of a disc that slides moves along the tangent of its limit, by -limit / |u| times the
slip along the tangent: the curvature of the limit for the multiplier |u| / limit.

Without discs, all states that disagree with the second pass are exchanged at once (primal-dual active sets).  If that
does not end soon, the projected Newton method moves from x towards the friction of the second pass, within the limits,
as far as the function decreases.  A patch slides if it is at its limit and the slip opposes its friction; all others
stick.  Once no state changes, the solution is exact.

Sources: Sueda, notes 2.11, algorithm 8; Hintermueller, Ito and Kunisch, The primal-dual active set strategy as a
semismooth Newton method, SIAM J. Optim. 13 (2002); Bertsekas, Projected Newton methods for optimization problems with
simple constraints, SIAM J. Control Optim. 20 (1982).
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction_elimination import compute_slips, transmit_changes
from multibody_cli.contact_solver.friction_limits import (
    clear_loads,
    compute_friction,
    compute_limit,
)
from multibody_cli.contact_solver.joint_friction import (
    MAX_SECANT_FACTOR,
    friction_wrench,
    next_limit,
    reset_limit_iteration,
    share_of_points,
)
from multibody_cli.contact_solver.results import AT_LIMIT
from multibody_cli.contact_solver.tree_friction_workspace import STICKS, clear_share, store_vector
from multibody_cli.contact_solver.tree_motion import solve_motion
from multibody_cli.contact_solver.two_directional_friction import add_drag, clear_drag
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load_force

MAX_NEWTON_STEPS = 100
"""Largest number of Newton steps of a projection."""

MAX_EXCHANGES = 60
"""Largest number of passes in which all states that disagree are exchanged."""

MAX_BACKTRACKING = 30
"""Largest number of fractions of a Newton step that are tried, each half of the last."""

SUFFICIENT_DECREASE = 1e-4
"""Least decrease of the function, relative to that of its gradient along the step."""


@kernel
def start_sweeps(joint_friction, passes):
    """Take friction and limits of the previous step as a first guess."""
    for p in range(len(passes.limit)):
        passes.limit[p] = joint_friction.previous_impulses[p, 0]
        passes.target[p, 0] = joint_friction.previous_impulses[p, 1]
        passes.target[p, 1] = joint_friction.previous_impulses[p, 2]
    for k in range(len(passes.normal_load)):
        passes.normal_load[k] = joint_friction.normal_loads[k]
    reset_limit_iteration(joint_friction)


@kernel
def sweep(system, work, joint_friction, passes, h, v, tolerance) -> tuple[bool, float]:
    """Compute friction for the present limits, and the limits for this friction, from the results of the last sweep.

    Return whether all agree, and the largest relative error of a limit.  The changes of all rates go to `work.response`
    (nv,), friction and states to `passes`, and limits to `joint_friction.limit` (p,).
    """
    for p in range(len(passes.limit)):
        clear_share(p, passes)
        set_within_limit(p, passes.target[p, 0], passes.target[p, 1], passes.friction, passes)
    for k in range(len(passes.normal_load)):
        joint_friction.normal_loads[k] = passes.normal_load[k]
    solved = project(system, work, joint_friction, passes, h, v, tolerance)
    compute_limits(system, joint_friction, passes)
    agree, residual = update_limits(system, joint_friction, passes, tolerance)
    return solved and agree, residual


# --- friction for given limits ----------------------------------------------------------------------------------------
@kernel
def set_within_limit(p, x, y, friction, passes):
    """Store the friction (x, y) of patch p in `friction` (p, 2), or the nearest within its limit."""
    size = math.hypot(x, y)
    scale = passes.limit[p] / size if size > passes.limit[p] else 1.0
    friction[p, 0], friction[p, 1] = scale * x, scale * y


@kernel
def copy_vectors(source, copy):
    """Copy the vectors of all patches (p, 2)."""
    for p in range(len(source)):
        copy[p, 0], copy[p, 1] = source[p, 0], source[p, 1]


@kernel
def exchange_states(system, work, joint_friction, passes, h, v, tolerance) -> bool:
    """Like `project`, by exchanging all states that disagree at once, without discs; return False if they go on to."""
    patches = system.contacts.joint_friction.patches
    for p in range(len(passes.state)):
        if patches[p].slip_directions == 2:
            return False
        clear_drag(p, passes)
        apply_state(p, abs(passes.friction[p, 0]) >= (1.0 - AT_LIMIT) * passes.limit[p], passes)
    for _ in range(MAX_EXCHANGES):
        if not move(system, work, joint_friction, passes, h, v):
            return False
        transmit_changes(system, work, passes)
        compute_friction(system, work, joint_friction, passes, h)
        if states_agree(passes, tolerance):
            return True
        for p in range(len(passes.state)):
            if passes.state[p] == STICKS:
                apply_state(p, abs(passes.friction[p, 0]) > passes.limit[p], passes)
            elif passes.state[p] * passes.slip[p, 0] < 0.0:
                passes.state[p] = STICKS
    return False


@kernel
def apply_state(p, slides, passes):
    """Let a patch stick, or slide against its friction with that of its limit."""
    passes.state[p] = STICKS
    if slides:
        passes.state[p] = -1 if passes.friction[p, 0] > 0.0 else 1
    passes.applied[p, 0], passes.applied[p, 1] = -passes.state[p] * passes.limit[p], 0.0


@kernel
def project(system, work, joint_friction, passes, h, v, tolerance) -> bool:
    """Compute friction within the limits, and the motion that it causes; return False if the iteration does not end."""
    patches, count = system.contacts.joint_friction.patches, len(passes.state)
    copy_vectors(passes.friction, passes.start)
    if exchange_states(system, work, joint_friction, passes, h, v, tolerance):
        return True
    copy_vectors(passes.start, passes.friction)
    for p in range(count):
        passes.applied[p, 0] = passes.applied[p, 1] = 0.0
    if not slide_freely(system, work, joint_friction, passes, h, v):
        return False
    copy_vectors(passes.slip, passes.free_slip)
    copy_vectors(passes.friction, passes.applied)
    if not slide_freely(system, work, joint_friction, passes, h, v):
        return False
    for _ in range(MAX_NEWTON_STEPS):
        before = dissipation_function(passes)
        for p in range(count):
            set_state(patches[p], p, passes)
        copy_vectors(passes.slip, passes.gradient)
        copy_vectors(passes.friction, passes.start)
        if not move(system, work, joint_friction, passes, h, v):
            return False
        transmit_changes(system, work, passes)
        compute_friction(system, work, joint_friction, passes, h)
        if states_agree(passes, tolerance):
            return True
        copy_vectors(passes.friction, passes.target)
        fraction = 1.0
        for _ in range(MAX_BACKTRACKING):
            slope = 0.0
            for p in range(count):
                x, y = passes.start[p, 0], passes.start[p, 1]
                set_within_limit(
                    p,
                    x + fraction * (passes.target[p, 0] - x),
                    y + fraction * (passes.target[p, 1] - y),
                    passes.friction,
                    passes,
                )
                slope += passes.gradient[p, 0] * (passes.friction[p, 0] - x) + passes.gradient[p, 1] * (
                    passes.friction[p, 1] - y
                )
            copy_vectors(passes.friction, passes.applied)
            if not slide_freely(system, work, joint_friction, passes, h, v):
                return False
            if dissipation_function(passes) <= before + SUFFICIENT_DECREASE * slope:
                break
            fraction *= 0.5
    return False


@kernel
def set_state(patch, p, passes):
    """Set the state of a patch for the next Newton step: it slides if it is at its limit and the slip opposes it.

    The friction of a disc moves along the tangent of its limit, against the slip.
    """
    x, y, limit = passes.friction[p, 0], passes.friction[p, 1], passes.limit[p]
    size = math.hypot(x, y)
    passes.state[p] = STICKS
    clear_drag(p, passes)
    if size >= (1.0 - AT_LIMIT) * limit and x * passes.slip[p, 0] + y * passes.slip[p, 1] <= 0.0:
        passes.state[p] = 1
        speed = math.hypot(passes.slip[p, 0], passes.slip[p, 1])
        if patch.slip_directions == 1:
            passes.state[p] = -1 if x > 0.0 else 1
        elif size > 0.0:
            passes.direction[p, 0], passes.direction[p, 1] = -x / size, -y / size
            if speed > 0.0:
                add_drag(p, -y / size, x / size, -y / size * limit / speed, x / size * limit / speed, passes)
        passes.applied[p, 0] = -passes.state[p] * limit * passes.direction[p, 0]
        passes.applied[p, 1] = -passes.state[p] * limit * passes.direction[p, 1]


@kernel
def dissipation_function(passes):
    """Return 1/2 x . W x + x . u0 of the friction whose slips were computed last."""
    total = 0.0
    for p in range(len(passes.friction)):
        for j in range(2):
            total += 0.5 * passes.friction[p, j] * (passes.slip[p, j] + passes.free_slip[p, j])
    return total


@kernel
def states_agree(passes, tolerance) -> bool:
    """Return whether friction is within the limits, and slips oppose the friction of sliding joints."""
    for p in range(len(passes.state)):
        limit = passes.limit[p]
        if passes.state[p] == STICKS:
            if math.hypot(passes.friction[p, 0], passes.friction[p, 1]) > (1.0 + tolerance) * limit:
                return False
        elif limit > 0.0:
            along = passes.direction[p, 0] * passes.slip[p, 0] + passes.direction[p, 1] * passes.slip[p, 1]
            change = math.hypot(
                passes.friction[p, 0] - passes.applied[p, 0], passes.friction[p, 1] - passes.applied[p, 1]
            )
            if passes.state[p] * along < 0.0 or change > tolerance * limit:
                return False
    return True


@kernel
def slide_freely(system, work, joint_friction, passes, h, v) -> bool:
    """Compute the slip velocities after the step if the friction `applied` acts and no joint sticks: see `move`."""
    for p in range(len(passes.state)):
        passes.state[p] = 1
        clear_drag(p, passes)
    return move(system, work, joint_friction, passes, h, v)


@kernel
def move(system, work, joint_friction, passes, h, v) -> bool:
    """Compute the changes of all rates, and the slip velocities after the step; return False without a solution."""
    solved = solve_motion(system, work, joint_friction, passes, h, v)
    compute_slips(system, work, joint_friction, passes, v)
    return solved


# --- limits for given friction ----------------------------------------------------------------------------------------
@kernel
def compute_limits(system, joint_friction, passes):
    """Compute the limits of all patches from the impulses that the joints transmit."""
    table = system.contacts.joint_friction
    clear_loads(passes)
    for p in range(len(table.patches)):
        patch, carried = table.patches[p], load_force(joint_friction.transmitted[p])
        share = share_of_points(joint_friction, p)
        x, y = share * passes.friction[p, 0], share * passes.friction[p, 1]
        W = carried - friction_wrench(patch, x, y, table.points, joint_friction.normal_loads)
        store_vector(passes.reaction[p], W)
        compute_limit(p, patch, W, table, joint_friction, passes)
    for k in range(len(passes.normal_load)):
        passes.normal_load[k] = joint_friction.normal_loads[k]


@kernel
def update_limits(system, joint_friction, passes, tolerance) -> tuple[bool, float]:
    """Replace limits that disagree with those due to the friction; return whether all agree, and the largest error."""
    patches, agree, residual = system.contacts.joint_friction.patches, True, 0.0
    for p in range(len(patches)):
        used, limit, friction = (
            passes.limit[p],
            joint_friction.limit[p],
            math.hypot(passes.friction[p, 0], passes.friction[p, 1]),
        )
        scale = (
            joint_friction.coefficient[p] * passes.largest_load[passes.base[patches[p].child]] + joint_friction.brake[p]
        )
        error = abs(limit - used) if friction >= (1.0 - AT_LIMIT) * used else friction - limit
        if error > tolerance * scale:
            agree = False
            passes.limit[p] = next_limit(used, limit, joint_friction.secant[p], MAX_SECANT_FACTOR)
        elif scale > 0.0:
            residual = max(residual, error / scale)
    return agree, residual
