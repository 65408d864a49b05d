"""Derivative of the discrete momentum of a body with respect to its twist at the end of the step.

With the rotation (s, u) of the step, the central inertia J at its start, and r, e from the body origin to its center of
mass at the start and at the end, an additional twist (w, v) h, in world axes about the origin at the end, adds

    f = m (v + w x e)                                    linear
    t = L w + r x f,    L = s A - A [u] - J u u^T,       angular, about the origin at the start
                        A = s J + [u] J - [J u]

The derivative, times h, is  [[L - m [r] [e], m [r]], [-m [e], m 1]].

Source: Bruedigam and Manchester 2020, (36)-(39), in world axes.
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.kkt.assembly import column_of
from multibody_cli.spatial.memory import load, store_force
from multibody_cli.spatial.products import cross, dot, outer, power, skew, skew_times, times_skew
from multibody_cli.spatial.values import Force, Mat3, Vec3
from multibody_cli.variational.discrete_motion import relative_quaternion


@formula
def angular_block(discrete_motion):
    """Return the matrix L."""
    J, (s, u) = load(discrete_motion.J), relative_quaternion(load(discrete_motion.R_start), load(discrete_motion.R))
    Ju = J @ u
    A = (
        skew_times(u, J)
        - skew(Ju)
        + Mat3(
            Vec3(s * J.xx, s * J.xy, s * J.xz), Vec3(s * J.xy, s * J.yy, s * J.yz), Vec3(s * J.xz, s * J.yz, s * J.zz)
        )
    )
    return s * A - times_skew(A, u) - outer(Ju, u)


@formula
def lever_arms(link, body, discrete_motion):
    """Return the vectors r and e."""
    return load(discrete_motion.c) - load(body.x), load(discrete_motion.R) @ load(link.com)


@formula
def write_derivative(wrenches, k, link, body, discrete_motion):
    """Write the derivative for a rigid body into the six rows from k on."""
    r, e = lever_arms(link, body, discrete_motion)
    mr, me, re = link.mass * r, link.mass * e, link.mass * dot(r, e)
    L = angular_block(discrete_motion) - outer(e, mr)
    store_force(wrenches[k], Force(Vec3(L.x.x + re, L.y.x, L.z.x), Vec3(0.0, -mr.z, mr.y)))
    store_force(wrenches[k + 1], Force(Vec3(L.x.y, L.y.y + re, L.z.y), Vec3(mr.z, 0.0, -mr.x)))
    store_force(wrenches[k + 2], Force(Vec3(L.x.z, L.y.z, L.z.z + re), Vec3(-mr.y, mr.x, 0.0)))
    store_force(wrenches[k + 3], Force(Vec3(0.0, me.z, -me.y), Vec3(link.mass, 0.0, 0.0)))
    store_force(wrenches[k + 4], Force(Vec3(-me.z, 0.0, me.x), Vec3(0.0, link.mass, 0.0)))
    store_force(wrenches[k + 5], Force(Vec3(me.y, -me.x, 0.0), Vec3(0.0, 0.0, link.mass)))


@kernel
def write_projected_derivative(numbers, node, link, body, discrete_motion, columns):
    """Write the derivative for a body with fewer degrees of freedom, in its own coordinates.

    The motion subspace of such a body is the same at both ends of a step.
    """
    L, (r, e) = angular_block(discrete_motion), lever_arms(link, body, discrete_motion)
    for j in range(link.nv):
        y = column_of(columns[link.iv + j])
        f = link.mass * (y.v + cross(y.w, e))
        p = Force(L @ y.w + cross(r, f), f)
        for k in range(link.nv):
            numbers[6 * (node.block + k * node.cells) + j] = power(column_of(columns[link.iv + k]), p)
