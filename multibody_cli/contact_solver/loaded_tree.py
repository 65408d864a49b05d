"""One pass over a tree whose sliding joints have friction in proportion to their loads (`tree_friction`), in O(n).

shares    g of each sliding joint, from the signs of its loads
inward    elimination of the joints, with unsymmetric articulated inertias
outward   changes of the rates, and of the motion of the bodies
inward    impulses that the joints transmit (Newton and Euler)

Joints whose patches slip in one direction are eliminated here, coordinate by coordinate; others in `loaded_discs`.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.contact_solver.edges import apply_edge_impulses
from multibody_cli.contact_solver.joint_friction import joint_reaction
from multibody_cli.contact_solver.loaded_discs import (
    balance_discs,
    compute_disc_slips,
    eliminate_discs,
)
from multibody_cli.contact_solver.parameters import add_implicit_impulses
from multibody_cli.contact_solver.rows import patch_axes
from multibody_cli.contact_solver.tree_friction_workspace import (
    JAMMED,
    JAMS,
    STICKS,
    determines_rate,
    jam,
    jams_with,
    load_inertia,
    load_vector,
    store_own_inertia,
    store_vector,
)
from multibody_cli.kernel import formula, kernel, template
from multibody_cli.linalg.dense_lu import factor_scaled, solve_dense_transposed
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import ZERO, dot, no_force, power, shift_force, shift_motion
from multibody_cli.spatial.unsymmetric_inertia import (
    minus_outer,
    shifted,
    times,
    transposed,
)
from multibody_cli.spatial.values import Force, Motion
from multibody_cli.tree.articulated_body import (
    add_column_motion,
    load_motion_change,
    rigid_body_inertia,
    store_motion_change,
)
from multibody_cli.tree.jacobian import accumulate_wrenches_inward, column_of


@kernel
def write_load_shares(table, joint_friction, T) -> bool:
    """Compute g of all sliding joints for the present signs; return False if a matrix is singular.

    That of a patch with one slip direction is kept until its state, its coefficient or a sign changes.
    """
    patches, points, loads, regular = table.patches, table.points, table.loads, True
    for p in range(len(patches)):
        if T.jams[p] == JAMS:
            T.jams[p] = JAMMED
        if T.state[p] != STICKS and (T.shared[p] != T.state[p] or patches[p].slip_directions == 2):
            patch, total = patches[p], no_force()
            scale = T.state[p] * joint_friction.coefficient[p]
            matrix = T.matrix[p]
            for a in range(6):
                for b in range(6):
                    matrix[a, b] = 1.0 if a == b else 0.0
            for k in range(patch.first_point, patch.last_point):
                C, point = no_force(), points[k]
                for i in range(point.first_load, point.last_load):
                    C = C + T.signs[i] * load_force(loads[i])
                subtract_outer(matrix, scale * unit_friction(point, T.direction[p, 0], T.direction[p, 1]), C)
                total = total + C
            T.shared[p] = T.state[p]
            if not factor_scaled(matrix, T.order[p], T.bodies.sizes, T.bodies.scales):
                T.shared[p], regular = STICKS, False
            store_vector(T.vector, -scale * total)
            solve_dense_transposed(matrix, T.order[p], T.vector, T.share[p])
    return regular


@formula
def unit_friction(record, n, m):
    """Return the wrench of a unit friction along (n, m) of a patch or a point, in the axes of the patch."""
    along, across = (
        Force(load(record.along_t), load(record.along_f)),
        Force(load(record.across_t), load(record.across_f)),
    )
    return n * along + m * across


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
def slip_per_rate(patch, bodies, column):
    """Return sigma, the slip velocity of a patch at unit rate of its joint."""
    R = patch_axes(patch, bodies)
    return power(column_of(column), Force(R @ load(patch.along_t), R @ load(patch.along_f)))


@kernel
def eliminate_joints(system, work, joint_friction, T, h, v) -> bool:
    """Inward pass: eliminate every joint; return False if one has D = 0."""
    tree, patches, inertias, columns = system.tree, system.contacts.joint_friction.patches, T.inertias, T.columns
    links, bodies, armature = tree.links, work.bodies, T.edges.armature
    for i in range(1, len(links)):
        store_own_inertia(inertias[i], rigid_body_inertia(links[i], bodies[i]), T, i)
    for i in range(len(links) - 1, 0, -1):
        link, body = links[i], bodies[i]
        coordinates = link.nv
        if T.discs[i] >= 0:
            coordinates = 0
            if not eliminate_discs(system, work, joint_friction, T, h, v, i):
                return False
        A, p = load_inertia(inertias[i]), load_force(inertias[i])
        for j in range(link.iv, link.iv + coordinates):
            if tree.driven[j]:
                continue
            S, column, k = column_of(work.columns[j]), columns[j], T.patch[j]
            U, left, u = times(A, S), S, 0.0
            free = D = power(S, U) + armature[j]
            if k >= 0 and T.state[k] != STICKS:
                R, g, F = (
                    patch_axes(patches[k], bodies),
                    load_vector(T.share[k]),
                    load_force(joint_friction.reactions[k]),
                )
                sigma = slip_per_rate(patches[k], bodies, work.columns[j])
                left = S - sigma * Motion(R @ g.t, R @ g.f)
                u = sigma * (h * (dot(g.t, F.t) + dot(g.f, F.f)) + T.applied[k, 0])
                D = power(left, U) + armature[j]
                if jams_with(D, free, T):
                    left, u, D = S, 0.0, free
                    jam(k, T)
            if k >= 0 and determines_rate(k, T):
                column.u = -v[j] - joint_friction.slip_changes[k, 0] / slip_per_rate(
                    patches[k], bodies, work.columns[j]
                )
                p = p + column.u * U
                continue
            if not abs(D) > 0.0:
                return False
            u = u + T.edges.impulse[j] - power(left, p)
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
        of_parent = dV
        for j in range(link.iv + link.nv - 1, link.iv - 1, -1):
            change[j] = 0.0
            if not tree.driven[j]:
                column, k = T.columns[j], T.patch[j]
                change[j] = column.u
                if T.discs[i] >= 0:
                    change[j] = column.u - power(of_parent, Force(load(column.Vt), load(column.Vf)))
                elif k < 0 or not determines_rate(k, T):
                    change[j] = column.dinv * (column.u - power(dV, Force(load(column.Vt), load(column.Vf))))
                dV = add_column_motion(dV, work.columns[j], change[j])
        store_motion_change(body, dV)


@template(add_implicit_impulses)
def transmit_tree_changes(system, work, T):
    """`contact_solver.parameters.transmit_changes` in joint coordinates."""
    links, bodies, wrenches = system.tree.links, work.bodies, work.wrenches
    clear_impulses(work)
    add_implicit_impulses(system, work)
    apply_edge_impulses(T.edges, wrenches)
    for i in range(1, len(links)):
        W = rigid_body_inertia(links[i], bodies[i]) @ load_motion_change(bodies[i])
        store_force(wrenches[i], W - load_force(wrenches[i]))
    accumulate_wrenches_inward(system.tree, work)


@kernel
def solve_tree_motion(system, work, joint_friction, T, h, v) -> bool:
    """`contact_solver.parameters.solve_motion` without implicit forces on bodies."""
    if not eliminate_joints(system, work, joint_friction, T, h, v):
        return False
    compute_changes(system.tree, work, T, work.response)
    return True


# --- slip, friction and limits from these -----------------------------------------------------------------------------
@kernel
def compute_tree_slips(system, work, joint_friction, T, v):
    """`contact_solver.parameters.compute_slips` in joint coordinates."""
    patches = system.contacts.joint_friction.patches
    for p in range(len(patches)):
        patch, j = patches[p], T.coordinate[p]
        if patch.slip_directions == 1:
            rate = v[j] + work.response[j]
            T.slip[p, 0] = slip_per_rate(patch, work.bodies, work.columns[j]) * rate + joint_friction.slip_changes[p, 0]
        elif p == patch.first_patch:
            compute_disc_slips(patches, p, T.joints[p], work, joint_friction, T, v)


@kernel
def compute_friction(system, work, joint_friction, T, h):
    """Compute the friction x of all patches from the impulses that the joints transmit."""
    patches = system.contacts.joint_friction.patches
    for p in range(len(patches)):
        patch, j = patches[p], T.coordinate[p]
        carried = h * load_force(joint_friction.reactions[p]) + joint_reaction(patch, work)
        store_force(joint_friction.transmitted[p], carried)
        if patch.slip_directions == 2:
            if p == patch.first_patch:
                balance_discs(patches, p, T.joints[p], work, joint_friction, T, h)
        elif T.state[p] == STICKS:
            torque = power(column_of(work.columns[j]), load_force(work.wrenches[patch.row]))
            slip = slip_per_rate(patch, work.bodies, work.columns[j])
            T.friction[p, 0] = (torque + work.armature[j] * work.response[j] - T.edges.on_coordinate[j]) / slip
        else:
            g = load_vector(T.share[p])
            T.friction[p, 0] = T.applied[p, 0] + (dot(g.t, carried.t) + dot(g.f, carried.f))


@kernel
def clear_loads(T):
    """Clear the largest load of each branch."""
    for i in range(len(T.largest_load)):
        T.largest_load[i] = 0.0


@kernel
def compute_limit(p, patch, W, table, joint_friction, T):
    """Compute loads and limit of patch p due to the reaction W, their signs, and the largest load of its branch."""
    points, loads, load_sum = table.points, table.loads, 0.0
    for k in range(patch.first_point, patch.last_point):
        at_point = 0.0
        for i in range(points[k].first_load, points[k].last_load):
            c = load_force(loads[i])
            a = dot(c.t, W.t) + dot(c.f, W.f)
            sign = 1.0 if a >= 0.0 else -1.0
            if sign != T.signs[i]:
                T.signs[i], T.shared[p] = sign, STICKS
            at_point += abs(a)
        joint_friction.normal_loads[k] = at_point
        load_sum += at_point
    joint_friction.limit[p] = joint_friction.coefficient[p] * load_sum
    base = T.base[patch.child]
    T.largest_load[base] = max(T.largest_load[base], load_sum)
