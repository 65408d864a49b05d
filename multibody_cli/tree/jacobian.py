"""Jacobian J from coordinate rates to the twists of all bodies, its time derivative, and products with it.

World axes; rows [w; v] of bodies 1, 2, ..., each about the moving origin of its own joint frame; one column per
coordinate.  With r from the parent's origin to the body's, and S the columns of the body's own joint,

    J(i, i) = S,                                J(i, a) = X J(p, a),                 X (w, v) = (w, v + w x r)
    dJ(i, i)/dt = dS/dt,              dJ(i, a)/dt = X dJ(p, a)/dt + dX/dt J(p, a),   dX/dt (w, v) = (0, w x dr/dt)

for every ancestor a of the body.  In world axes the adjoint is a pure translation, and its derivative is the
translation by dr/dt, the difference of the velocities of the two origins; there is no term from rotating axes.

The products cost O(n): J x outward, J^T y inward.  They skip prescribed coordinates, which are not unknowns.

Sources: Sueda, notes 2.1, 2.2 with Alg. 2 (line 7, whose second adjoint has no dot in the text at hand, needs its
derivative there), 2.10 with Alg. 5 and 6.
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.model import KERNEL_BALL, KERNEL_GENERAL
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import ZERO, cross, power, shift_force, shift_motion
from multibody_cli.spatial.values import Motion, Vec3
from multibody_cli.tree.articulated_body import add_column_motion, load_motion_change, store_motion_change


# --- columns of S -------------------------------------------------------------------------------------------------
@kernel
def write_ball_columns(tree, work):
    """Write the columns of S of balls, which `forward_kinematics` omits: the axes of the body's orientation."""
    links, bodies, columns = tree.links, work.bodies, work.columns
    for i in range(1, len(links)):
        if links[i].joint_kernel == KERNEL_BALL:
            for k in range(9):
                columns[links[i].iv + k // 3].angular[k % 3] = bodies[i].R[k]


@formula
def column_of(column):
    """Return one column of S."""
    return Motion(load(column.angular), load(column.linear))


@formula
def column_rate(link, body, column, rate):
    """Time derivative of a column of S; a column of a single screw or ball is constant in the body."""
    if link.joint_kernel == KERNEL_GENERAL:
        return Motion(load(rate.angular_rate), load(rate.linear_rate))
    w, S = load(body.w), column_of(column)
    return Motion(cross(w, S.w), cross(w, S.v))


# --- the matrices -------------------------------------------------------------------------------------------------
@kernel
def fill_jacobians(tree, work, J, dJ):
    """Write J and dJ/dt, each (6 nb, nv), by one outward pass, after forward kinematics and `write_ball_columns`.

    Writes only the columns of a body's own joint and of its ancestors; the others must be 0 already.
    """
    links, bodies, columns, rates = tree.links, work.bodies, work.columns, work.column_rates
    for i in range(1, len(links)):
        link, body = links[i], bodies[i]
        for j in range(link.iv, link.iv + link.nv):
            write_motion(J, i, j, column_of(columns[j]))
            write_motion(dJ, i, j, column_rate(link, body, columns[j], rates[j]))
        ancestor = link.parent
        while ancestor > 0:
            first = links[ancestor].iv
            propagate_columns(J, dJ, i, link.parent, first, first + links[ancestor].nv, bodies)
            ancestor = links[ancestor].parent


@formula
def propagate_columns(J, dJ, i, parent, first, last, bodies):
    """Propagate columns of J and dJ/dt from the parent of body i to body i."""
    r, r_rate = load(bodies[i].r), load(bodies[i].v) - load(bodies[parent].v)
    for j in range(first, last):
        S, S_rate = read_motion(J, parent, j), read_motion(dJ, parent, j)
        write_motion(J, i, j, shift_motion(S, r))
        write_motion(dJ, i, j, shift_motion(S_rate, r) + Motion(ZERO, cross(S.w, r_rate)))


@formula
def read_motion(J, i, j):
    """Return the rows of body i in column j of a Jacobian."""
    k = 6 * (i - 1)
    return Motion(Vec3(J[k, j], J[k + 1, j], J[k + 2, j]), Vec3(J[k + 3, j], J[k + 4, j], J[k + 5, j]))


@formula
def write_motion(J, i, j, S):
    """Store the rows of body i in column j of a Jacobian."""
    k = 6 * (i - 1)
    J[k, j], J[k + 1, j], J[k + 2, j] = S.w.x, S.w.y, S.w.z
    J[k + 3, j], J[k + 4, j], J[k + 5, j] = S.v.x, S.v.y, S.v.z


# --- products -----------------------------------------------------------------------------------------------------
@kernel
def jacobian_times(tree, x, work):
    """Write J x for x (nv,) into `dw` and `dv` of the bodies; prescribed coordinates count as 0."""
    links, bodies, columns, driven = tree.links, work.bodies, work.columns, tree.driven
    store_motion_change(bodies[0], Motion(ZERO, ZERO))
    for i in range(1, len(links)):
        link, body = links[i], bodies[i]
        V = shift_motion(load_motion_change(bodies[link.parent]), load(body.r))
        for j in range(link.iv, link.iv + link.nv):
            if not driven[j]:
                V = add_column_motion(V, columns[j], x[j])
        store_motion_change(body, V)


@kernel
def add_jacobian_transposed_times(tree, work, x):
    """Add J^T y to x (nv,) for the wrenches y of all bodies; prescribed coordinates of x are unchanged.

    On return, `work.wrenches` holds for each joint the sum of the wrenches outboard of it.
    """
    links, columns, wrenches, driven = tree.links, work.columns, work.wrenches, tree.driven
    accumulate_wrenches_inward(tree, work)
    for i in range(1, len(links)):
        W = load_force(wrenches[i])
        for j in range(links[i].iv, links[i].iv + links[i].nv):
            if not driven[j]:
                x[j] += power(column_of(columns[j]), W)


@kernel
def accumulate_wrenches_inward(tree, work):
    """Add to the wrench of each body, in place, those of all its descendants."""
    links, bodies, wrenches = tree.links, work.bodies, work.wrenches
    for i in range(len(links) - 1, 0, -1):
        inner = wrenches[links[i].parent]
        store_force(inner, load_force(inner) + shift_force(load_force(wrenches[i]), load(bodies[i].r)))
