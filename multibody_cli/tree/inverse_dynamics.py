"""Inverse dynamics, full mass matrix, and Jacobians of points, for all coordinates of a tree.

With p the bias wrench of a body, its inertial wrench at dv/dt = 0 less the applied wrench,

    tau = J^T (I J a + p) + diag(armature) a - tau_applied        (recursive Newton-Euler algorithm, O(n))

Prescribed coordinates count like free ones.  If forward kinematics has their dv/dt, p includes it, and the motion of
bodies is J times the difference from it.  The columns of balls must have been written (`jacobian.write_ball_columns`).

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), table 5.1; Sueda, notes 2.1 for the Jacobian.
"""

from __future__ import annotations

from multibody_cli.kernel import kernel
from multibody_cli.linalg.vectors import clear
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import ZERO, no_force, power, shift_motion
from multibody_cli.spatial.values import Motion, Vec3
from multibody_cli.tree.articulated_body import (
    add_column_motion,
    load_motion_change,
    rigid_body_inertia,
    store_motion_change,
)
from multibody_cli.tree.jacobian import accumulate_wrenches_inward, column_of
from multibody_cli.tree.joint_wrenches import compute_joint_wrenches


@kernel
def compute_inverse_dynamics(tree, work, a, prescribed, tau):
    """Compute the generalized forces tau (n,) that cause the accelerations a (n,), beyond those in `work`.

    `prescribed` (n,) are the accelerations of forward kinematics; tau is scratch for the difference.
    """
    for j in range(len(tau)):
        tau[j] = a[j] - prescribed[j]
    write_motions(tree, tau, work)
    compute_joint_wrenches(tree, work)
    project_wrenches(tree, work, tau)
    for j in range(len(tau)):
        tau[j] += tree.armature[j] * a[j] - work.tau[j]


@kernel
def fill_mass_matrix(tree, work, x, M):
    """Write the mass matrix M (n, n), column by column; `x` (n,) is scratch."""
    links, bodies, wrenches = tree.links, work.bodies, work.wrenches
    clear(x)
    for k in range(len(x)):
        x[k] = 1.0
        write_motions(tree, x, work)
        store_force(wrenches[0], no_force())
        for i in range(1, len(links)):
            store_force(wrenches[i], rigid_body_inertia(links[i], bodies[i]) @ load_motion_change(bodies[i]))
        accumulate_wrenches_inward(tree, work)
        project_wrenches(tree, work, M[k])
        M[k, k] += tree.armature[k]
        x[k] = 0.0


@kernel
def write_motions(tree, x, work):
    """Write J x for x (n,) into `dw` and `dv` of the bodies."""
    links, bodies, columns = tree.links, work.bodies, work.columns
    store_motion_change(bodies[0], Motion(ZERO, ZERO))
    for i in range(1, len(links)):
        link, body = links[i], bodies[i]
        V = shift_motion(load_motion_change(bodies[link.parent]), load(body.r))
        for j in range(link.iv, link.iv + link.nv):
            V = add_column_motion(V, columns[j], x[j])
        store_motion_change(body, V)


@kernel
def project_wrenches(tree, work, tau):
    """Project the wrench of each joint in `work.wrenches` onto its columns of S, into tau (n,)."""
    links, columns, wrenches = tree.links, work.columns, work.wrenches
    for i in range(1, len(links)):
        W = load_force(wrenches[i])
        for j in range(links[i].iv, links[i].iv + links[i].nv):
            tau[j] = power(column_of(columns[j]), W)


@kernel
def fill_point_jacobian(tree, work, row, point, J):
    """Write the Jacobian J (6, n), [angular; linear], of a point (3,) of the joint frame of a body, in world axes.

    Columns of coordinates that do not move the body are 0.
    """
    links, bodies, columns = tree.links, work.bodies, work.columns
    for k in range(6):
        for j in range(J.shape[1]):
            J[k, j] = 0.0
    r = load(bodies[row].R) @ Vec3(point[0], point[1], point[2])
    i = row
    while i > 0:
        for j in range(links[i].iv, links[i].iv + links[i].nv):
            S = shift_motion(column_of(columns[j]), r)
            J[0, j], J[1, j], J[2, j] = S.w.x, S.w.y, S.w.z
            J[3, j], J[4, j], J[5, j] = S.v.x, S.v.y, S.v.z
        r = r + load(bodies[i].r)
        i = links[i].parent
