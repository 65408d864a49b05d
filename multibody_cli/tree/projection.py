"""Equations of motion in reduced coordinates as in the notes, with full matrices: O(n^3) throughout.

    M_r = J^T M J,      f_r = tau + J^T (f - M dJ/dt v)

M is the block diagonal of the 6 x 6 inertias of the bodies.  Composite rigid bodies (`tree.mass_matrix`) compute the
same much faster; this form serves as documentation and reference.

Source: Sueda, notes 2.3, (2.18).
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import ZERO, power
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.articulated_body import rigid_body_inertia
from multibody_cli.tree.jacobian import read_motion


@kernel
def project_inertia(tree, work, paths, J, M):
    """Write M_r in the layout of the paths of the coordinates, from J (6 nb, nv)."""
    links, bodies, path, depth = tree.links, work.bodies, paths.path, paths.depth
    for j in range(len(depth)):
        if depth[j] >= 0:
            for d in range(depth[j]):
                M[j, d] = 0.0
            M[j, depth[j]] = work.armature[j]
    for i in range(1, len(links)):
        A = rigid_body_inertia(links[i], bodies[i])
        for j in range(links[i].iv + links[i].nv):  # the columns beyond are 0
            F = A @ read_motion(J, i, j)
            for d in range(depth[j] + 1):
                M[j, d] += power(read_motion(J, i, path[j, d]), F)


@kernel
def project_forces(tree, work, J, dJ, f):
    """Add J^T (f - M dJ/dt v) to the free coordinates of f (nv,); the others hold the prescribed dv/dt.

    The bias wrench of a body includes the acceleration from forward kinematics; this function recomputes that
    acceleration from dJ/dt v and the prescribed part of J dv/dt, and takes the difference.
    """
    links, bodies, driven, v = tree.links, work.bodies, tree.driven, work.v
    for i in range(1, len(links)):
        body, A = bodies[i], acceleration_of_ground(bodies)
        count = links[i].iv + links[i].nv  # the columns beyond are 0
        for j in range(count):
            A = A + v[j] * read_motion(dJ, i, j)
            if driven[j]:
                A = A + f[j] * read_motion(J, i, j)
        placed = Motion(load(body.alpha), load(body.a))
        W = load_force(body) + rigid_body_inertia(links[i], body) @ (A - placed)
        for j in range(count):
            if not driven[j]:
                f[j] -= power(read_motion(J, i, j), W)


@formula
def acceleration_of_ground(bodies):
    """Gravity, as an upward acceleration of the ground."""
    return Motion(ZERO, load(bodies[0].a))
