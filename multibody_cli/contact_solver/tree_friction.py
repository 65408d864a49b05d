"""Dry friction of the joints of a tree in O(n): friction, motion and loads are the solution of one recursion.

A friction patch that slips with one coordinate alone, of rate v' after the step, either *sticks*, v' = 0, or *slides*
with the sign s = 1 or -1.  Both hinges of a cross are such patches, as their axes are perpendicular.  The friction
impulse x of a sliding patch is the limit, which depends on the reaction W of its joint alone:

    x = -s limit,   limit = mu sum_k a_k,   a_k = sum_i |c_i . W|,   W = h F + G - friction at the points.

Points share the friction in proportion to their loads a_k, so that the friction at the points is -s mu sum_k a_k w_k
for their unit friction wrenches w_k.  With the signs of c_i . W, a_k = C_k . W is linear, and so is x in the wrench
h F + G that the joint transmits:

    (1 - s mu sum_k w_k C_k^T) W = h F + G,    x = -s mu (sum_k C_k) . W = g . (h F + G).

This is part of the elimination of the joint (`friction_elimination`).

One pass is Newton's step for the states and signs of the last one; it is exact if they do not change.  The first one
has the signs of the last step, and its states, which are extrapolated from the last two steps.  A sticking joint
slides if its friction exceeds its limit; a sliding one sticks if its rate has the wrong sign.  D has the sign that it
has without the friction of the joint unless friction increases with the slip by more than the slip requires: the joint
jams.  D without friction is positive unless joints beyond jam.

The patches of spherical, cylindrical and planar joints slip in two directions
(`two_directional_friction`).  The direction of slip
is then unknown as well, and converges quadratically.  A disc that exceeds its limit slides against its last friction,
first with the speed at which the inertia of its joint would move under the excess.  A disc sticks if its slip reverses,
or slows down to a tenth in a pass while its friction is below its limit.

The conditions are those of the rows of `joint_friction`.  Where the iteration does not end, as with several joints that
jam, friction and loads are computed in turn (`staggered_tree_friction`).  The states become those of the solution long
before the loads converge, so that Newton's method starts from them now and then.  Where neither ends, the step solves
the rows.

Source: Sueda, notes 2.11, (2.115)-(2.118).
"""

from __future__ import annotations

from multibody_cli.contact_solver.edge_compliance import EXACT, choose_compliance, is_cycling, start_compliance
from multibody_cli.contact_solver.edge_impacts import (
    find_jams,
    follow_paths,
    follows_law,
    joints_wedge,
    paths_meet_equalities,
    rebounds,
)
from multibody_cli.contact_solver.edge_list import guess_edges
from multibody_cli.contact_solver.edges import (
    edge_residual,
    linearize_edges,
    read_edges,
    rescale_edges,
    store_edges,
)
from multibody_cli.contact_solver.friction.natural_map import COMPLIANCE
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.friction_elimination import (
    compute_slips,
    store_loop_multipliers,
    transmit_changes,
)
from multibody_cli.contact_solver.friction_limits import (
    clear_loads,
    compute_friction,
    compute_limit,
    write_load_shares,
)
from multibody_cli.contact_solver.friction_states import (
    guess_states,
    halve_step,
    keep_patches,
    residual_of_patches,
    scale_patches,
    slide_without_friction,
    soften_sticking,
    speed_of_bodies,
    update_states,
)
from multibody_cli.contact_solver.impacts import ENERGETIC
from multibody_cli.contact_solver.joint_friction import distribute_normal_load, friction_wrench, share_of_points
from multibody_cli.contact_solver.loop_plan import plan_loops
from multibody_cli.contact_solver.matrices import times_vector
from multibody_cli.contact_solver.staggered_tree_friction import start_sweeps, sweep
from multibody_cli.contact_solver.tree_friction_workspace import (
    JAMS,
    STICKS,
    load_vector,
    store_vector,
)
from multibody_cli.contact_solver.tree_motion import solve_motion
from multibody_cli.contact_solver.two_directional_friction import distribute_torque, is_at_rest, linearize_friction
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.memory import load_force
from multibody_cli.tree.jacobian import write_ball_columns

MAX_ITERATIONS, MAX_DISC_ITERATIONS = 12, 240
"""Largest number of passes over the tree in a step, without and with discs."""

FEW_EDGE_ITERATIONS, MAX_SHIFTS, MAX_EDGE_ITERATIONS = 20, 5, 40
"""Numbers of passes with contacts and limits, and of those that shift loads, beyond which the tolerance suffices; and
number of passes beyond which the step solves rows.
"""

MAX_SWEEPS, FIRST_ATTEMPT = 256, 1
"""Largest number of sweeps in a step, and that after which their states are tried first."""

MAX_LOOP_SWEEPS = 8
"""Largest number of sweeps in a step of a system with loops, of which few need rows for more than that."""

JOINT_ITERATIONS = 10
"""Passes in which all states that disagree change at once; in as many after them, one at a time, against cycles."""


# --- friction and loads -----------------------------------------------------------------------------------------------
@kernel
def compute_loads(system, joint_friction, passes, halves):
    """Compute loads, their signs, and limits of all joints from the impulses that they transmit, and their friction.

    Where the pass `halves` its step, the reactions are the means of those before and after it.
    """
    table = system.contacts.joint_friction
    clear_loads(passes)
    for p in range(len(table.patches)):
        patch, x, y = table.patches[p], passes.friction[p, 0], passes.friction[p, 1]
        carried = load_force(joint_friction.transmitted[p])
        W = carried
        if passes.state[p] != STICKS and passes.jams[p] != JAMS:
            W = times_vector(passes.inverse[p], carried)
        if passes.state[p] != STICKS and patch.slip_directions == 2:
            distribute_normal_load(patch, W, table, joint_friction.normal_loads)
        if passes.state[p] == STICKS or patch.slip_directions == 2:
            share = share_of_points(joint_friction, p)
            W = carried - friction_wrench(patch, share * x, share * y, table.points, joint_friction.normal_loads)
        if halves:
            W = 0.5 * (W + load_vector(passes.reaction[p]))
        store_vector(passes.reaction[p], W)
        compute_limit(p, patch, W, table, joint_friction, passes)
    for p in range(len(table.patches)):
        patch = table.patches[p]
        if patch.slip_directions == 2 and p == patch.first_patch < patch.last_patch - 1 and is_at_rest(patch, passes):
            distribute_torque(table.patches, p, joint_friction, passes)


# --- step -------------------------------------------------------------------------------------------------------------
@formula
def has_passes(system, passes):
    """Return whether passes over the bodies solve for the friction of the joints of a system."""
    return len(passes.bodies.nodes) > 0 and not system.contacts.options.staggered


@lazy_kernel
def solve_tree_friction(system, work, contact_work, h, v, first, tolerance) -> bool:
    """Solve for the friction impulses x from row `first` on, and the change `work.response` (nv,) of v (nv,).

    Return False if the iteration does not end.
    """
    joint_friction, passes = contact_work.joint_friction, contact_work.tree_friction
    pairs = passes.edges.pair_count[0]
    if (pairs > 0 or passes.bodies.pairs_planned[0] != 0) and not plan_loops(passes.bodies, passes.edges.pairs, pairs):
        return False
    write_ball_columns(system.tree, work)
    passes.bodies.axes_are_known[0] = 0
    guess_states(system, contact_work, passes, first)
    most = MAX_ITERATIONS
    for i in range(len(passes.discs)):
        if passes.discs[i] >= 0:
            most = MAX_DISC_ITERATIONS
    steps, residual, softens = -1, 0.0, len(passes.bodies.loop_of_joint) + passes.edges.number[0] > 0
    passes.soft[0] = 0
    if passes.edges.number[0] == 0:
        steps, residual = solve_by_newton(system, work, joint_friction, passes, h, v, tolerance, most)
        if steps < 0 and read_first_loads(system, work, contact_work, passes, h, v, first):
            steps, residual = solve_by_newton(system, work, joint_friction, passes, h, v, tolerance, most)
    if steps < 0 and softens and scale_patches(system, work, passes):
        passes.soft[0] = 1
        guess_states(system, contact_work, passes, first)
        guess_edges(passes.edges, contact_work)
        passes.edges.motion[0] = speed_of_bodies(system.tree.links, work.bodies)
        steps, residual = solve_by_newton(system, work, joint_friction, passes, h, v, tolerance, MAX_EDGE_ITERATIONS)
        passes.soft[0] = 0
    if steps < 0:
        if passes.edges.number[0] > 0:
            return False
        sweeps, residual = alternate(system, work, joint_friction, passes, h, v, tolerance)
        if sweeps < 0:
            return False
        steps = most + sweeps
    has_impact = rebounds(contact_work)
    has_paths = has_impact and system.contacts.options.impacts == ENERGETIC
    if has_paths and paths_meet_equalities(contact_work):
        return False
    if has_paths and follow_paths(system, work, contact_work, h, v):
        passes.soft[0] = 1
        again, residual = solve_by_newton(system, work, joint_friction, passes, h, v, tolerance, MAX_EDGE_ITERATIONS)
        passes.soft[0] = 0
        if again < 0 or joints_wedge(passes.edges, contact_work.step):
            return False
    if find_jams(system, work, contact_work, h, v):
        passes.soft[0] = 1
        again, residual = solve_by_newton(system, work, joint_friction, passes, h, v, tolerance, MAX_EDGE_ITERATIONS)
        passes.soft[0] = 0
        if again < 0:
            return False
    for p in range(len(passes.state)):
        k = first + PER_CONTACT * p
        contact_work.step.x[k] = joint_friction.limit[p]
        contact_work.step.x[k + 1] = passes.friction[p, 0]
        contact_work.step.x[k + 2] = passes.friction[p, 1]
    repeats = store_edges(passes.edges, contact_work.step.x)
    # loops share loads in more ways than one: at a dead centre, a first pass with more compliance misses the solution
    passes.steady[0] = repeats and len(passes.bodies.loop_of_joint) == 0
    store_loop_multipliers(system, work, passes.bodies, contact_work.step.active_rows, contact_work.step.x[:first])
    if has_impact and not follows_law(work, contact_work, system.contacts.options.impacts):
        return False
    contact_work.diagnostics.newton_steps[0] = max(contact_work.diagnostics.newton_steps[0], steps)
    contact_work.diagnostics.max_residual[0] = max(contact_work.diagnostics.max_residual[0], residual)
    return True


@kernel
def read_first_loads(system, work, contact_work, passes, h, v, first) -> bool:
    """Take the signs of the loads from the motion without friction, if no joint was loaded before; return whether so.

    States are guessed again.
    """
    joint_friction = contact_work.joint_friction
    for p in range(len(passes.state)):
        if joint_friction.previous_impulses[p, 0] > 0.0:
            return False
    slide_without_friction(joint_friction, passes)
    if not solve_motion(system, work, joint_friction, passes, h, v):
        return False
    transmit_changes(system, work, passes)
    compute_friction(system, work, joint_friction, passes, h)
    compute_loads(system, joint_friction, passes, False)
    guess_states(system, contact_work, passes, first)
    return True


@kernel
def solve_by_newton(system, work, joint_friction, passes, h, v, tolerance, most) -> tuple[int, float]:
    """Solve for friction, loads and motion by Newton's method from the present states and signs.

    Return the number of passes, or -1 if more than `most` are needed, and the largest relative error of a limit.
    """
    table = system.contacts.joint_friction
    for p in range(len(passes.state)):
        passes.jams[p] = 0
        passes.applied[p, 0] = passes.applied[p, 1] = 0.0
    edges, passes.bodies.frictionless[0] = passes.edges, 0
    start_compliance(edges, passes.steady[0])
    for iteration in range(most):
        halves = passes.soft[0] and is_cycling(edges)
        if halves:
            keep_patches(passes)
        regular = write_load_shares(table, joint_friction, passes)
        linearize_friction(table.patches, joint_friction, passes)
        linearize_edges(edges, work.armature)
        if passes.soft[0]:
            soften_sticking(system, work, joint_friction, passes, v)
        if not (regular and solve_motion(system, work, joint_friction, passes, h, v)):
            return -1, 0.0
        read_edges(edges, work.bodies, work.response)
        compute_slips(system, work, joint_friction, passes, v)
        transmit_changes(system, work, passes)
        compute_friction(system, work, joint_friction, passes, h)
        if halves:
            halve_step(passes)
        compute_loads(system, joint_friction, passes, halves)
        if iteration == 0:
            rescale_edges(edges)
        late = iteration >= JOINT_ITERATIONS
        worst, size = residual_of_patches(table.patches, joint_friction.limit, late, passes)
        of_edges = edge_residual(edges, worst, size)
        few = iteration < FEW_EDGE_ITERATIONS and edges.shifts[0] < MAX_SHIFTS
        required = EXACT if few else max(tolerance, EXACT)
        exact = not passes.soft[0] or (of_edges <= required and edges.compliance[0] == COMPLIANCE)
        satisfied = late and passes.soft[0] and exact  # states differ by round-off
        choose_compliance(edges, of_edges if few else 0.0)
        switches = len(passes.state) if iteration % (2 * JOINT_ITERATIONS) < JOINT_ITERATIONS else 1
        agree, residual = update_states(system, joint_friction, passes, tolerance, 0 if satisfied else switches)
        if (agree or satisfied) and exact and not halves:
            return iteration + 1, residual
    return -1, 0.0


@kernel
def alternate(system, work, joint_friction, passes, h, v, tolerance) -> tuple[int, float]:
    """Solve for friction and loads in turn; after 1, 2, 4, ... sweeps, solve at once from the states so found.

    Return the number of sweeps, or -1 if they do not end, and the largest relative error of a limit.
    """
    start_sweeps(joint_friction, passes)
    next_attempt = FIRST_ATTEMPT
    for count in range(1, (MAX_LOOP_SWEEPS if len(passes.bodies.loop_of_joint) > 0 else MAX_SWEEPS) + 1):
        agree, residual = sweep(system, work, joint_friction, passes, h, v, tolerance)
        if agree:
            return count, residual
        if count == next_attempt:
            next_attempt *= 2
            passes.kept[0] = 1
            steps, residual = solve_by_newton(system, work, joint_friction, passes, h, v, tolerance, JOINT_ITERATIONS)
            if steps > 0:
                return count, residual
    return -1, 0.0
