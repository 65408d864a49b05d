"""Dry friction of joints body by body, in O(n): one pass over trees and loops for given states (`tree_friction`).

Each joint has six equations B (V - V_parent) + L W = c (`joint_equations`).  From the leaves to the ground,
W = A V + p, with the inertia A and the bias impulse p of all bodies beyond the joint, gives

    (B + L A) V = B V_parent + c - L p,    V = Y V_parent + y,    A' = A Y,  p' = A y + p   for the parent.

These are six unknowns for each joint, by elimination with pivoting.  The recursion of joint coordinates
(`loaded_tree`) eliminates columns by updates of rank one: both have the law in common, and no algebra.  The wrenches of
joints that close loops are further unknowns (`open_loops`).

A joint jams if friction makes the determinant of B + L A too small, or changes its sign.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_joints import compute_loop_rates
from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.contact_solver.edges import apply_edge_impulses
from multibody_cli.contact_solver.joint_equations import (
    at_frame,
    find_axes,
    relative_twist,
    slip_wrenches,
    store_disc_inertias,
    write_equations,
)
from multibody_cli.contact_solver.loaded_discs import rests
from multibody_cli.contact_solver.loaded_tree import add_inertia, slip_per_rate
from multibody_cli.contact_solver.open_loops import (
    add_vector_product,
    close_loops,
    close_loops_at_ground,
    factored_determinant,
    pass_loops,
    solve_loop,
    start_loops,
)
from multibody_cli.contact_solver.parameters import add_implicit_impulses
from multibody_cli.contact_solver.tree_friction_workspace import (
    STICKS,
    determines_rate,
    jam,
    jams_with,
    load_inertia,
    load_vector,
    store_own_inertia,
    store_vector,
)
from multibody_cli.contact_solver.tree_of_bodies_workspace import AXES
from multibody_cli.kernel import formula, kernel, template
from multibody_cli.linalg.dense_lu import solve_dense
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import ZERO, dot, power, rotated_force, shift_force, shift_motion
from multibody_cli.spatial.unsymmetric_inertia import UnsymmetricInertia, shifted, times, transposed
from multibody_cli.spatial.values import Force, Mat3, Motion
from multibody_cli.tree.articulated_body import load_motion_change, rigid_body_inertia, store_motion_change
from multibody_cli.tree.jacobian import column_of, jacobian_times


# --- elimination ------------------------------------------------------------------------------------------------------
@kernel
def determinant(B, A, load) -> float:
    """Factor B + L A, with the rows of L in `load` (6, 6), and return the determinant."""
    for e in range(AXES):
        L = load_vector(load[e])
        store_vector(B.matrix[e], load_vector(B.motion[e]) + transposed(A, Motion(L.t, L.f)))
    return factored_determinant(B)


@kernel
def factor_joint(system, work, joint_friction, T, h, node, A) -> bool:
    """Factor the equations of the joint that leads to a body with inertia A; return False if the matrix is singular.

    If the joint jams, its patches slide without friction, or stick.
    """
    B, sliding = T.bodies, 0
    for p in range(node.first_patch, node.last_patch):
        sliding += T.state[p] != STICKS
    write_equations(system, work, joint_friction, T, h, node)
    if sliding > 0:
        unloaded = determinant(B, A, B.free)
        loaded = determinant(B, A, B.load)
        if not jams_with(loaded, unloaded, T):
            return True
        for p in range(node.first_patch, node.last_patch):
            if T.state[p] != STICKS:
                jam(p, T)
        write_equations(system, work, joint_friction, T, h, node)
    return determinant(B, A, B.load) != 0.0


@formula
def origin_of(node, bodies):
    """Return the point in which the wrench of a joint is taken."""
    return load(bodies[node.frame if node.frame > 0 else node.child].x)


@kernel
def eliminate_bodies(system, work, joint_friction, T, h) -> bool:
    """Inward pass: eliminate every joint; return False if the equations of one are singular."""
    B, links, bodies = T.bodies, system.tree.links, work.bodies
    find_axes(system.tree, work, B)
    for i in range(1, len(links)):
        store_own_inertia(T.inertias[i], rigid_body_inertia(links[i], bodies[i]), T, i)
    start_loops(bodies, B)
    for i in range(len(links) - 1, 0, -1):
        if not close_loops(system, work, joint_friction, T, h, i):
            return False
        node = B.nodes[i]
        x = origin_of(node, bodies)
        inner, outer = load(bodies[i].x) - x, x - load(bodies[node.parent].x)
        A, p = shifted(load_inertia(T.inertias[i]), inner), shift_force(load_force(T.inertias[i]), inner)
        store_disc_inertias(system, work, T, A, node)
        if not factor_joint(system, work, joint_friction, T, h, node, A):
            return False
        for e in range(AXES):
            L = load_vector(B.load[e])
            B.rhs[e] -= power(Motion(L.t, L.f), p)
        solve_dense(B.matrix, B.order, B.rhs, B.y[i])
        for k in range(AXES):
            for e in range(AXES):
                B.column[e] = B.motion[e, k]
            solve_dense(B.matrix, B.order, B.column, B.Y[i, k])
        pass_loops(B, i, A, inner, outer)
        if node.parent > 0:
            record, y = T.inertias[node.parent], load_vector(B.y[i])
            add_inertia(record, shifted(product_of(A, B.Y[i]), outer))
            store_force(record, load_force(record) + shift_force(p + times(A, Motion(y.t, y.f)), outer))
    return close_loops_at_ground(system, work, joint_friction, T, h)


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
    """`contact_solver.parameters.solve_motion`, body by body."""
    B, links, bodies = T.bodies, system.tree.links, work.bodies
    if not eliminate_bodies(system, work, joint_friction, T, h):
        return False
    store_motion_change(bodies[0], Motion(ZERO, ZERO))
    for c in range(len(B.loops) - 1, -1, -1):
        if B.loops[c].slot < 0:
            solve_loop(B, c)
    for i in range(1, len(links)):
        node, link = B.nodes[i], B.links[i]
        V, x = load_vector(B.y[i]), origin_of(node, bodies)
        if node.frame > 0:
            outer = shift_motion(load_motion_change(bodies[node.parent]), x - load(bodies[node.parent].x))
            store_vector(B.column, Force(outer.w, outer.v))
            for k in range(AXES):
                V = V + B.column[k] * load_vector(B.Y[i, k])
        store_vector(B.solution, V)
        for s in range(link.first_slot, link.last_open):
            add_vector_product(B.solution, B.Z[s], B.wrench[B.slots[s].loop], -1.0)
        V = load_vector(B.solution)
        dV = shift_motion(Motion(V.t, V.f), load(bodies[i].x) - x)
        store_motion_change(bodies[i], dV)
        store_vector(B.column, Force(dV.w, dV.v))
        for s in range(link.last_slot - 1, link.last_open - 1, -1):
            solve_loop(B, B.slots[s].loop)
    store_rates(system, work, joint_friction, T, v)
    return True


@kernel
def store_rates(system, work, joint_friction, T, v):
    """Compute the changes of all rates from those of the motions of the bodies.

    In joint coordinates, compute these again from the rates, of which those of hinges that stick are exact.
    """
    B, tree, bodies, change = T.bodies, system.tree, work.bodies, work.response
    patches, in_joints = system.contacts.joint_friction.patches, False
    for i in range(1, len(tree.links)):
        node, iv = B.nodes[i], tree.links[i].iv
        if node.is_loop_joint or node.frame == 0:
            dV = load_motion_change(bodies[i])
            store(change[iv : iv + 3], dV.v)
            store(change[iv + 3 : iv + 6], dV.w)
            continue
        in_joints, parent = True, bodies[node.parent]
        dV = load_motion_change(bodies[i]) - shift_motion(
            load_motion_change(parent), load(bodies[i].x) - load(parent.x)
        )
        for j in range(iv, iv + node.nv):
            p = T.patch[j]
            change[j] = 0.0
            if p >= 0 and determines_rate(p, T):
                slip = slip_per_rate(patches[p], bodies, work.columns[j])
                change[j] = -v[j] - joint_friction.slip_changes[p, 0] / slip
            elif not tree.driven[j]:
                change[j] = power(dV, load_force(work.dual_basis[j]))
    if in_joints:
        jacobian_times(tree, change, work)
    compute_loop_rates(tree, change, work)


@kernel
def compute_slips_of_bodies(system, work, joint_friction, T, v):
    """`contact_solver.parameters.compute_slips` from the motions of the bodies."""
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
def transmit_changes_of_bodies(system, work, T):
    """`contact_solver.parameters.transmit_changes`, body by body."""
    B, links, bodies, wrenches = T.bodies, system.tree.links, work.bodies, work.wrenches
    clear_impulses(work)
    add_implicit_impulses(system, work)
    apply_edge_impulses(T.edges, wrenches)
    for c in range(len(B.loops)):
        node, W = B.nodes[len(links) + c], load_vector(B.wrench[c])
        add_impulse(wrenches[node.child], shift_force(W, origin_of(node, bodies) - load(bodies[node.child].x)))
        add_impulse(wrenches[node.parent], shift_force(-1.0 * W, origin_of(node, bodies) - load(bodies[node.parent].x)))
    for i in range(len(links)):
        store_force(wrenches[i], -load_force(wrenches[i]))
    for i in range(len(links) - 1, 0, -1):
        node = B.nodes[i]
        W = load_force(wrenches[i]) + rigid_body_inertia(links[i], bodies[i]) @ load_motion_change(bodies[i])
        store_force(wrenches[i], W)
        add_impulse(wrenches[node.parent], shift_force(W, load(bodies[i].x) - load(bodies[node.parent].x)))
        if node.is_loop_joint:
            store_force(wrenches[node.frame], shift_force(W, load(bodies[i].x) - origin_of(node, bodies)))
    for c in range(len(B.loops)):
        store_force(wrenches[B.nodes[len(links) + c].frame], load_vector(B.wrench[c]))


@formula
def add_impulse(record, W):
    """Add an impulse to that in a record."""
    store_force(record, load_force(record) + W)


@kernel
def store_loop_multipliers(system, work, B, active_rows, x):
    """Store the multipliers of the first len(x) active rows, as far as they are those of loops."""
    for k in range(len(x)):
        c = B.loop_of_row[active_rows[k]]
        if c >= 0:
            node, W = B.nodes[len(B.links) + c], load_vector(B.wrench[c])
            for j in range(node.iv, node.iv + node.nv):
                if not system.tree.driven[j]:
                    S, D = column_of(work.columns[j]), load_force(work.dual_basis[j])
                    W = W - power(S, load_vector(B.wrench[c])) * D
            T = rotated_force(load(work.bodies[node.frame].R), load_force(work.constraint_axes[active_rows[k]]))
            x[k] = dot(T.t, W.t) + dot(T.f, W.f)
