"""Elimination of a joint by its six equations (`joint_equations`), with pivoting, in maximal coordinates.

With the inertia A and the bias impulse p of all bodies beyond the joint, W = A V + p, and its equations are

    (B + L A) V = B V_parent + c - L p,    V = Y V_parent + y,    A' = A Y,  p' = A y + p   for the parent.

A joint jams if friction makes the determinant of B + L A too small, or changes its sign.
"""

from __future__ import annotations

from multibody_cli.contact_solver.elimination_workspace import AXES
from multibody_cli.contact_solver.joint_equations import origin_of, store_disc_inertias, write_equations
from multibody_cli.contact_solver.matrices import add_vector_product
from multibody_cli.contact_solver.open_loops import factored_determinant, pass_equations
from multibody_cli.contact_solver.tree_friction_workspace import (
    STICKS,
    jam,
    jams_with,
    load_inertia,
    load_vector,
    store_inertia,
    store_vector,
)
from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.dense_lu import solve_dense
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import power, shift_force, shift_motion
from multibody_cli.spatial.unsymmetric_inertia import UnsymmetricInertia, shifted, times, transposed
from multibody_cli.spatial.values import Force, Mat3, Motion
from multibody_cli.tree.articulated_body import add_column_motion, load_motion_change, store_motion_change


@kernel
def determinant(plan, A, load) -> float:
    """Factor B + L A, with the rows of L in `load` (6, 6), and return the determinant."""
    for e in range(AXES):
        L = load_vector(load[e])
        store_vector(plan.matrix[e], load_vector(plan.motion[e]) + transposed(A, Motion(L.t, L.f)))
    return factored_determinant(plan, 0)


@kernel
def factor_joint(system, work, joint_friction, passes, h, node, A) -> bool:
    """Factor the equations of the joint that leads to a body with inertia A; return False if the matrix is singular.

    If the joint jams, its patches slide without friction, or stick.
    """
    plan, sliding = passes.bodies, 0
    for p in range(node.first_patch, node.last_patch):
        sliding += passes.state[p] != STICKS
    write_equations(system, work, joint_friction, passes, h, node)
    if sliding > 0:
        unloaded = 0.0 if passes.soft[0] else determinant(plan, A, plan.free)
        loaded = determinant(plan, A, plan.load)
        if not jams_with(loaded, unloaded, passes):
            return True
        for p in range(node.first_patch, node.last_patch):
            if passes.state[p] != STICKS:
                jam(p, passes)
        write_equations(system, work, joint_friction, passes, h, node)
    return determinant(plan, A, plan.load) != 0.0


@kernel
def eliminate_equations(system, work, joint_friction, passes, h, i) -> bool:
    """Replace inertia and bias impulse of body i by those of its joint; return False if its equations are singular.

    With V = Y V_parent + y - sum_c Z_c W_c, these are A Y and A y + p.
    """
    plan, node, record = passes.bodies, passes.bodies.nodes[i], passes.inertias[i]
    inner = load(work.bodies[i].x) - origin_of(node, work.bodies)
    A, p = shifted(load_inertia(record), inner), shift_force(load_force(record), inner)
    store_disc_inertias(system, work, passes, node)
    if not factor_joint(system, work, joint_friction, passes, h, node, A):
        return False
    for e in range(AXES):
        L = load_vector(plan.load[e])
        plan.rhs[e] -= power(Motion(L.t, L.f), p)
    solve_dense(plan.matrix, plan.order, plan.rhs, plan.y[i])
    for k in range(AXES):
        for e in range(AXES):
            plan.column[e] = plan.motion[e, k]
        solve_dense(plan.matrix, plan.order, plan.column, plan.Y[i, k])
    pass_equations(plan, i, A, inner)
    y = load_vector(plan.y[i])
    store_inertia(record, product_of(A, plan.Y[i]))
    store_force(record, p + times(A, Motion(y.t, y.f)))
    return True


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


@kernel
def move_equations(system, work, passes, i, change):
    """Compute the changes of the rates of the joint of body i, and that of its motion, from that of its parent.

    In joint coordinates the motion is computed again from the rates.
    """
    plan, bodies, driven = passes.bodies, work.bodies, system.tree.driven
    node, link, iv = plan.nodes[i], plan.links[i], system.tree.links[i].iv
    V, x = load_vector(plan.y[i]), origin_of(node, bodies)
    if node.frame > 0:
        outer = shift_motion(load_motion_change(bodies[node.parent]), x - load(bodies[node.parent].x))
        store_vector(plan.column, Force(outer.w, outer.v))
        for k in range(AXES):
            V = V + plan.column[k] * load_vector(plan.Y[i, k])
    store_vector(plan.solution, V)
    for s in range(link.first_slot, link.last_open):
        slot = plan.slots[s]
        add_vector_product(plan.solution, plan.Z[s], plan.wrench[slot.loop], -1.0, AXES, slot.unknowns)
    V = load_vector(plan.solution)
    dV = shift_motion(Motion(V.t, V.f), load(bodies[i].x) - x)
    if node.is_loop_joint or node.frame == 0:
        store(change[iv : iv + 3], dV.v)
        store(change[iv + 3 : iv + 6], dV.w)
    else:
        of_parent = shift_motion(
            load_motion_change(bodies[node.parent]), load(bodies[i].x) - load(bodies[node.parent].x)
        )
        relative, dV = dV - of_parent, of_parent
        for j in range(iv, iv + node.nv):
            change[j] = 0.0
            if not driven[j]:
                change[j] = power(relative, load_force(work.dual_basis[j]))
                dV = add_column_motion(dV, work.columns[j], change[j])
    store_motion_change(bodies[i], dV)
