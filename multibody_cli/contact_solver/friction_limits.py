"""Friction and limits of joints in passes over trees and loops (`tree_friction`), from the loads that they carry.

before a pass   shares g of the loads that are the friction of sliding joints, from the signs of their loads
after it        friction of all patches, loads, and the limits in proportion to them
"""

from __future__ import annotations

from multibody_cli.contact_solver.elimination_workspace import AXES
from multibody_cli.contact_solver.joint_friction import joint_reaction
from multibody_cli.contact_solver.matrices import solve_columns, transposed_times_vector
from multibody_cli.contact_solver.rows import patch_axes
from multibody_cli.contact_solver.tree_friction_workspace import (
    JAMMED,
    JAMS,
    STICKS,
    load_vector,
    store_vector,
)
from multibody_cli.contact_solver.two_directional_friction import (
    balance_discs,
)
from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.dense_lu import factor_scaled
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import dot, no_force, power
from multibody_cli.spatial.values import Force
from multibody_cli.tree.jacobian import column_of


@kernel
def write_load_shares(table, joint_friction, passes) -> bool:
    """Compute g of all sliding joints for the present signs; return False if a matrix is singular.

    That of a patch with one slip direction is kept until its state, its coefficient or a sign changes.
    """
    patches, points, loads, regular = table.patches, table.points, table.loads, True
    for p in range(len(patches)):
        if passes.jams[p] == JAMS:
            passes.jams[p] = JAMMED
        if passes.state[p] != STICKS and (passes.shared[p] != passes.state[p] or patches[p].slip_directions == 2):
            patch, total = patches[p], no_force()
            scale = passes.state[p] * joint_friction.coefficient[p]
            matrix, unit = passes.bodies.matrix, passes.bodies.product
            for a in range(AXES):
                for b in range(AXES):
                    matrix[a, b] = unit[a, b] = 1.0 if a == b else 0.0
            for k in range(patch.first_point, patch.last_point):
                C, point = no_force(), points[k]
                for i in range(point.first_load, point.last_load):
                    C = C + passes.signs[i] * load_force(loads[i])
                subtract_outer(matrix, scale * unit_friction(point, passes.direction[p, 0], passes.direction[p, 1]), C)
                total = total + C
            passes.shared[p] = passes.state[p]
            if not factor_scaled(matrix, passes.bodies.order, passes.bodies.units[0], passes.bodies.scales):
                passes.shared[p], regular = STICKS, False
            solve_columns(matrix, passes.bodies.order, unit, passes.inverse[p])
            store_vector(passes.share[p], transposed_times_vector(passes.inverse[p], -scale * total))
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
    if patch.dual >= 0:
        return 1.0
    R = patch_axes(patch, bodies)
    return power(column_of(column), Force(R @ load(patch.along_t), R @ load(patch.along_f)))


# --- friction and limits from a pass ----------------------------------------------------------------------------------
@kernel
def compute_friction(system, work, joint_friction, passes, h):
    """Compute the friction x of all patches from the impulses that the joints transmit."""
    patches = system.contacts.joint_friction.patches
    for p in range(len(patches)):
        patch, j = patches[p], passes.coordinate[p]
        carried = h * load_force(joint_friction.reactions[p]) + joint_reaction(patch, work)
        store_force(joint_friction.transmitted[p], carried)
        if patch.slip_directions == 2:
            if p == patch.first_patch:
                balance_discs(patches, p, passes.joints[p], work, joint_friction, passes, h)
        elif passes.state[p] == STICKS:
            torque = power(column_of(work.columns[j]), load_force(work.wrenches[patch.row]))
            slip = slip_per_rate(patch, work.bodies, work.columns[j])
            passes.friction[p, 0] = (
                torque + work.armature[j] * work.response[j] - passes.edges.on_coordinate[j]
            ) / slip
        else:
            g = load_vector(passes.share[p])
            passes.friction[p, 0] = passes.applied[p, 0] + (dot(g.t, carried.t) + dot(g.f, carried.f))


@kernel
def clear_loads(passes):
    """Clear the largest load of each branch."""
    for i in range(len(passes.largest_load)):
        passes.largest_load[i] = 0.0


@kernel
def compute_limit(p, patch, W, table, joint_friction, passes):
    """Compute loads and limit of patch p due to the reaction W, their signs, and the largest load of its branch."""
    points, loads, load_sum = table.points, table.loads, 0.0
    for k in range(patch.first_point, patch.last_point):
        at_point = 0.0
        for i in range(points[k].first_load, points[k].last_load):
            c = load_force(loads[i])
            a = dot(c.t, W.t) + dot(c.f, W.f)
            sign = 1.0 if a >= 0.0 else -1.0
            if sign != passes.signs[i]:
                passes.signs[i], passes.shared[p] = sign, STICKS
            at_point += abs(a)
        joint_friction.normal_loads[k] = at_point
        load_sum += at_point
    joint_friction.limit[p] = joint_friction.coefficient[p] * load_sum + joint_friction.brake[p]
    base = passes.base[patch.child]
    passes.largest_load[base] = max(passes.largest_load[base], load_sum)
