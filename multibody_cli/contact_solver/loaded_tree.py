"""One pass over a tree whose sliding joints have friction in proportion to their loads (`tree_friction`), in O(n).

shares    g of each sliding joint, from the signs of its loads
inward    elimination of the joints, with unsymmetric articulated inertias
outward   changes of the rates, and of the motion of the bodies
inward    impulses that the joints transmit (Newton and Euler)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.contact_solver.joint_friction import distribute_normal_load, joint_reaction
from multibody_cli.contact_solver.rows import patch_axes
from multibody_cli.kernel import formula, kernel, records
from multibody_cli.linalg.dense_lu import factor_dense, solve_dense_transposed
from multibody_cli.model import Floats, Integers, Records, System
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import ZERO, dot, no_force, power, shift_force, shift_motion
from multibody_cli.spatial.products import transposed as transposed_matrix
from multibody_cli.spatial.unsymmetric_inertia import (
    UnsymmetricInertia,
    full,
    minus_outer,
    shifted,
    times,
    transposed,
)
from multibody_cli.spatial.values import Force, Motion, Vec3
from multibody_cli.tree.articulated_body import (
    add_column_motion,
    load_motion_change,
    rigid_body_inertia,
    store_motion_change,
)
from multibody_cli.tree.jacobian import accumulate_wrenches_inward, column_of

MIN_PIVOT = 1e-6
"""Smallest D of a sliding joint, relative to its value without friction, that counts as positive: below it, it jams."""

STICKS = 0

JAMS, JAMMED = 1, 2
"""A joint jams in this pass, or has jammed in an earlier pass of this solution and has not stuck since."""

LOADED_INERTIA = np.dtype(
    [("J", "f8", 9), ("H", "f8", 9), ("K", "f8", 9), ("M", "f8", 9), ("t", "f8", 3), ("f", "f8", 3)]
)
"""Articulated inertia and bias impulse of a body."""

LOADED_COLUMN = np.dtype(
    [
        ("Vt", "f8", 3),  # V = A^T (S - sigma g)
        ("Vf", "f8", 3),
        ("dinv", "f8"),  # 1 / D
        ("u", "f8"),  # sigma g . h F - (S - sigma g) . p; of a sticking joint, its change of rate
    ]
)
"""One eliminated coordinate."""


class TreeFriction(NamedTuple):
    """Work arrays for n bodies, m coordinates and p friction patches."""

    patch: Integers  # (m,) patch whose slip velocity is in proportion to the rate of a coordinate, -1 for none
    coordinate: Integers  # (p,) that coordinate
    base: Integers  # (n,) the first body of the branch from the ground to which a body belongs
    inertias: Records  # (n,)
    columns: Records  # (m,)
    state: Integers  # (p,) sign of the slip, or STICKS
    jams: Integers  # (p,) JAMS or JAMMED if D of a joint that slides is or was not positive, else 0
    signs: Floats  # (loads,) signs of the loads
    share: Floats  # (p, 6) g, in the joint frame
    matrix: Floats  # (p, 6, 6) factors of 1 - s mu sum w C^T
    order: Integers  # (p, 6)
    reaction: Floats  # (p, 6) W
    friction: Floats  # (p,) x
    applied: Floats  # (p,) part of x that does not depend on the loads
    limit: Floats  # (p,) given limits (`staggered_tree_friction`, as all that follow)
    slip: Floats  # (p,) slip velocities after the step
    free_slip: Floats  # (p,) the same without friction
    start: Floats  # (p,) x before a Newton step
    gradient: Floats  # (p,) slip velocities before it
    target: Floats  # (p,) x after it, without limits
    normal_load: Floats  # (points,) normal loads of the last sweep
    largest_load: Floats  # (n,) largest sum of loads in a branch, by its first body
    vector: Floats  # (6,) scratch


def coordinates_of_patches(system: System) -> Integers:
    """Return the coordinate of each friction patch (p,), where a joint has as many of them; 0 for loop joints."""
    tree, patches = system.tree, system.contacts.joint_friction.patches
    of_joint = np.arange(len(patches)) - patches["first_patch"]
    rows = np.where(patches["row"] < len(tree.links), patches["row"], 0)
    return np.where(patches["row"] < len(tree.links), tree.links["iv"][rows] + of_joint, 0)


def tree_friction_for(system: System) -> TreeFriction:
    """Allocate the work arrays."""
    tree, table = system.tree, system.contacts.joint_friction
    n, p = len(tree.links), len(table.patches)
    patch, base, coordinate = np.full(len(tree.driven), -1), np.arange(n), coordinates_of_patches(system)
    patch[coordinate] = np.arange(p)
    for i, link in enumerate(tree.links):
        if link["parent"] > 0:
            base[i] = base[link["parent"]]
    return TreeFriction(
        patch=patch,
        coordinate=coordinate,
        base=base,
        inertias=records(np.zeros(n, LOADED_INERTIA)),
        columns=records(np.zeros(len(tree.driven), LOADED_COLUMN)),
        state=np.zeros(p, np.int64),
        jams=np.zeros(p, np.int64),
        signs=np.ones(len(table.loads)),
        share=np.zeros((p, 6)),
        matrix=np.zeros((p, 6, 6)),
        order=np.zeros((p, 6), np.int64),
        reaction=np.zeros((p, 6)),
        friction=np.zeros(p),
        applied=np.zeros(p),
        limit=np.zeros(p),
        slip=np.zeros(p),
        free_slip=np.zeros(p),
        start=np.zeros(p),
        gradient=np.zeros(p),
        target=np.zeros(p),
        normal_load=np.zeros(len(table.points)),
        largest_load=np.zeros(n),
        vector=np.zeros(6),
    )


@kernel
def write_load_shares(table, T) -> bool:
    """Compute g of all sliding joints for the present signs; return False if a matrix is singular."""
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
def slip_per_rate(patch, bodies, column):
    """Return sigma, the slip velocity of a patch at unit rate of its joint."""
    R = patch_axes(patch, bodies)
    return power(column_of(column), Force(R @ load(patch.along_t), R @ load(patch.along_f)))


@kernel
def eliminate_joints(system, work, joint_friction, T, h, v) -> bool:
    """Inward pass: eliminate every joint; return False if a coordinate without friction has no positive D."""
    tree, patches, inertias, columns = system.tree, system.contacts.joint_friction.patches, T.inertias, T.columns
    links, bodies = tree.links, work.bodies
    for i in range(1, len(links)):
        A = rigid_body_inertia(links[i], bodies[i])
        store_inertia(inertias[i], UnsymmetricInertia(full(A.J), A.H, transposed_matrix(A.H), full(A.M)))
        store_force(inertias[i], no_force())
    for i in range(len(links) - 1, 0, -1):
        link, body = links[i], bodies[i]
        A, p = load_inertia(inertias[i]), load_force(inertias[i])
        for j in range(link.iv, link.iv + link.nv):
            if tree.driven[j]:
                continue
            S, column, k = column_of(work.columns[j]), columns[j], T.patch[j]
            U, left, u = times(A, S), S, 0.0
            free = D = power(S, U) + work.armature[j]
            if k >= 0 and T.state[k] != STICKS:
                R, g, F = (
                    patch_axes(patches[k], bodies),
                    load_vector(T.share[k]),
                    load_force(joint_friction.reactions[k]),
                )
                sigma = slip_per_rate(patches[k], bodies, work.columns[j])
                left = S - sigma * Motion(R @ g.t, R @ g.f)
                u = sigma * (h * (dot(g.t, F.t) + dot(g.f, F.f)) + T.applied[k])
                D = power(left, U) + work.armature[j]
                if MIN_PIVOT * abs(free) < D:
                    if T.jams[k] == JAMS:
                        T.jams[k] = JAMMED
                else:
                    left, u, D = S, 0.0, free
                    jam(k, T)
            if k >= 0 and T.state[k] == STICKS:
                column.u = -v[j] - joint_friction.slip_changes[k, 0] / slip_per_rate(
                    patches[k], bodies, work.columns[j]
                )
                p = p + column.u * U
                continue
            if not D > 0.0:
                return False
            u = u - power(left, p)
            V = transposed(A, left)
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


@kernel
def jam(k, T):
    """Let a joint that jams slide without friction in this pass; let it stick if it jams in a later pass again.

    Its friction less its limit is a concave function of the friction.  Where the joint does not stick, that function
    has a zero, and Newton's method finds it from below, with the signs of the loads without friction.
    """
    if T.jams[k]:
        T.state[k], T.jams[k] = STICKS, 0
    else:
        T.jams[k] = JAMS
        store_vector(T.share[k], no_force())


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
    store_motion_change(bodies[0], Motion(ZERO, ZERO))
    for i in range(1, len(links)):
        link, body = links[i], bodies[i]
        dV = shift_motion(load_motion_change(bodies[link.parent]), load(body.r))
        for j in range(link.iv + link.nv - 1, link.iv - 1, -1):
            change[j] = 0.0
            if not tree.driven[j]:
                column, k = T.columns[j], T.patch[j]
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


# --- friction and limits from these impulses --------------------------------------------------------------------------
@formula
def holding_friction(patch, j, work):
    """Return the friction of a patch that sticks."""
    torque = power(column_of(work.columns[j]), load_force(work.wrenches[patch.row]))
    return (torque + work.armature[j] * work.response[j]) / slip_per_rate(patch, work.bodies, work.columns[j])


@formula
def transmitted_impulse(p, patch, work, joint_friction, h):
    """Return the impulse h F + G that the joint of patch p transmits, and keep it."""
    carried = h * load_force(joint_friction.reactions[p]) + joint_reaction(patch, work)
    store_force(joint_friction.transmitted[p], carried)
    return carried


@kernel
def clear_loads(T):
    """Clear the largest load of each branch."""
    for i in range(len(T.largest_load)):
        T.largest_load[i] = 0.0


@formula
def compute_limit(p, patch, W, table, joint_friction, T):
    """Compute the limit of patch p due to the reaction W, and the largest load of its branch."""
    load_sum = distribute_normal_load(patch, W, table, joint_friction.normal_loads)
    joint_friction.limit[p] = patch.coefficient * load_sum
    base = T.base[patch.row]
    T.largest_load[base] = max(T.largest_load[base], load_sum)
