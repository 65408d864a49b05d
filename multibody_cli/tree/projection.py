"""The equations of motion in reduced coordinates as the notes write them, with whole matrices: O(n^3) throughout.

    M_r = J^T M J,      f_r = tau + J^T (f - M dJ/dt v)

M holds the bodies' own inertias on its diagonal of 6 x 6 blocks.  Composite rigid bodies (`tree.mass_matrix`) give
the same much sooner; this form is for reading and for checking.

Source: Sueda, notes 2.3, (2.18).
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import ZERO, power
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.articulated_body import own_inertia
from multibody_cli.tree.jacobian import read_motion


@kernel
def project_inertia(tree, work, ways, J, M):
    """M_r, along the ways of the coordinates, from J (6 nb, nv)."""
    links, bodies, way, depth = tree.links, work.bodies, ways.way, ways.depth
    for j in range(len(depth)):
        if depth[j] >= 0:
            for d in range(depth[j]):
                M[j, d] = 0.0
            M[j, depth[j]] = work.armature[j]
    for i in range(1, len(links)):
        A = own_inertia(links[i], bodies[i])
        for j in range(links[i].iv + links[i].nv):  # the columns beyond are 0
            F = A @ read_motion(J, i, j)
            for d in range(depth[j] + 1):
                M[j, d] += power(read_motion(J, i, way[j, d]), F)


@kernel
def project_forces(tree, work, J, dJ, f):
    """F += J^T (f - M dJ/dt v) for the free coordinates of f (nv,), which at the others holds the prescribed dv/dt.

    The bias wrench of a body is what its acceleration takes less f; here this acceleration is worked out anew, as
    dJ/dt v and the prescribed part of J dv/dt on a ground that rises.
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
        W = load_force(body) + own_inertia(links[i], body) @ (A - placed)
        for j in range(count):
            if not driven[j]:
                f[j] -= power(read_motion(J, i, j), W)


@formula
def acceleration_of_ground(bodies):
    """Gravity, as a ground that rises."""
    return Motion(ZERO, load(bodies[0].a))
