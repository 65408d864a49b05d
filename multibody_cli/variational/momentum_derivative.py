"""The derivative of the momentum of a stride by a further motion of the body at its end.

With the turn (s, u) of the stride, the central inertia J at its start, and r, e from the body's origin to its centre of
mass at the start and at the end, a further twist (w, v) h, in world axes about the origin there, adds

    f = m (v + w x e)                                    linear
    t = L w + r x f,    L = s A - A [u] - J u u^T,       angular, about the origin at the start
                        A = s J + [u] J - [J u]

so that the derivative, times h, is  [[L - m [r] [e], m [r]], [-m [e], m 1]].

Source: Bruedigam and Manchester 2020, (36)-(39), in world axes.
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.kkt.assembly import column_of
from multibody_cli.spatial.memory import load, store_force
from multibody_cli.spatial.products import cross, dot, outer, power, skew, skew_times, times_skew
from multibody_cli.spatial.values import Force, Mat3, Vec3
from multibody_cli.variational.discrete_motion import half_turn


@formula
def turning_of(stride):
    """The matrix L."""
    J, (s, u) = load(stride.J), half_turn(load(stride.R_start), load(stride.R))
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
def levers_of(link, body, stride):
    """The vectors r and e."""
    return load(stride.c) - load(body.x), load(stride.R) @ load(link.com)


@formula
def write_derivative(wrenches, k, link, body, stride):
    """Keep the derivative for a rigid body in the six rows from k on."""
    r, e = levers_of(link, body, stride)
    mr, me, re = link.mass * r, link.mass * e, link.mass * dot(r, e)
    L = turning_of(stride) - outer(e, mr)
    store_force(wrenches[k], Force(Vec3(L.x.x + re, L.y.x, L.z.x), Vec3(0.0, -mr.z, mr.y)))
    store_force(wrenches[k + 1], Force(Vec3(L.x.y, L.y.y + re, L.z.y), Vec3(mr.z, 0.0, -mr.x)))
    store_force(wrenches[k + 2], Force(Vec3(L.x.z, L.y.z, L.z.z + re), Vec3(-mr.y, mr.x, 0.0)))
    store_force(wrenches[k + 3], Force(Vec3(0.0, me.z, -me.y), Vec3(link.mass, 0.0, 0.0)))
    store_force(wrenches[k + 4], Force(Vec3(-me.z, 0.0, me.x), Vec3(0.0, link.mass, 0.0)))
    store_force(wrenches[k + 5], Force(Vec3(me.y, -me.x, 0.0), Vec3(0.0, 0.0, link.mass)))


@kernel
def write_projected(numbers, node, link, body, stride, columns):
    """Keep the derivative for a body of other freedoms, in its own coordinates.

    The columns of such a body are the same at the end of a step as at its start.
    """
    L, (r, e) = turning_of(stride), levers_of(link, body, stride)
    for j in range(link.nv):
        y = column_of(columns[link.iv + j])
        f = link.mass * (y.v + cross(y.w, e))
        p = Force(L @ y.w + cross(r, f), f)
        for k in range(link.nv):
            numbers[6 * (node.block + k * node.cells) + j] = power(column_of(columns[link.iv + k]), p)
