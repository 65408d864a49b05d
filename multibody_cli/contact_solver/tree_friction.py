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

The patches of spherical, cylindrical and planar joints slip in two directions (`loaded_discs`).  The direction of slip
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

import math
from typing import Any, NamedTuple

from multibody_cli.constraints.rows import IMPACT_SPEED
from multibody_cli.contact_solver.edges import (
    EXACT,
    ROUND_OFF,
    apply_unit_normal,
    choose_compliance,
    edge_residual,
    guess_edges,
    linearize_edges,
    read_edges,
    rescale_edges,
    start_compliance,
    store_edges,
    term_of,
)
from multibody_cli.contact_solver.elimination_workspace import is_supported
from multibody_cli.contact_solver.friction.natural_map import COMPLIANCE
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.friction_elimination import (
    compute_slips_of_bodies,
    solve_motion_of_bodies,
    store_loop_multipliers,
    transmit_changes_of_bodies,
)
from multibody_cli.contact_solver.friction_limits import (
    clear_loads,
    compute_friction,
    compute_limit,
    write_load_shares,
)
from multibody_cli.contact_solver.friction_states import (
    guess_states,
    residual_of_sticking,
    scale_patches,
    slide_without_friction,
    soften_sticking,
    speed_of_bodies,
    update_states,
)
from multibody_cli.contact_solver.implicit_tree_motion import solve_motion_implicitly
from multibody_cli.contact_solver.joint_friction import distribute_normal_load, friction_wrench, share_of_points
from multibody_cli.contact_solver.laws import COULOMB
from multibody_cli.contact_solver.loaded_discs import rests, share_torque, write_drags
from multibody_cli.contact_solver.loop_plan import plan_loops
from multibody_cli.contact_solver.parameters import compute_slips, solve_motion, transmit_changes
from multibody_cli.contact_solver.results import AT_LIMIT
from multibody_cli.contact_solver.staggered_tree_friction import start_sweeps, sweep
from multibody_cli.contact_solver.tree_friction_workspace import (
    JAMS,
    STICKS,
    load_vector,
    store_vector,
)
from multibody_cli.kernel import bound_kernel, kernel, template
from multibody_cli.linalg.dense_lu import solve_dense
from multibody_cli.model import System
from multibody_cli.spatial.memory import load_force
from multibody_cli.spatial.products import power
from multibody_cli.tree.articulated_body import load_motion_change
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


class Passes(NamedTuple):
    """The kernels of a pass over a tree: see `contact_solver.parameters`."""

    solve_motion: Any
    compute_slips: Any
    transmit_changes: Any


def passes_for(system: System, impulses: Any) -> Passes | None:
    """Return the passes for a system, or None if these do not support it; `impulses` is `add_implicit_impulses`."""
    if not is_supported(system):
        return None
    motion, transmit = solve_motion_of_bodies, bound_kernel(transmit_changes_of_bodies, add_implicit_impulses=impulses)
    if system.implicit:
        motion = bound_kernel(solve_motion_implicitly, solve_motion_once=motion, add_implicit_impulses=impulses)
    return Passes(motion, compute_slips_of_bodies, transmit)


# --- friction and loads -----------------------------------------------------------------------------------------------
@kernel
def compute_loads(system, joint_friction, T):
    """Compute loads, their signs, and limits of all joints from the impulses that they transmit, and their friction."""
    table = system.contacts.joint_friction
    clear_loads(T)
    for p in range(len(table.patches)):
        patch, x, y = table.patches[p], T.friction[p, 0], T.friction[p, 1]
        carried = load_force(joint_friction.transmitted[p])
        W = carried
        if T.state[p] != STICKS and T.jams[p] != JAMS:
            store_vector(T.vector, carried)
            solve_dense(T.matrix[p], T.order[p], T.vector, T.reaction[p])
            W = load_vector(T.reaction[p])
        if T.state[p] != STICKS and patch.slip_directions == 2:
            distribute_normal_load(patch, W, table, joint_friction.normal_loads)
        if T.state[p] == STICKS or patch.slip_directions == 2:
            share = share_of_points(joint_friction, p)
            W = carried - friction_wrench(patch, share * x, share * y, table.points, joint_friction.normal_loads)
        store_vector(T.reaction[p], W)
        compute_limit(p, patch, W, table, joint_friction, T)
    for p in range(len(table.patches)):
        patch = table.patches[p]
        if patch.slip_directions == 2 and p == patch.first_patch < patch.last_patch - 1 and rests(patch, T):
            share_torque(table.patches, p, joint_friction, T)


# --- step -------------------------------------------------------------------------------------------------------------
@template(solve_motion, compute_slips, transmit_changes)
def solve_tree_friction(system, work, contact_work, h, v, first, tolerance) -> bool:
    """Solve for the friction impulses x from row `first` on, and the change `work.response` (nv,) of v (nv,).

    Return False if the iteration does not end.
    """
    joint_friction, T = contact_work.joint_friction, contact_work.tree_friction
    pairs = T.edges.pair_count[0]
    if (pairs > 0 or T.bodies.pairs_planned[0] != 0) and not plan_loops(T.bodies, T.edges.pairs, pairs):
        return False
    write_ball_columns(system.tree, work)
    T.bodies.axes_are_known[0] = 0
    guess_states(system, contact_work, T, first)
    most = MAX_ITERATIONS
    for i in range(len(T.discs)):
        if T.discs[i] >= 0:
            most = MAX_DISC_ITERATIONS
    passes, residual, softens = -1, 0.0, most == MAX_ITERATIONS and len(T.bodies.loop_of_joint) + T.edges.number[0] > 0
    T.soft[0] = 0
    if T.edges.number[0] == 0:
        passes, residual = solve_at_once(system, work, joint_friction, T, h, v, tolerance, most)
        if passes < 0 and read_first_loads(system, work, contact_work, T, h, v, first):
            passes, residual = solve_at_once(system, work, joint_friction, T, h, v, tolerance, most)
    if passes < 0 and softens and scale_patches(system, work, T):
        T.soft[0] = 1
        guess_states(system, contact_work, T, first)
        guess_edges(T.edges, contact_work)
        T.edges.motion[0] = speed_of_bodies(system.tree.links, work.bodies)
        passes, residual = solve_at_once(system, work, joint_friction, T, h, v, tolerance, MAX_EDGE_ITERATIONS)
        T.soft[0] = 0
    if passes < 0:
        if T.edges.number[0] > 0:
            return False
        sweeps, residual = solve_in_turn(system, work, joint_friction, T, h, v, tolerance)
        if sweeps < 0:
            return False
        passes = most + sweeps
    if find_jams(system, work, contact_work, h, v):
        T.soft[0] = 1
        again, residual = solve_at_once(system, work, joint_friction, T, h, v, tolerance, MAX_EDGE_ITERATIONS)
        T.soft[0] = 0
        if again < 0:
            return False
    for p in range(len(T.state)):
        k = first + PER_CONTACT * p
        contact_work.step.x[k] = joint_friction.limit[p]
        contact_work.step.x[k + 1] = T.friction[p, 0]
        contact_work.step.x[k + 2] = T.friction[p, 1]
    store_edges(T.edges, contact_work.step.x)
    store_loop_multipliers(system, work, T.bodies, contact_work.step.active_rows, contact_work.step.x[:first])
    contact_work.diagnostics.newton_steps[0] = max(contact_work.diagnostics.newton_steps[0], passes)
    contact_work.diagnostics.max_residual[0] = max(contact_work.diagnostics.max_residual[0], residual)
    return True


@template(solve_motion, transmit_changes)
def read_first_loads(system, work, contact_work, T, h, v, first) -> bool:
    """Take the signs of the loads from the motion without friction, if no joint was loaded before; return whether so.

    States are guessed again.
    """
    joint_friction = contact_work.joint_friction
    for p in range(len(T.state)):
        if joint_friction.previous_impulses[p, 0] > 0.0:
            return False
    slide_without_friction(joint_friction, T)
    if not solve_motion(system, work, joint_friction, T, h, v):
        return False
    transmit_changes(system, work, T)
    compute_friction(system, work, joint_friction, T, h)
    compute_loads(system, joint_friction, T)
    guess_states(system, contact_work, T, first)
    return True


@template(solve_motion)
def find_jams(system, work, contact_work, h, v) -> bool:
    """Find contacts that slid and stop without a collision, and set `Edges.jams` as `solution.jams` does.

    Return whether there are any, so that the motion is to be computed again.  The responses are those of joints without
    friction.
    """
    T, E, before, found = (
        contact_work.tree_friction,
        contact_work.tree_friction.edges,
        contact_work.step.velocity_before,
        False,
    )
    for e in range(E.number[0]):
        edge, x = E.edges[e], E.x[e]
        if edge.law != COULOMB or edge.load != e or math.hypot(x[1], x[2]) >= (1.0 - AT_LIMIT) * edge.mu * x[0]:
            continue
        along, across, least = before[edge.row + 1], before[edge.row + 2], IMPACT_SPEED * E.rows[edge.row].speed
        speed = math.hypot(along, across)
        if not (speed > least and before[edge.row] > -least):
            continue
        if not found:
            for p in range(len(T.state)):
                T.kept_state[p] = T.state[p]
            slide_without_friction(contact_work.joint_friction, T)
        found = True
        apply_unit_normal(E, e, work.armature)
        if solve_motion(system, work, contact_work.joint_friction, T, h, v):
            dV = load_motion_change(work.bodies[edge.body])
            normal = power(dV, load_force(term_of(E, edge.row)))
            pressing = along * power(dV, load_force(term_of(E, edge.row + 1)))
            pressing += across * power(dV, load_force(term_of(E, edge.row + 2)))
            if normal * speed < edge.mu * pressing:
                E.jams[0] = 1
    for p in range(len(T.state) if found else 0):
        T.state[p] = T.kept_state[p]
    return found


@template(solve_motion, compute_slips, transmit_changes)
def solve_at_once(system, work, joint_friction, T, h, v, tolerance, most) -> tuple[int, float]:
    """Solve for friction, loads and motion by Newton's method from the present states and signs.

    Return the number of passes, or -1 if more than `most` are needed, and the largest relative error of a limit.
    """
    table = system.contacts.joint_friction
    for p in range(len(T.state)):
        T.jams[p] = 0
        T.applied[p, 0] = T.applied[p, 1] = 0.0
    E, polished = T.edges, False
    start_compliance(E)
    for iteration in range(most):
        regular = write_load_shares(table, joint_friction, T)
        write_drags(table.patches, joint_friction, T)
        linearize_edges(E, work.armature)
        if T.soft[0]:
            soften_sticking(system, work, joint_friction, T, v)
        if not (regular and solve_motion(system, work, joint_friction, T, h, v)):
            return -1, 0.0
        read_edges(E, work.bodies, work.response)
        compute_slips(system, work, joint_friction, T, v)
        transmit_changes(system, work, T)
        compute_friction(system, work, joint_friction, T, h)
        compute_loads(system, joint_friction, T)
        if iteration == 0:
            rescale_edges(E)
        worst, size = residual_of_sticking(table.patches, T)
        of_edges = edge_residual(E, worst, size)
        few = iteration < FEW_EDGE_ITERATIONS and E.shifts[0] < MAX_SHIFTS
        required = EXACT if few else max(tolerance, EXACT)
        exact = not T.soft[0] or (of_edges <= required and E.compliance[0] == COMPLIANCE)
        choose_compliance(E, of_edges if few else 0.0)
        switches = len(T.state) if iteration % (2 * JOINT_ITERATIONS) < JOINT_ITERATIONS else 1
        agree, residual = update_states(system, joint_friction, T, tolerance, switches)
        if agree and exact:
            if polished or of_edges <= ROUND_OFF or not few:
                return iteration + 1, residual
            polished = True
    return -1, 0.0


@template(solve_motion, compute_slips, transmit_changes)
def solve_in_turn(system, work, joint_friction, T, h, v, tolerance) -> tuple[int, float]:
    """Solve for friction and loads in turn; after 1, 2, 4, ... sweeps, solve at once from the states so found.

    Return the number of sweeps, or -1 if they do not end, and the largest relative error of a limit.
    """
    start_sweeps(joint_friction, T)
    next_attempt = FIRST_ATTEMPT
    for count in range(1, (MAX_LOOP_SWEEPS if len(T.bodies.loop_of_joint) > 0 else MAX_SWEEPS) + 1):
        agree, residual = sweep(system, work, joint_friction, T, h, v, tolerance)
        if agree:
            return count, residual
        if count == next_attempt:
            next_attempt *= 2
            T.kept[0] = 1
            passes, residual = solve_at_once(system, work, joint_friction, T, h, v, tolerance, JOINT_ITERATIONS)
            if passes > 0:
                return count, residual
    return -1, 0.0
