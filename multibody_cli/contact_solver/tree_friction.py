"""Dry friction of the joints of a tree in O(n): friction, motion and loads are the solution of one recursion.

A friction patch that slips with one coordinate alone, of rate v' after the step, either *sticks*, v' = 0, or *slides*
with the sign s = 1 or -1.  Both hinges of a cross are such patches, as their axes are perpendicular.  The friction
impulse x of a sliding patch is the limit, which depends on the reaction W of its joint alone:

    x = -s limit,   limit = mu sum_k a_k,   a_k = sum_i |c_i . W|,   W = h F + G - friction at the points.

Points share the friction in proportion to their loads a_k, so that the friction at the points is -s mu sum_k a_k w_k
for their unit friction wrenches w_k.  With the signs of c_i . W, a_k = C_k . W is linear, and so is x in the wrench
h F + G that the joint transmits:

    (1 - s mu sum_k w_k C_k^T) W = h F + G,    x = -s mu (sum_k C_k) . W = g . (h F + G).

With S the column of the joint and sigma its slip velocity at unit rate, S . G + armature dv = sigma x is
(S - sigma g) . G + armature dv = sigma g . h F.  This is the elimination of one coordinate (`tree.articulated_body`)
with S - sigma g in place of S on the left, so that articulated inertias are not symmetric:

    U = A S,   V = A^T (S - sigma g),   D = (S - sigma g) . U + armature,   A' = A - U V^T / D.

A sticking joint passes A on as it is, with the impulse A S dv of its given change of rate dv = -v.

One pass is Newton's step for the states and signs of the last one; it is exact if they do not change.  A sticking joint
slides if its friction exceeds its limit; a sliding one sticks if its rate has the wrong sign.  D is positive unless
friction increases with the slip by more than the slip requires: the joint jams.

The conditions are those of the rows of `joint_friction`.  Where the iteration does not end, as with several joints that
jam, friction and loads are computed in turn (`staggered_tree_friction`).  The states become those of the solution long
before the loads converge, so that Newton's method starts from them now and then.  Where neither ends, the step solves
the rows.

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), table 7.1; Sueda, notes 2.11, (2.115)-(2.118).
"""

from __future__ import annotations

import numpy as np

from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.joint_friction import friction_wrench
from multibody_cli.contact_solver.loaded_tree import (
    JAMS,
    STICKS,
    clear_loads,
    compute_changes,
    compute_limit,
    coordinates_of_patches,
    eliminate_joints,
    holding_friction,
    load_vector,
    slip_per_rate,
    store_vector,
    transmit_changes,
    transmitted_impulse,
    write_load_shares,
)
from multibody_cli.contact_solver.results import AT_LIMIT
from multibody_cli.contact_solver.staggered_tree_friction import start_sweeps, sweep
from multibody_cli.kernel import kernel
from multibody_cli.linalg.dense_lu import solve_dense
from multibody_cli.model import System
from multibody_cli.spatial.memory import load_force
from multibody_cli.spatial.products import dot
from multibody_cli.tree.jacobian import write_ball_columns

MAX_ITERATIONS = 30
"""Largest number of passes over the tree in a step."""

MAX_SWEEPS, FIRST_ATTEMPT = 256, 4
"""Largest number of sweeps in a step, and that after which their states are tried first."""

JOINT_ITERATIONS = 10
"""Passes after which all states that disagree change at once; from then on one at a time, against cycles."""


def suits(system: System) -> bool:
    """Return whether the joints are a tree in which each friction patch slips with one free coordinate alone."""
    tree, patches = system.tree, system.contacts.joint_friction.patches
    if len(patches) == 0 or system.implicit or len(tree.closures) + len(tree.markers) > 0:
        return False
    joints = tree.links[patches["row"]]
    single = (patches["slip_directions"] == 1) & (joints["nv"] == patches["last_patch"] - patches["first_patch"])
    if not (np.all(system.rows["one_sided"]) and np.all(single)):
        return False
    return not np.any(tree.driven[coordinates_of_patches(system)])


# --- friction and loads -----------------------------------------------------------------------------------------------
@kernel
def compute_friction(system, work, joint_friction, T, h):
    """Compute friction, loads and limits of all joints from the impulses that they transmit."""
    table = system.contacts.joint_friction
    clear_loads(T)
    for p in range(len(table.patches)):
        patch = table.patches[p]
        carried = transmitted_impulse(p, patch, work, joint_friction, h)
        if T.state[p] == STICKS:
            T.friction[p] = holding_friction(patch, T.coordinate[p], work)
            W = carried - friction_wrench(patch, T.friction[p], 0.0, table.points, joint_friction.normal_loads)
            store_vector(T.reaction[p], W)
        else:
            g = load_vector(T.share[p])
            T.friction[p] = dot(g.t, carried.t) + dot(g.f, carried.f)
            store_vector(T.reaction[p], carried)
            if T.jams[p] != JAMS:
                store_vector(T.vector, carried)
                solve_dense(T.matrix[p], T.order[p], T.vector, T.reaction[p])
            W = load_vector(T.reaction[p])
        compute_limit(p, patch, W, table, joint_friction, T)


@kernel
def update_states(system, work, joint_friction, T, v, tolerance, switches) -> tuple[bool, float]:
    """Update the signs of the loads and up to `switches` states that disagree with the motion or the friction.

    Return whether all friction, limits and states agree, and the largest relative error of a limit.
    """
    table, agree, residual = system.contacts.joint_friction, True, 0.0
    for p in range(len(table.patches)):
        patch = table.patches[p]
        j, scale = T.coordinate[p], patch.coefficient * T.largest_load[T.base[patch.row]]
        friction, limit, s = T.friction[p], joint_friction.limit[p], T.state[p]
        excess = abs(friction) - limit
        if s == STICKS:
            if excess > tolerance * scale:
                if switches > 0:
                    T.state[p] = -1 if friction > 0.0 else 1
                switches -= 1
                agree = False
        else:
            slip = slip_per_rate(patch, work.bodies, work.columns[j])
            error = abs(friction + s * limit)
            if error > tolerance * scale:
                agree = False
            elif scale > 0.0:
                residual = max(residual, error / scale)
            if s * (slip * (v[j] + work.response[j]) + joint_friction.slip_changes[p, 0]) < 0.0:
                if switches > 0:
                    T.state[p] = STICKS
                switches -= 1
                agree = False
    update_signs(table, T)
    return agree, residual


@kernel
def update_signs(table, T):
    """Update the signs of all loads from the reactions W."""
    for p in range(len(table.patches)):
        patch, W = table.patches[p], load_vector(T.reaction[p])
        for k in range(patch.first_point, patch.last_point):
            for i in range(table.points[k].first_load, table.points[k].last_load):
                c = load_force(table.loads[i])
                T.signs[i] = 1.0 if dot(c.t, W.t) + dot(c.f, W.f) >= 0.0 else -1.0


# --- step -------------------------------------------------------------------------------------------------------------
@kernel
def guess_states(joint_friction, T):
    """Guess the states from the friction of the previous step."""
    for p in range(len(T.state)):
        limit, friction = joint_friction.previous_impulses[p, 0], joint_friction.previous_impulses[p, 1]
        T.state[p] = STICKS
        if abs(friction) >= (1.0 - AT_LIMIT) * limit:
            T.state[p] = -1 if friction > 0.0 else 1


@kernel
def solve_tree_friction(system, work, contact_work, h, v, tolerance) -> bool:
    """Solve for the friction impulses x and the change `work.response` (nv,) of v (nv,).

    Return False if the iteration does not end.
    """
    joint_friction, T = contact_work.joint_friction, contact_work.tree_friction
    write_ball_columns(system.tree, work)
    guess_states(joint_friction, T)
    passes, residual = solve_at_once(system, work, joint_friction, T, h, v, tolerance, MAX_ITERATIONS)
    if passes < 0:
        passes, residual = solve_in_turn(system, work, joint_friction, T, h, v, tolerance)
    if passes < 0:
        return False
    for p in range(len(T.state)):
        k = PER_CONTACT * p
        contact_work.x[k] = joint_friction.limit[p]
        contact_work.x[k + 1] = T.friction[p]
        contact_work.x[k + 2] = 0.0
    contact_work.newton_steps[0] = max(contact_work.newton_steps[0], passes)
    contact_work.max_residual[0] = max(contact_work.max_residual[0], residual)
    return True


@kernel
def solve_at_once(system, work, joint_friction, T, h, v, tolerance, most) -> tuple[int, float]:
    """Solve for friction, loads and motion by Newton's method from the present states and signs.

    Return the number of passes, or -1 if more than `most` are needed, and the largest relative error of a limit.
    """
    table = system.contacts.joint_friction
    for p in range(len(T.state)):
        T.jams[p] = 0
        T.applied[p] = 0.0
    for iteration in range(most):
        if not (write_load_shares(table, T) and eliminate_joints(system, work, joint_friction, T, h, v)):
            return -1, 0.0
        compute_changes(system.tree, work, T, work.response)
        transmit_changes(system.tree, work)
        compute_friction(system, work, joint_friction, T, h)
        switches = len(T.state) if iteration < JOINT_ITERATIONS else 1
        agree, residual = update_states(system, work, joint_friction, T, v, tolerance, switches)
        if agree:
            return iteration + 1, residual
    return -1, 0.0


@kernel
def solve_in_turn(system, work, joint_friction, T, h, v, tolerance) -> tuple[int, float]:
    """Solve for friction and loads in turn; after 4, 8, 16, ... sweeps, solve at once from the states so found.

    Return the number of passes so far and of sweeps, or -1 if they do not end, and the largest relative error of a
    limit.
    """
    start_sweeps(joint_friction, T)
    next_attempt = FIRST_ATTEMPT
    for count in range(1, MAX_SWEEPS + 1):
        agree, residual = sweep(system, work, joint_friction, T, h, v, tolerance)
        if agree:
            return MAX_ITERATIONS + count, residual
        if count == next_attempt:
            next_attempt *= 2
            update_signs(system.contacts.joint_friction, T)
            passes, residual = solve_at_once(system, work, joint_friction, T, h, v, tolerance, JOINT_ITERATIONS)
            if passes > 0:
                return MAX_ITERATIONS + count, residual
    return -1, 0.0


@kernel
def no_tree_friction(system, work, contact_work, h, v, tolerance):
    """Replace `solve_tree_friction` in systems that it does not suit."""
    return False
