"""Dry friction of the joints of a tree in maximal coordinates, in O(n): one pass for given states (`tree_friction`).

Each body has its own motion V, and each joint transmits a wrench W to its child, both about the origin of its frame M.
A joint has six equations in V, W, and the motion of the parent,

    B (V - V_parent) + L W = c:

    T . (V - V_parent) = 0                               each constraint axis T of the joint
    s . (V - V_parent) = -u                              each slip wrench s of a patch that sticks, with the slip u
    S . W - sum_p (S . s_p) x_p(W, V - V_parent) = 0     each other column S: the force along it is that of the friction

in which the friction x of patches that slide is linear (`tree_friction`, `loaded_discs`); implicit forces of the joint
add an armature times the rate.  From the leaves to the ground, W = A V + p, with the inertia A and the bias impulse p
of all bodies beyond the joint, gives

    (B + L A) V = B V_parent + c - L p,    V = Y V_parent + y,    A' = A Y,  p' = A y + p   for the parent.

These are six unknowns for each joint, by elimination with pivoting.  The recursion of joint coordinates
(`loaded_tree`) eliminates columns by updates of rank one: both have the law in common, and no algebra.

A joint jams if friction makes the determinant of B + L A too small, or changes its sign.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.constraint_solver.loop_joints import compute_loop_rates
from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.contact_solver.loaded_discs import (
    count_sticking,
    joint_columns,
    joint_values,
    products,
    rests,
    store_slip_inertia,
)
from multibody_cli.contact_solver.loaded_tree import add_inertia
from multibody_cli.contact_solver.parameters import add_implicit_impulses
from multibody_cli.contact_solver.rows import patch_axes
from multibody_cli.contact_solver.tree_friction_workspace import (
    STICKS,
    jam,
    jams_with,
    load_inertia,
    load_vector,
    store_own_inertia,
    store_vector,
)
from multibody_cli.contact_solver.tree_of_bodies_workspace import AXES
from multibody_cli.kernel import formula, kernel, template
from multibody_cli.linalg.dense_lu import factor_dense, solve_dense
from multibody_cli.model import System
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import ZERO, cross, dot, no_force, power, shift_force, shift_motion
from multibody_cli.spatial.unsymmetric_inertia import UnsymmetricInertia, shifted, times, transposed
from multibody_cli.spatial.values import Force, Mat3, Motion, Vec3
from multibody_cli.tree.articulated_body import load_motion_change, rigid_body_inertia, store_motion_change
from multibody_cli.tree.jacobian import column_of


def suits_bodies(system: System) -> bool:
    """Return whether the joints are a tree of rigid bodies in maximal coordinates, free where they have friction."""
    tree, patches, inboard = system.tree, system.contacts.joint_friction.patches, system.tree.inboard_joints
    if len(patches) == 0 or len(tree.markers) > 0 or len(tree.closures) == 0:
        return False
    rigid = len(inboard) == len(tree.links) and bool(np.all(tree.links["nv"][1:] == AXES))
    nodes = {
        (int(node["parent"]), i, int(node["first_row"]))
        for i, node in enumerate(inboard)
        if node["first_row"] < node["last_row"]
    }
    joints = {(int(closure["parent"]), int(closure["child"]), int(closure["first_row"])) for closure in tree.closures}
    return rigid and joints == nodes and not np.any(tree.driven)


# --- equations of a joint ---------------------------------------------------------------------------------------------
@kernel
def write_equations(system, work, joint_friction, T, h, i):
    """Write B, L and c of the joint of body i, with the friction of the present states."""
    B, patches, columns = T.bodies, system.contacts.joint_friction.patches, work.columns
    for e in range(AXES):
        store_vector(B.motion[e], no_force())
        store_vector(B.load[e], no_force())
        store_vector(B.free[e], no_force())
        B.rhs[e] = 0.0
    if B.closure[i] < 0:
        for e in range(AXES):
            B.load[e, e] = B.free[e, e] = 1.0
        return
    closure, first, last, e = system.tree.closures[B.closure[i]], B.first_patch[i], B.last_patch[i], 0
    for r in range(closure.first_row, closure.last_row):
        store_vector(B.motion[e], load_force(work.constraint_axes[r]))
        e += 1
    discs = first < last and patches[first].slip_directions == 2
    if discs and rests(patches[first], T):
        for k in range(closure.nv):  # the slips of the first disc, and one of the second
            write_rest(patches[first + k // 2], first + k // 2, k % 2 == 1, work, joint_friction, B, e + k)
        return
    if discs and count_sticking(patches[first], T) == 1:
        for p in range(first, last):
            if T.state[p] == STICKS:
                write_rest(patches[p], p, False, work, joint_friction, B, e)
                write_rest(patches[p], p, True, work, joint_friction, B, e + 1)
                n = free_rates(closure, columns, load_vector(B.motion[e]), load_vector(B.motion[e + 1]))
                x, y, z = joint_columns(columns, closure)
                write_balance(patches, first, last, n.x * x + n.y * y + n.z * z, work, joint_friction, T, h, e + 2)
                add_armature(B, e + 2, closure, 0, n.x, work)
                add_armature(B, e + 2, closure, 1, n.y, work)
                add_armature(B, e + 2, closure, 2, n.z, work)
        return
    for j in range(closure.nv):
        if first < last and not discs and T.state[first + j] == STICKS:
            write_rest(patches[first + j], first + j, False, work, joint_friction, B, e + j)
        else:
            S = column_of(columns[closure.iv + j])
            write_balance(patches, first, last, S, work, joint_friction, T, h, e + j)
            add_armature(B, e + j, closure, j, 1.0, work)


@formula
def slip_wrenches(patch, bodies):
    """Return the slip wrenches of a patch, along and across, world axes."""
    R = patch_axes(patch, bodies)
    along = Force(R @ load(patch.along_t), R @ load(patch.along_f))
    return along, Force(R @ load(patch.across_t), R @ load(patch.across_f))


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
def write_rest(patch, p, across, work, joint_friction, B, e):
    """Write the equation of a slip that stops."""
    s, other = slip_wrenches(patch, work.bodies)
    if across:
        s = other
    store_vector(B.motion[e], s)
    B.rhs[e] = -power(relative_twist(patch, work.bodies), s) - joint_friction.slip_changes[p, 1 if across else 0]


@formula
def free_rates(closure, columns, along, across):
    """Return the rates of three coordinates that do not move along two slip wrenches."""
    x, y, z = joint_columns(columns, closure)
    return cross(products(x, y, z, along), products(x, y, z, across))


@formula
def add_armature(B, e, closure, j, rate, work):
    """Add the armature of coordinate j of a joint to the balance along a column that moves it with a rate."""
    factor = rate * work.armature[closure.iv + j]
    store_vector(B.motion[e], load_vector(B.motion[e]) + factor * load_force(work.dual_basis[closure.iv + j]))


@kernel
def write_balance(patches, first, last, S, work, joint_friction, T, h, e):
    """Write the balance of force and friction along a column S of a joint with the patches [first, last)."""
    B, L, K_row, c = T.bodies, S, no_force(), 0.0
    for p in range(first, last):
        if T.state[p] != STICKS:
            along, across = slip_wrenches(patches[p], work.bodies)
            R, g, K = patch_axes(patches[p], work.bodies), load_vector(T.share[p]), T.drag[p]
            F, V = load_force(joint_friction.reactions[p]), relative_twist(patches[p], work.bodies)
            a, b = power(S, along), power(S, across)
            limited = T.direction[p, 0] * a + T.direction[p, 1] * b
            by_along, by_across = a * K[0, 0] + b * K[1, 0], a * K[0, 1] + b * K[1, 1]
            u = power(V, along) + joint_friction.slip_changes[p, 0]
            w = power(V, across) + joint_friction.slip_changes[p, 1]
            L = L - limited * Motion(R @ g.t, R @ g.f)
            K_row = K_row + by_along * along + by_across * across
            c += limited * h * (dot(g.t, F.t) + dot(g.f, F.f)) - by_along * u - by_across * w
            c += a * T.applied[p, 0] + b * T.applied[p, 1]
    store_vector(B.load[e], Force(L.w, L.v))
    store_vector(B.free[e], Force(S.w, S.v))
    store_vector(B.motion[e], K_row)
    B.rhs[e] = c


# --- elimination ------------------------------------------------------------------------------------------------------
@kernel
def determinant(B, A, load) -> float:
    """Factor B + L A, with the rows of L in `load` (6, 6), and return the determinant."""
    for e in range(AXES):
        L = load_vector(load[e])
        store_vector(B.matrix[e], load_vector(B.motion[e]) + transposed(A, Motion(L.t, L.f)))
    if not factor_dense(B.matrix, B.order):
        return 0.0
    value = 1.0
    for e in range(AXES):
        value *= B.matrix[e, e]
        for k in range(e):
            if B.order[k] > B.order[e]:
                value = -value
    return value


@kernel
def factor_joint(system, work, joint_friction, T, h, i, A) -> bool:
    """Factor the equations of the joint of body i, with its inertia A; return False if the matrix is singular.

    If the joint jams, its patches slide without friction, or stick.
    """
    B, sliding = T.bodies, 0
    for p in range(B.first_patch[i], B.last_patch[i]):
        sliding += T.state[p] != STICKS
    write_equations(system, work, joint_friction, T, h, i)
    if sliding > 0:
        unloaded = determinant(B, A, B.free)
        loaded = determinant(B, A, B.load)
        if not jams_with(loaded, unloaded, T):
            return True
        for p in range(B.first_patch[i], B.last_patch[i]):
            if T.state[p] != STICKS:
                jam(p, T)
        write_equations(system, work, joint_friction, T, h, i)
    return determinant(B, A, B.load) != 0.0


@kernel
def eliminate_bodies(system, work, joint_friction, T, h) -> bool:
    """Inward pass: eliminate every joint; return False if the equations of one are singular."""
    B, links, bodies, closures = T.bodies, system.tree.links, work.bodies, system.tree.closures
    for i in range(1, len(links)):
        store_own_inertia(T.inertias[i], rigid_body_inertia(links[i], bodies[i]), T, i)
    for i in range(len(links) - 1, 0, -1):
        x = load(bodies[i].x)
        if B.closure[i] >= 0:
            x = load(bodies[closures[B.closure[i]].loop_frame].x)
        r = load(bodies[i].x) - x
        A, p = shifted(load_inertia(T.inertias[i]), r), shift_force(load_force(T.inertias[i]), r)
        store_disc_inertias(system, work, T, A, i)
        if not factor_joint(system, work, joint_friction, T, h, i, A):
            return False
        for e in range(AXES):
            L = load_vector(B.load[e])
            B.rhs[e] -= power(Motion(L.t, L.f), p)
        solve_dense(B.matrix, B.order, B.rhs, B.y[i])
        for k in range(AXES):
            for e in range(AXES):
                B.column[e] = B.motion[e, k] if B.closure[i] >= 0 else 0.0
            solve_dense(B.matrix, B.order, B.column, B.Y[i, k])
        if B.parent[i] > 0:
            r, outer, y = x - load(bodies[B.parent[i]].x), T.inertias[B.parent[i]], load_vector(B.y[i])
            add_inertia(outer, shifted(product_of(A, B.Y[i]), r))
            store_force(outer, load_force(outer) + shift_force(p + times(A, Motion(y.t, y.f)), r))
    return True


@kernel
def store_disc_inertias(system, work, T, A, i):
    """Store the inertias of the discs of a joint against slip, for the inertia A about its origin."""
    B, patches, bodies = T.bodies, system.contacts.joint_friction.patches, work.bodies
    first, last = B.first_patch[i], B.last_patch[i]
    if first < last and patches[first].slip_directions == 2:
        closure = system.tree.closures[B.closure[i]]
        x, y, z = joint_columns(work.columns, closure)
        armature = joint_values(work.armature, closure, 1.0)
        rotors = Mat3(Vec3(armature.x, 0.0, 0.0), Vec3(0.0, armature.y, 0.0), Vec3(0.0, 0.0, armature.z))
        mass = rotors + Mat3(
            products(x, y, z, times(A, x)), products(x, y, z, times(A, y)), products(x, y, z, times(A, z))
        )
        for p in range(first, last):
            along, across = slip_wrenches(patches[p], bodies)
            store_slip_inertia(T.slip_inertia[p], mass, products(x, y, z, along), products(x, y, z, across))


@formula
def product_of(A, Y):
    """Return A Y as an inertia, for the six columns of Y as rows of an array (6, 6)."""
    a, b, c = column_product(A, Y[0]), column_product(A, Y[1]), column_product(A, Y[2])
    d, e, f = column_product(A, Y[3]), column_product(A, Y[4]), column_product(A, Y[5])
    return UnsymmetricInertia(Mat3(a.t, b.t, c.t), Mat3(d.t, e.t, f.t), Mat3(a.f, b.f, c.f), Mat3(d.f, e.f, f.f))


@formula
def column_product(A, column):
    """Return A times the motion in an array (6,)."""
    V = load_vector(column)
    return times(A, Motion(V.t, V.f))


# --- the kernels of a tree --------------------------------------------------------------------------------------------
@kernel
def solve_motion_of_bodies(system, work, joint_friction, T, h, v) -> bool:
    """`contact_solver.parameters.solve_motion` in maximal coordinates."""
    B, links, bodies, change = T.bodies, system.tree.links, work.bodies, work.response
    if not eliminate_bodies(system, work, joint_friction, T, h):
        return False
    store_motion_change(bodies[0], Motion(ZERO, ZERO))
    for i in range(1, len(links)):
        V, x = load_vector(B.y[i]), load(bodies[i].x)
        if B.closure[i] >= 0:
            frame = bodies[system.tree.closures[B.closure[i]].loop_frame]
            x = load(frame.x)
            outer = at_frame(load_motion_change(bodies[B.parent[i]]), bodies[B.parent[i]], frame)
            store_vector(B.column, Force(outer.w, outer.v))
            for k in range(AXES):
                V = V + B.column[k] * load_vector(B.Y[i, k])
        dV = shift_motion(Motion(V.t, V.f), load(bodies[i].x) - x)
        store_motion_change(bodies[i], dV)
        iv = links[i].iv
        store(change[iv : iv + 3], dV.v)
        store(change[iv + 3 : iv + 6], dV.w)
    compute_loop_rates(system.tree, change, work)
    return True


@kernel
def compute_slips_of_bodies(system, work, joint_friction, T, v):
    """`contact_solver.parameters.compute_slips` in maximal coordinates."""
    patches, bodies = system.contacts.joint_friction.patches, work.bodies
    for p in range(len(patches)):
        patch, frame = patches[p], bodies[patches[p].row]
        parent, child = bodies[patch.parent], bodies[patch.child]
        along, across = slip_wrenches(patch, bodies)
        V = relative_twist(patch, bodies) + at_frame(load_motion_change(child), child, frame)
        V = V - at_frame(load_motion_change(parent), parent, frame)
        moves = 0.0 if rests(patch, T) and patch.slip_directions == 2 else 1.0
        T.slip[p, 0] = moves * (power(V, along) + joint_friction.slip_changes[p, 0])
        T.slip[p, 1] = moves * (power(V, across) + joint_friction.slip_changes[p, 1])


@template(add_implicit_impulses)
def transmit_changes_of_bodies(system, work):
    """`contact_solver.parameters.transmit_changes` in maximal coordinates."""
    links, bodies, wrenches, closures = system.tree.links, work.bodies, work.wrenches, system.tree.closures
    inboard = system.tree.inboard_joints
    clear_impulses(work)
    add_implicit_impulses(system, work)
    for i in range(len(links)):
        store_force(wrenches[i], -load_force(wrenches[i]))
    for i in range(len(links) - 1, 0, -1):
        W = load_force(wrenches[i]) + rigid_body_inertia(links[i], bodies[i]) @ load_motion_change(bodies[i])
        store_force(wrenches[i], W)
        outer = inboard[i].parent
        store_force(
            wrenches[outer], load_force(wrenches[outer]) + shift_force(W, load(bodies[i].x) - load(bodies[outer].x))
        )
    for k in range(len(closures)):
        child, frame = closures[k].child, closures[k].loop_frame
        r = load(bodies[child].x) - load(bodies[frame].x)
        store_force(wrenches[frame], shift_force(load_force(wrenches[child]), r))
