"""The six equations of a joint for given states of its friction (`tree_friction`), in maximal coordinates.

Each body has its own motion V, and each joint transmits a wrench W to its child, both about the origin of its frame M.
A joint has six equations in V, W, and the motion of the parent,

    B (V - V_parent) + L W = c:

    T . (V - V_parent) = 0                               each constraint axis T of the joint
    s . (V - V_parent) = -u                              each slip wrench s of a patch that sticks, with the slip u
    S . W - sum_p (S . s_p) x_p(W, V - V_parent) = 0     each other column S: the force along it is that of the friction
    N . W = 0                                            each direction in which a loop joint of planar bodies acts not

in which the friction x of patches that slide is linear (`tree_friction`); implicit forces of the joint add an
armature times the rate.  Columns of prescribed coordinates count as constraint axes.
"""

from __future__ import annotations

from multibody_cli.contact_solver.elimination_workspace import AXES, BY_BLOCK, BY_COLUMNS, BY_EQUATIONS
from multibody_cli.contact_solver.rows import patch_axes, slip_wrench
from multibody_cli.contact_solver.tree_friction_workspace import (
    STICKS,
    determines_rate,
    load_inertia,
    load_vector,
    store_vector,
)
from multibody_cli.contact_solver.two_directional_friction import (
    count_sticking,
    diagonal,
    is_at_rest,
    joint_columns,
    joint_values,
    products,
    store_slip_inertia,
)
from multibody_cli.joints.directions import complete, find_constraint_axes, find_dual_basis, orthonormalize
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import cross, dot, no_force, power, rotated_force, shift_motion
from multibody_cli.spatial.unsymmetric_inertia import shifted, times
from multibody_cli.spatial.values import Force, Mat3, Motion, Vec3
from multibody_cli.tree.jacobian import column_of

WORLD = Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))

OF_WRENCH, OF_SLIP = -2, -1
"""Kinds of equations of a joint that are not those of a constraint axis: of its wrench, and of a slip that stops."""


@formula
def elimination_of(plan, i):
    """Return how the joint of body i is eliminated.

    One with discs is a block, is eliminated by equations where loops are open, and by columns without friction.
    """
    link, elimination = plan.links[i], plan.nodes[i].elimination
    if elimination == BY_BLOCK and plan.frictionless[0]:
        return BY_COLUMNS
    return BY_EQUATIONS if elimination == BY_BLOCK and link.last_open > link.first_slot else elimination


# --- equations of a joint ---------------------------------------------------------------------------------------------
@kernel
def find_axes(tree, work, plan):
    """Compute constraint axes and dual bases of joints in joint coordinates."""
    for i in range(1, len(plan.links)):
        node = plan.nodes[i]
        if elimination_of(plan, i) == BY_EQUATIONS and not node.is_loop_joint and node.frame > 0:
            first, last = node.iv, node.iv + node.nv
            axes = plan.axes[node.first_axis : node.last_axis]
            find_dual_basis(work.columns, first, last, tree.driven, work.basis, work.dual_basis)
            find_constraint_axes(work.columns, first, last, tree.driven, WORLD, axes[:0], work.basis, axes)


@kernel
def write_equations(system, work, joint_friction, passes, h, node):
    """Write B, L and c of a joint, with the friction of the present states."""
    plan, patches, columns, driven = (
        passes.bodies,
        system.contacts.joint_friction.patches,
        work.columns,
        system.tree.driven,
    )
    for e in range(AXES):
        store_vector(plan.motion[e], no_force())
        store_vector(plan.load[e], no_force())
        store_vector(plan.free[e], no_force())
        plan.rhs[e], plan.axis[e] = 0.0, OF_WRENCH
    first, last, e = node.first_patch, node.last_patch, 0
    for r in range(node.first_axis, node.last_axis):
        if node.directions > 0 and not system.tree.has_effect[r]:
            continue
        axis = load_force(work.constraint_axes[r] if node.is_loop_joint else plan.axes[r])
        store_vector(
            plan.motion[e], rotated_force(load(work.bodies[node.frame].R), axis) if node.is_loop_joint else axis
        )
        plan.axis[e] = r
        e += 1
    if node.frame == 0:
        for k in range(AXES):
            plan.load[k, k] = plan.free[k, k] = 1.0
        return
    if node.directions == 0:
        complete_equations(node, work, driven, plan, e)
    discs = first < last and patches[first].slip_directions == 2
    if discs and is_at_rest(patches[first], passes):
        for k in range(node.nv):  # the slips of the first disc, and one of the second
            write_rest(patches[first + k // 2], first + k // 2, k % 2 == 1, work, joint_friction, plan, e + k)
        return
    if discs and count_sticking(patches[first], passes) == 1:
        for p in range(first, last):
            if passes.state[p] == STICKS:
                write_rest(patches[p], p, False, work, joint_friction, plan, e)
                write_rest(patches[p], p, True, work, joint_friction, plan, e + 1)
                n = free_rates(node, columns, load_vector(plan.motion[e]), load_vector(plan.motion[e + 1]))
                x, y, z = joint_columns(columns, node)
                write_balance(patches, first, last, n.x * x + n.y * y + n.z * z, work, joint_friction, passes, h, e + 2)
                add_armature(plan, e + 2, node, 0, n.x, passes.edges, work)
                add_armature(plan, e + 2, node, 1, n.y, passes.edges, work)
                add_armature(plan, e + 2, node, 2, n.z, passes.edges, work)
        return
    for j in range(node.nv):
        if driven[node.iv + j]:
            continue
        p = passes.patch[node.iv + j]
        if p >= 0 and determines_rate(p, passes):
            write_rest(patches[p], p, False, work, joint_friction, plan, e)
        else:
            S = column_of(columns[node.iv + j])
            write_balance(patches, first, last, S, work, joint_friction, passes, h, e)
            add_armature(plan, e, node, j, 1.0, passes.edges, work)
        e += 1


@kernel
def complete_equations(node, work, driven, plan, axes):
    """Write the last equations of a loop joint of planar bodies, which has no wrench across their plane."""
    count = axes
    for j in range(node.iv, node.iv + node.nv):
        count += not driven[j]
    if count == AXES:
        return
    for e in range(axes):
        store_vector(work.basis[e], load_vector(plan.motion[e]))
    for j in range(node.iv, node.iv + node.nv):
        if not driven[j]:
            store_vector(work.basis[axes], load_force(work.dual_basis[j]))
            axes += orthonormalize(work.basis, axes)
    for e in range(axes, AXES):
        complete(work.basis, e)
        for k in range(AXES):
            plan.load[e, k] = plan.free[e, k] = work.basis[e, k]


@formula
def slip_wrenches(patch, work):
    """Return the slip wrenches of a patch, along and across, world axes."""
    R = patch_axes(patch, work.bodies)
    return slip_wrench(patch, work), Force(R @ load(patch.across_t), R @ load(patch.across_f))


@formula
def at_frame(V, body, frame):
    """Return the motion V of a body at the origin of a loop frame."""
    return shift_motion(V, load(frame.x) - load(body.x))


@formula
def relative_twist(patch, bodies):
    """Return the twist of the child of a patch relative to its parent, at the origin of its joint."""
    frame, parent, child = bodies[patch.row], bodies[patch.parent], bodies[patch.child]
    V = at_frame(Motion(load(child.w), load(child.v)), child, frame)
    return V - at_frame(Motion(load(parent.w), load(parent.v)), parent, frame)


@kernel
def write_rest(patch, p, across, work, joint_friction, plan, e):
    """Write the equation of a slip that stops."""
    s, other = slip_wrenches(patch, work)
    if across:
        s = other
    store_vector(plan.motion[e], s)
    plan.axis[e] = OF_SLIP
    plan.rhs[e] = -power(relative_twist(patch, work.bodies), s) - joint_friction.slip_changes[p, 1 if across else 0]


@formula
def free_rates(node, columns, along, across):
    """Return the rates of three coordinates that do not move along two slip wrenches."""
    x, y, z = joint_columns(columns, node)
    return cross(products(x, y, z, along), products(x, y, z, across))


@formula
def add_armature(plan, e, node, j, rate, edges, work):
    """Add armature and impulse of coordinate j of a joint to the balance along a column that moves it with a rate."""
    factor = rate * edges.armature[node.iv + j]
    store_vector(plan.motion[e], load_vector(plan.motion[e]) + factor * load_force(work.dual_basis[node.iv + j]))
    plan.rhs[e] += rate * edges.impulse[node.iv + j]


@kernel
def write_balance(patches, first, last, S, work, joint_friction, passes, h, e):
    """Write the balance of force and friction along a column S of a joint with the patches [first, last)."""
    plan, L, K_row, c = passes.bodies, S, no_force(), 0.0
    for p in range(first, last):
        if passes.state[p] != STICKS or (passes.soft[0] and patches[p].slip_directions == 2):
            along, across = slip_wrenches(patches[p], work)
            R, g, K = patch_axes(patches[p], work.bodies), load_vector(passes.share[p]), passes.drag[p]
            F, V = load_force(joint_friction.reactions[p]), relative_twist(patches[p], work.bodies)
            a, b = power(S, along), power(S, across)
            limited = passes.direction[p, 0] * a + passes.direction[p, 1] * b
            by_along, by_across = a * K[0, 0] + b * K[1, 0], a * K[0, 1] + b * K[1, 1]
            u = power(V, along) + joint_friction.slip_changes[p, 0]
            w = power(V, across) + joint_friction.slip_changes[p, 1]
            L = L - limited * Motion(R @ g.t, R @ g.f)
            K_row = K_row + by_along * along + by_across * across
            c += limited * h * (dot(g.t, F.t) + dot(g.f, F.f)) - by_along * u - by_across * w
            c += a * passes.applied[p, 0] + b * passes.applied[p, 1]
    store_vector(plan.load[e], Force(L.w, L.v))
    store_vector(plan.free[e], Force(S.w, S.v))
    store_vector(plan.motion[e], K_row)
    plan.rhs[e] = c


@formula
def origin_of(node, bodies):
    """Return the point in which the wrench of a joint is taken."""
    return load(bodies[node.frame if node.frame > 0 else node.child].x)


@kernel
def store_disc_inertias(system, work, passes, node):
    """Store the inertias of the discs of a joint against slip, with that of all bodies beyond its child."""
    patches, bodies = system.contacts.joint_friction.patches, work.bodies
    first, last = node.first_patch, node.last_patch
    if first < last and patches[first].slip_directions == 2:
        r = load(bodies[node.child].x) - origin_of(node, bodies)
        A = shifted(load_inertia(passes.inertias[node.child]), r)
        x, y, z = joint_columns(work.columns, node)
        armature = joint_values(passes.edges.armature, node, 1.0)
        mass = diagonal(armature) + Mat3(
            products(x, y, z, times(A, x)), products(x, y, z, times(A, y)), products(x, y, z, times(A, z))
        )
        for p in range(first, last):
            along, across = slip_wrenches(patches[p], work)
            store_slip_inertia(passes.slip_inertia[p], mass, products(x, y, z, along), products(x, y, z, across))
