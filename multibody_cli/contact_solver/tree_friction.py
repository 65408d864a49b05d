"""Dry friction of the joints of a tree in O(n): friction, motion and loads are the solution of one recursion.

A joint with one coordinate of rate v' after the step and one friction patch either *sticks*, v' = 0, or *slides* with
the sign s = 1 or -1.  Its friction impulse x then is the limit, which depends on its own reaction W alone:

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
slides if its friction exceeds its limit; a sliding one sticks if its rate has the wrong sign.  The solution is that of
the rows of `joint_friction`, to which the step returns if the iteration does not end.

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), table 7.1; Sueda, notes 2.11, (2.115)-(2.118).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.joint_friction import (
    distribute_normal_load,
    friction_wrench,
    joint_reaction,
)
from multibody_cli.contact_solver.results import AT_LIMIT
from multibody_cli.kernel import formula, kernel, records
from multibody_cli.linalg.dense_lu import factor_dense, solve_dense, solve_dense_transposed
from multibody_cli.model import Floats, Integers, Records, System
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import dot, no_force, power, shift_force, shift_motion
from multibody_cli.spatial.unsymmetric_inertia import (
    UnsymmetricInertia,
    full,
    minus_outer,
    shifted,
    times,
    transposed,
)
from multibody_cli.spatial.values import Force, Mat3, Motion, Vec3
from multibody_cli.tree.articulated_body import (
    add_column_motion,
    load_motion_change,
    rigid_body_inertia,
    store_motion_change,
)
from multibody_cli.tree.jacobian import accumulate_wrenches_inward, column_of, write_ball_columns

MAX_ITERATIONS = 50
"""Largest number of passes over the tree in a step."""

MIN_PIVOT = 1e-6
"""Smallest D, relative to its value without friction, that counts as positive: below it, the joint jams."""

STICKS = 0

LOADED_INERTIA = np.dtype([("J", "f8", 9), ("H", "f8", 9), ("K", "f8", 9), ("M", "f8", 9), ("t", "f8", 3), ("f", "f8", 3)])
"""Articulated inertia and bias impulse of a body."""

LOADED_COLUMN = np.dtype(
    [
        ("Ut", "f8", 3),  # U = A S
        ("Uf", "f8", 3),
        ("Vt", "f8", 3),  # V = A^T (S - sigma g)
        ("Vf", "f8", 3),
        ("dinv", "f8"),  # 1 / D
        ("u", "f8"),  # sigma g . h F - (S - sigma g) . p; of a sticking joint, its change of rate
    ]
)
"""One eliminated coordinate."""


class TreeFriction(NamedTuple):
    """Work arrays for n bodies, m coordinates and p friction patches."""

    patch: Integers  # (n,) patch of the joint of a body, -1 for none
    base: Integers  # (n,) the first body of the branch from the ground to which a body belongs
    inertias: Records  # (n,)
    columns: Records  # (m,)
    state: Integers  # (p,) sign of the slip, or STICKS
    signs: Floats  # (loads,) signs of the loads
    share: Floats  # (p, 6) g, in the joint frame
    matrix: Floats  # (p, 6, 6) factors of 1 - s mu sum w C^T
    order: Integers  # (p, 6)
    reaction: Floats  # (p, 6) W
    friction: Floats  # (p,) x
    largest_load: Floats  # (n,) largest sum of loads in a branch, by its first body
    vector: Floats  # (6,) scratch


def tree_friction_for(system: System) -> TreeFriction:
    """Allocate the work arrays."""
    tree, table = system.tree, system.contacts.joint_friction
    n, p = len(tree.links), len(table.patches)
    patch, base = np.full(n, -1), np.arange(n)
    for k, one in enumerate(table.patches):
        if one["row"] < n:
            patch[one["row"]] = k
    for i, link in enumerate(tree.links):
        if link["parent"] > 0:
            base[i] = base[link["parent"]]
    return TreeFriction(
        patch=patch,
        base=base,
        inertias=records(np.zeros(n, LOADED_INERTIA)),
        columns=records(np.zeros(len(tree.driven), LOADED_COLUMN)),
        state=np.zeros(p, np.int64),
        signs=np.ones(len(table.loads)),
        share=np.zeros((p, 6)),
        matrix=np.zeros((p, 6, 6)),
        order=np.zeros((p, 6), np.int64),
        reaction=np.zeros((p, 6)),
        friction=np.zeros(p),
        largest_load=np.zeros(n),
        vector=np.zeros(6),
    )


def suits(system: System) -> bool:
    """Return whether the joints of a system are a tree in which all friction is that of single free coordinates."""
    tree, patches = system.tree, system.contacts.joint_friction.patches
    if len(patches) == 0 or system.implicit or len(tree.closures) + len(tree.markers) > 0:
        return False
    joints = tree.links[patches["row"]]
    single = (patches["slip_directions"] == 1) & (joints["nv"] == 1)
    return bool(np.all(system.rows["one_sided"]) and np.all(single) and not np.any(tree.driven[joints["iv"]]))


# --- one pass ---------------------------------------------------------------------------------------------------------
@kernel
def write_load_shares(table, T) -> bool:
    """Compute g of all sliding joints for the present signs; return False if one of the matrices is singular."""
    patches, points, loads, regular = table.patches, table.points, table.loads, True
    for p in range(len(patches)):
        for a in range(6):
            T.share[p, a] = 0.0
        if T.state[p] != STICKS:
            patch, total = patches[p], no_force()
            scale = T.state[p] * patch.coefficient
            matrix = T.matrix[p]
            for a in range(6):
                for b in range(6):
                    matrix[a, b] = 1.0 if a == b else 0.0
            for k in range(patch.first_point, patch.last_point):
                C, point = no_force(), points[k]
                for i in range(point.first_load, point.last_load):
                    C = C + T.signs[i] * load_force(loads[i])
                subtract_outer(matrix, scale * Force(load(point.along_t), load(point.along_f)), C)
                total = total + C
            regular = regular and factor_dense(matrix, T.order[p])
            store_vector(T.vector, -scale * total)
            solve_dense_transposed(matrix, T.order[p], T.vector, T.share[p])
    return regular


@formula
def subtract_outer(matrix, a, b):
    """Subtract a b^T from a matrix (6, 6)."""
    subtract_block(matrix[:3, :3], a.t, b.t)
    subtract_block(matrix[:3, 3:], a.t, b.f)
    subtract_block(matrix[3:, :3], a.f, b.t)
    subtract_block(matrix[3:, 3:], a.f, b.f)


@formula
def subtract_block(block, a, b):
    """Subtract a b^T from a matrix (3, 3)."""
    block[0, 0] -= a.x * b.x
    block[0, 1] -= a.x * b.y
    block[0, 2] -= a.x * b.z
    block[1, 0] -= a.y * b.x
    block[1, 1] -= a.y * b.y
    block[1, 2] -= a.y * b.z
    block[2, 0] -= a.z * b.x
    block[2, 1] -= a.z * b.y
    block[2, 2] -= a.z * b.z


@formula
def store_vector(vector, W):
    """Store a Force in a vector (6,)."""
    vector[0], vector[1], vector[2] = W.t.x, W.t.y, W.t.z
    vector[3], vector[4], vector[5] = W.f.x, W.f.y, W.f.z


@formula
def load_vector(vector):
    """Return the Force in a vector (6,)."""
    return Force(Vec3(vector[0], vector[1], vector[2]), Vec3(vector[3], vector[4], vector[5]))


@formula
def slip_per_rate(patch, body, column):
    """Return sigma, the slip velocity of a patch at unit rate of its joint."""
    R = load(body.R)
    return power(column_of(column), Force(R @ load(patch.along_t), R @ load(patch.along_f)))


@kernel
def eliminate_joints(system, work, joint_friction, T, h, v) -> bool:
    """Inward pass: eliminate every joint; return False if one of them jams."""
    tree, patches, inertias, columns = system.tree, system.contacts.joint_friction.patches, T.inertias, T.columns
    links, bodies = tree.links, work.bodies
    for i in range(1, len(links)):
        A = rigid_body_inertia(links[i], bodies[i])
        H = A.H
        K = Mat3(Vec3(H.x.x, H.y.x, H.z.x), Vec3(H.x.y, H.y.y, H.z.y), Vec3(H.x.z, H.y.z, H.z.z))
        store_inertia(inertias[i], UnsymmetricInertia(full(A.J), H, K, full(A.M)))
        store_force(inertias[i], no_force())
    for i in range(len(links) - 1, 0, -1):
        link, body = links[i], bodies[i]
        A, p = load_inertia(inertias[i]), load_force(inertias[i])
        for j in range(link.iv, link.iv + link.nv):
            if tree.driven[j]:
                continue
            S, column, k = column_of(work.columns[j]), columns[j], T.patch[i]
            U, left, u = times(A, S), S, 0.0
            free = power(S, U) + work.armature[j]
            if k >= 0:
                if T.state[k] == STICKS:
                    column.u = -v[j]
                    p = p + column.u * U
                    continue
                R, g = load(body.R), load_vector(T.share[k])
                slip = slip_per_rate(patches[k], body, work.columns[j])
                left = S - slip * Motion(R @ g.t, R @ g.f)
                F = load_force(joint_friction.reactions[k])
                u = slip * h * (dot(g.t, F.t) + dot(g.f, F.f))
            V, D = transposed(A, left), power(left, U) + work.armature[j]
            if not D > MIN_PIVOT * free:
                return False
            u = u - power(left, p)
            store(column.Vt, V.t)
            store(column.Vf, V.f)
            column.dinv = 1.0 / D
            column.u = u
            A, p = minus_outer(A, column.dinv * U, V), p + (column.dinv * u) * U
        if link.parent > 0:
            r, outer = load(body.r), inertias[link.parent]
            add_inertia(outer, shifted(A, r))
            store_force(outer, load_force(outer) + shift_force(p, r))
    return True


@formula
def load_inertia(record):
    """Return the inertia in a record."""
    return UnsymmetricInertia(load(record.J), load(record.H), load(record.K), load(record.M))


@formula
def store_inertia(record, A):
    """Store an inertia in a record."""
    store(record.J, A.J)
    store(record.H, A.H)
    store(record.K, A.K)
    store(record.M, A.M)


@formula
def add_inertia(record, A):
    """Add an inertia to that in a record."""
    store(record.J, load(record.J) + A.J)
    store(record.H, load(record.H) + A.H)
    store(record.K, load(record.K) + A.K)
    store(record.M, load(record.M) + A.M)


@kernel
def compute_changes(tree, work, T, change):
    """Outward pass: the change of every rate into `change` (nv,), and the change of motion of every body."""
    links, bodies = tree.links, work.bodies
    store_motion_change(bodies[0], Motion(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)))
    for i in range(1, len(links)):
        link, body, k = links[i], bodies[i], T.patch[i]
        dV = shift_motion(load_motion_change(bodies[link.parent]), load(body.r))
        for j in range(link.iv + link.nv - 1, link.iv - 1, -1):
            change[j] = 0.0
            if not tree.driven[j]:
                column = T.columns[j]
                change[j] = column.u
                if k < 0 or T.state[k] != STICKS:
                    change[j] = column.dinv * (column.u - power(dV, Force(load(column.Vt), load(column.Vf))))
                dV = add_column_motion(dV, work.columns[j], change[j])
        store_motion_change(body, dV)


@kernel
def transmit_changes(tree, work):
    """Compute the impulses that all joints transmit, friction included, into `work.wrenches`."""
    links, bodies, wrenches = tree.links, work.bodies, work.wrenches
    store_force(wrenches[0], no_force())
    for i in range(1, len(links)):
        store_force(wrenches[i], rigid_body_inertia(links[i], bodies[i]) @ load_motion_change(bodies[i]))
    accumulate_wrenches_inward(tree, work)


# --- friction and loads -----------------------------------------------------------------------------------------------
@kernel
def compute_friction(system, work, joint_friction, T, h):
    """Compute friction, loads and limits of all joints from the impulses that they transmit."""
    table, links = system.contacts.joint_friction, system.tree.links
    for i in range(len(links)):
        T.largest_load[i] = 0.0
    for p in range(len(table.patches)):
        patch = table.patches[p]
        i = patch.row
        j = links[i].iv
        carried = h * load_force(joint_friction.reactions[p]) + joint_reaction(patch, work)
        if T.state[p] == STICKS:
            torque = power(column_of(work.columns[j]), load_force(work.wrenches[i])) + work.armature[j] * work.response[j]
            T.friction[p] = torque / slip_per_rate(patch, work.bodies[i], work.columns[j])
            W = carried - friction_wrench(patch, T.friction[p], 0.0, table.points, joint_friction.normal_loads)
            store_vector(T.reaction[p], W)
        else:
            g = load_vector(T.share[p])
            T.friction[p] = dot(g.t, carried.t) + dot(g.f, carried.f)
            store_vector(T.vector, carried)
            solve_dense(T.matrix[p], T.order[p], T.vector, T.reaction[p])
            W = load_vector(T.reaction[p])
        load_sum = distribute_normal_load(patch, W, table, joint_friction.normal_loads)
        joint_friction.limit[p] = patch.coefficient * load_sum
        T.largest_load[T.base[i]] = max(T.largest_load[T.base[i]], load_sum)


@kernel
def update_states(system, work, joint_friction, T, v, tolerance) -> tuple[bool, float]:
    """Update states and signs; return whether friction, loads and states agree, and the largest error of a limit."""
    table, links, agree, residual = system.contacts.joint_friction, system.tree.links, True, 0.0
    for p in range(len(table.patches)):
        patch = table.patches[p]
        j, scale = links[patch.row].iv, patch.coefficient * T.largest_load[T.base[patch.row]]
        friction, limit, s = T.friction[p], joint_friction.limit[p], T.state[p]
        excess = abs(friction) - limit
        if s == STICKS:
            if excess > tolerance * scale:
                T.state[p] = -1 if friction > 0.0 else 1
                agree = False
        else:
            slip = slip_per_rate(patch, work.bodies[patch.row], work.columns[j])
            error = abs(friction + s * limit)
            if error > tolerance * scale:
                agree = False
            elif scale > 0.0:
                residual = max(residual, error / scale)
            if s * slip * (v[j] + work.response[j]) < 0.0:
                T.state[p] = STICKS
                agree = False
        W = load_vector(T.reaction[p])
        for k in range(patch.first_point, patch.last_point):
            for i in range(table.points[k].first_load, table.points[k].last_load):
                c = load_force(table.loads[i])
                T.signs[i] = 1.0 if dot(c.t, W.t) + dot(c.f, W.f) >= 0.0 else -1.0
    return agree, residual


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
    joint_friction, T, table = contact_work.joint_friction, contact_work.tree_friction, system.contacts.joint_friction
    write_ball_columns(system.tree, work)
    guess_states(joint_friction, T)
    for iteration in range(MAX_ITERATIONS):
        if not (write_load_shares(table, T) and eliminate_joints(system, work, joint_friction, T, h, v)):
            return False
        compute_changes(system.tree, work, T, work.response)
        transmit_changes(system.tree, work)
        compute_friction(system, work, joint_friction, T, h)
        agree, residual = update_states(system, work, joint_friction, T, v, tolerance)
        if agree:
            for p in range(len(T.state)):
                k = PER_CONTACT * p
                contact_work.x[k] = joint_friction.limit[p]
                contact_work.x[k + 1] = T.friction[p]
                contact_work.x[k + 2] = 0.0
            contact_work.newton_steps[0] = max(contact_work.newton_steps[0], iteration + 1)
            contact_work.max_residual[0] = max(contact_work.max_residual[0], residual)
            return True
        if not residual < math.inf:
            return False
    return False


@kernel
def no_tree_friction(system, work, contact_work, h, v, tolerance):
    """Replace `solve_tree_friction` in systems that it does not suit."""
    return False
