"""Elimination of a joint whose patches slip in one direction, column by column, with unsymmetric articulated inertias.

With S a column of the joint, sigma the slip velocity of its patch at unit rate, and g the share of the load that is
friction (`friction_limits`), S . W + armature dv = sigma x is (S - sigma g) . W + armature dv = sigma g . h F.  This is
the elimination of one coordinate (`tree.articulated_body`) with S - sigma g in place of S on the left:

    U = A S,   V = A^T (S - sigma g),   D = (S - sigma g) . U + armature,   A' = A - U V^T / D.

A sticking joint passes A on as it is, with the impulse A S dv of its given change of rate dv = -v.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), table 7.1.
"""

from __future__ import annotations

from multibody_cli.contact_solver.friction_limits import slip_per_rate
from multibody_cli.contact_solver.open_loops import pass_column, pass_given_rate
from multibody_cli.contact_solver.rows import patch_axes
from multibody_cli.contact_solver.tree_friction_workspace import (
    STICKS,
    determines_rate,
    jam,
    jams_with,
    load_inertia,
    load_vector,
    store_inertia,
)
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import dot, power, shift_motion
from multibody_cli.spatial.unsymmetric_inertia import minus_outer, times, transposed
from multibody_cli.spatial.values import Force, Motion
from multibody_cli.tree.articulated_body import add_column_motion, load_motion_change, store_motion_change
from multibody_cli.tree.jacobian import column_of


@kernel
def eliminate_columns(system, work, joint_friction, passes, h, v, i) -> bool:
    """Eliminate the joint of body i from its inertia and bias impulse, in place; return False if one has D = 0."""
    tree, patches, plan = system.tree, system.contacts.joint_friction.patches, passes.bodies
    node, link, bodies, armature, record = (
        plan.nodes[i],
        plan.links[i],
        work.bodies,
        passes.edges.armature,
        passes.inertias[i],
    )
    A, p, passed = load_inertia(record), load_force(record), link.last_open > link.first_slot
    for j in range(node.iv, node.iv + node.nv):
        if tree.driven[j]:
            continue
        S, column, k = column_of(work.columns[j]), passes.columns[j], passes.patch[j]
        U, left, u = times(A, S), S, 0.0
        free = D = power(S, U) + armature[j]
        if k >= 0 and passes.state[k] != STICKS:
            R, g, F = (
                patch_axes(patches[k], bodies),
                load_vector(passes.share[k]),
                load_force(joint_friction.reactions[k]),
            )
            sigma = slip_per_rate(patches[k], bodies, work.columns[j])
            left = S - sigma * Motion(R @ g.t, R @ g.f)
            u = sigma * (h * (dot(g.t, F.t) + dot(g.f, F.f)) + passes.applied[k, 0])
            D = power(left, U) + armature[j]
            if jams_with(D, free, passes):
                left, u, D = S, 0.0, free
                jam(k, passes)
        if k >= 0 and determines_rate(k, passes):
            sigma = slip_per_rate(patches[k], bodies, work.columns[j])
            column.u = -v[j] - joint_friction.slip_changes[k, 0] / sigma
            p = p + column.u * U
            if passed:
                pass_given_rate(plan, link, S, column.u)
            continue
        if not abs(D) > 0.0:
            return False
        u = u + passes.edges.impulse[j] - power(left, p)
        V = transposed(A, left)
        store(column.Vt, V.t)
        store(column.Vf, V.f)
        column.dinv, column.u = 1.0 / D, u
        if passed:
            pass_column(plan, link, j - node.iv, S, left, U, V, column.dinv, u)
        A, p = minus_outer(A, column.dinv * U, V), p + (column.dinv * u) * U
    store_inertia(record, A)
    store_force(record, p)
    return True


@kernel
def move_columns(system, work, passes, i, change):
    """Compute the changes of the rates of the joint of body i, and that of its motion, from that of its parent."""
    plan, body, driven = passes.bodies, work.bodies[i], system.tree.driven
    node, link = plan.nodes[i], plan.links[i]
    dV = shift_motion(load_motion_change(work.bodies[node.parent]), load(body.r))
    for j in range(node.iv + node.nv - 1, node.iv - 1, -1):
        change[j] = 0.0
        if not driven[j]:
            column, k = passes.columns[j], passes.patch[j]
            change[j] = column.u
            if k < 0 or not determines_rate(k, passes):
                u = column.u - power(dV, Force(load(column.Vt), load(column.Vf)))
                for s in range(link.first_slot, link.last_open):
                    for e in range(plan.slots[s].unknowns):
                        u -= plan.Z[s, j - node.iv, e] * plan.wrench[plan.slots[s].loop, e]
                change[j] = column.dinv * u
            dV = add_column_motion(dV, work.columns[j], change[j])
    store_motion_change(body, dV)
