"""Discrete motions: the displacement of every body over a step, and its discrete momentum.

In a step h the center of mass of a body moves from c to c', and the body rotates by the unit quaternion (s, u), in
world axes, that is by the rotation vector a u with a(y) = 2 asin(sqrt y) / sqrt y and y = u . u.  Its central inertia
at the start of the step is J.  The discrete Lagrangian of free motion is

    L_d = m |c' - c|^2 / (2 h)  +  a^2 u . J u / (2 h)

An additional small rotation w at the end changes the quaternion by du = (s w + w x u) / 2, ds = -u . w / 2, and y by
s u . w.  The discrete Legendre transforms give the momentum.  For free motion it is the same at both ends of the step:

    p = m (c' - c) / h                                  linear,
    l = (a^2 k / 2 + b (u . J u) u) / h                 angular, about the center of mass, world axes,
        k = s J u + u x J u,   b = s a a_y

Without applied forces, p and l are constant and c moves uniformly.  A rotation about a principal axis is exact: l is J
times the rotation vector over h.  With a = 2 in place of a(y), the same formulas are the scheme of Bruedigam and
Manchester, whose rotation by an angle phi in a step has l = J sin(phi) / h, so that a rotor turns too far by phi^3 / 6.
Rotations of half a revolution or more in a step cannot be represented.

For Newton's method: with r, e from the body origin to its center of mass at the start and at the end, an additional
twist (w, v) h at the end, in world axes about the origin there, adds to the momentum

    f = m (v + w x e)                                    linear
    t = L w + r x f,                                     angular, about the origin at the start
    L = a^2 (s A - A [u] - J u u^T) / 4 + b (k u^T + u k^T) + (u . J u) (g u u^T + b (s 1 - [u]) / 2)
        A = s J + [u] J - [J u],   g = (a_y^2 + a a_yy) s^2 - a a_y / 2

The derivative, times h, is  [[L - m [r] [e], m [r]], [-m [e], m 1]].

With `discretization: se3` the discrete Lagrangian has a term that couples translation and rotation (`se3`).

Sources: Bruedigam and Manchester 2020, (22)-(33), of which (33) is twice l, and (36)-(39) for the derivative, here in
world axes.
"""

from __future__ import annotations

import math

import numpy as np

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import (
    UNIT,
    ZERO,
    cross,
    dot,
    no_force,
    outer,
    power,
    shift_force,
    skew,
    skew_times,
    times_skew,
)
from multibody_cli.spatial.values import Force, Mat3, Motion, Vec3
from multibody_cli.tree.articulated_body import rigid_body_inertia
from multibody_cli.tree.jacobian import column_of
from multibody_cli.tree.kinematics import central_inertia, inertial_wrench
from multibody_cli.tree.markers import update_markers
from multibody_cli.variational.se3 import (
    add_coupling_derivative,
    coupling_change,
    coupling_factor,
    coupling_momentum,
)

DISCRETE_MOTION = np.dtype(
    [
        (name, "f8", size) if size > 1 else (name, "f8")
        for name, size in {
            "x": 3,  # position of the joint frame's origin at the end of the step
            "R": 9,  # its orientation there
            "R_start": 9,  # its orientation at the start
            "J": 6,  # central inertia there, world axes
            "c": 3,  # center of mass there
            "coupled_mass": 1,  # in the term that couples translation and rotation: the mass of the body, or 0
            "t": 3,  # momentum at the start, about the origin there
            "f": 3,
            "applied_t": 3,  # applied wrench there, gravity included
            "applied_f": 3,
            "angular_momentum": 3,  # discrete momentum of the step: l and p
            "linear_momentum": 3,
            "residual_t": 3,  # residual impulse of the step, of a free body
            "residual_f": 3,
        }.items()
    ]
)
"""One row per body."""


SMALL = 3e-3
"""|u|^2 below which the power series of the rotation vector is exact to round-off: 6.3 degrees."""


@formula
def relative_quaternion(R, R_end):
    """Return the unit quaternion (s, u), s > 0, of the rotation from R to R_end, in the axes of these matrices."""
    s = 0.5 * math.sqrt(1.0 + dot(R.x, R_end.x) + dot(R.y, R_end.y) + dot(R.z, R_end.z))
    return s, (0.25 / s) * (cross(R.x, R_end.x) + cross(R.y, R_end.y) + cross(R.z, R_end.z))


@formula
def rotation_factor(s, u):
    """Return the factor a(y) of u in the rotation vector of a quaternion, and its derivatives a_y and a_yy."""
    y = dot(u, u)
    if y < SMALL:  # the power series of 2 asin(x) / x in y = x^2
        a = 2.0 + y * (1 / 3 + y * (3 / 20 + y * (5 / 56 + y * (35 / 576 + y * (63 / 1408 + y * (231 / 6656))))))
        slope = 1 / 3 + y * (3 / 10 + y * (15 / 56 + y * (35 / 144 + y * (315 / 1408 + y * (693 / 3328)))))
        curve = 3 / 10 + y * (15 / 28 + y * (35 / 48 + y * (315 / 352 + y * (3465 / 3328))))
        return a, slope, curve
    a = 2.0 * math.atan2(math.sqrt(y), s) / math.sqrt(y)
    slope = (1.0 / s - 0.5 * a) / y
    return a, slope, (0.5 / (s * s * s) - 1.5 * slope) / y


@formula
def discrete_angular_momentum(J, s, u, h):
    """Return the angular momentum l of a rotation (s, u) in a step h."""
    Ju, (a, slope, _) = J @ u, rotation_factor(s, u)
    return (0.5 * a * a / h) * (s * Ju + cross(u, Ju)) + (s * a * slope * dot(u, Ju) / h) * u


@formula
def end_center_of_mass(link, discrete_motion):
    """Return the center of mass at the end of the step, world frame."""
    return load(discrete_motion.x) + load(discrete_motion.R) @ load(link.com)


@formula
def coupling_of(link, discrete_motion):
    """Return the variables of the coupling term: the displacement of the center of mass, (s, u), and its factors."""
    s, u = relative_quaternion(load(discrete_motion.R_start), load(discrete_motion.R))
    a, slope, curve = rotation_factor(s, u)
    D = end_center_of_mass(link, discrete_motion) - load(discrete_motion.c)
    return D, s, u, coupling_factor(dot(u, u), a, slope, curve)


# --- the start of a step ------------------------------------------------------------------------------------------
@kernel
def store_start_of_step(tree, bodies, discrete_motions):
    """Store the central inertias of the bodies and the applied wrenches at the start of a step.

    The kinematics and the forces of that state must have been computed.
    """
    links = tree.links
    g = Vec3(tree.gravity[0], tree.gravity[1], tree.gravity[2])
    for i in range(1, len(links)):
        link, body, discrete_motion = links[i], bodies[i], discrete_motions[i]
        R = load(body.R)
        r, J = R @ load(link.com), central_inertia(link, R)
        inertial = inertial_wrench(link, J, r, load(body.w), load(body.alpha), load(body.a))
        weight = ZERO if link.ignores_gravity else link.mass * g
        applied = inertial - load_force(body) + Force(cross(r, weight), weight)
        store(discrete_motion.J, J)
        store(discrete_motion.applied_t, applied.t)
        store(discrete_motion.applied_f, applied.f)


@formula
def applied_wrench(discrete_motion):
    """Return the wrench applied to a body at the start of its step, gravity included, about its origin."""
    return Force(load(discrete_motion.applied_t), load(discrete_motion.applied_f))


@kernel
def kick(discrete_motions, h):
    """Add the impulses of the applied wrenches over a time h to the momenta at the start."""
    for i in range(1, len(discrete_motions)):
        discrete_motion = discrete_motions[i]
        store_force(discrete_motion, load_force(discrete_motion) + h * applied_wrench(discrete_motion))


@kernel
def write_applied_impulses(discrete_motions, h, wrenches):
    """Write the impulses of the applied wrenches over a time h into `wrenches`."""
    for i in range(1, len(discrete_motions)):
        store_force(wrenches[i], h * applied_wrench(discrete_motions[i]))


@kernel
def add_impulses(discrete_motions, wrenches):
    """Add impulses at the start of the step to the momenta there."""
    for i in range(1, len(discrete_motions)):
        store_force(discrete_motions[i], load_force(discrete_motions[i]) + load_force(wrenches[i]))


# --- momenta -------------------------------------------------------------------------------------------------------
@kernel
def store_discrete_momenta(links, discrete_motions, h):
    """Compute the momenta of the step at its end: angular about the center of mass there, and linear."""
    for i in range(1, len(links)):
        link, discrete_motion = links[i], discrete_motions[i]
        s, u = relative_quaternion(load(discrete_motion.R_start), load(discrete_motion.R))
        angular = discrete_angular_momentum(load(discrete_motion.J), s, u, h)
        linear = (link.mass / h) * (end_center_of_mass(link, discrete_motion) - load(discrete_motion.c))
        if discrete_motion.coupled_mass > 0.0:
            D, s, u, factor = coupling_of(link, discrete_motion)
            coupling = coupling_momentum(discrete_motion.coupled_mass / h, D, s, u, factor)
            angular, linear = angular + coupling.t, linear + coupling.f
        store(discrete_motion.angular_momentum, angular)
        store(discrete_motion.linear_momentum, linear)


@formula
def momentum_at_start(link, body, discrete_motion):
    """Return the momentum of the step about the origin of a body at the start."""
    angular, linear = load(discrete_motion.angular_momentum), load(discrete_motion.linear_momentum)
    if discrete_motion.coupled_mass > 0.0:  # otherwise the momentum has the direction of the displacement
        angular = angular + cross(end_center_of_mass(link, discrete_motion) - load(discrete_motion.c), linear)
    return Force(angular + cross(load(discrete_motion.c) - load(body.x), linear), linear)


@kernel
def store_body_residuals(links, columns, discrete_motions, wrenches) -> float:
    """Store the residual impulses of the free bodies; return the largest absolute component, N s or N m s.

    Those of points, plane and affine bodies are along their motion subspaces, whose columns are orthonormal.
    """
    largest = 0.0
    for i in range(1, len(links)):
        w = load_force(wrenches[i])
        if links[i].nv < 6:
            W, w = w, no_force()
            for j in range(links[i].iv, links[i].iv + links[i].nv):
                S = column_of(columns[j])
                w = w + power(S, W) * Force(S.w, S.v)
        store(discrete_motions[i].residual_t, w.t)
        store(discrete_motions[i].residual_f, w.f)
        largest = max(largest, abs(w.t.x), abs(w.t.y), abs(w.t.z), abs(w.f.x), abs(w.f.y), abs(w.f.z))
    return largest


@kernel
def discrete_legendre_transform(links, discrete_motions):
    """Move poses and momenta to the end of the step, p' = D_2 L_d; momenta are about the origins there.

    The stored values are copied, not computed from the kinematics at the end, so that no momentum is lost to round-off
    from step to step.
    """
    for i in range(1, len(links)):
        discrete_motion = discrete_motions[i]
        c, p = end_center_of_mass(links[i], discrete_motion), load(discrete_motion.linear_momentum)
        residual = Force(load(discrete_motion.residual_t), load(discrete_motion.residual_f))
        store_force(
            discrete_motion,
            residual + Force(load(discrete_motion.angular_momentum) + cross(c - load(discrete_motion.x), p), p),
        )
        store(discrete_motion.c, c)
        store(discrete_motion.R_start, load(discrete_motion.R))


@kernel
def momentum_residuals(links, bodies, discrete_motions, wrenches):
    """Compute the momenta at the start minus those of the current body velocities."""
    for i in range(1, len(links)):
        store_force(wrenches[i], load_force(discrete_motions[i]) - body_momentum(links[i], bodies[i]))


@formula
def body_momentum(link, body):
    """Return the momentum of a body about its origin, from its current velocity."""
    return rigid_body_inertia(link, body) @ Motion(load(body.w), load(body.v))


@kernel
def initialize_momenta(links, bodies, discrete_motions):
    """Set the momenta at the start to those of the current body velocities."""
    for i in range(1, len(links)):
        body, discrete_motion = bodies[i], discrete_motions[i]
        momentum = body_momentum(links[i], body)
        store_force(discrete_motion, momentum)
        store(discrete_motion.R_start, load(body.R))
        store(discrete_motion.c, load(body.x) + load(body.R) @ load(links[i].com))
        store(discrete_motion.linear_momentum, momentum.f)
        store(discrete_motion.angular_momentum, momentum.t - cross(load(discrete_motion.c) - load(body.x), momentum.f))


@kernel
def momentum_map(links, discrete_motions, end_impulses, momentum):
    """Compute the momentum map of the last step, (6,): linear, angular about the world origin.

    `end_impulses` are those of forces within the step at its end, which belong to the discrete Lagrangian.  Directors
    of affine bodies have angular momentum alone, and rotors none, as in `tree.energy.momentum`.
    """
    linear, angular = ZERO, ZERO
    for i in range(1, len(links)):
        p, c = load(discrete_motions[i].linear_momentum), load(discrete_motions[i].c)
        if not links[i].ignores_gravity:
            linear = linear + p
        angular = angular + load(discrete_motions[i].angular_momentum) + cross(c, p)
    for i in range(1, len(end_impulses)):
        W = load_force(end_impulses[i])
        if not links[i].ignores_gravity:
            linear = linear + W.f
        angular = angular + W.t + cross(load(discrete_motions[i].x), W.f)
    store(momentum[:3], linear)
    store(momentum[3:], angular)


@kernel
def exceeds_rotation_limit(discrete_motions):
    """Return whether a body with inertia rotates by more than a quarter of a revolution in the step.

    Beyond it, the equations may have a second solution, which is not the motion.
    """
    for i in range(1, len(discrete_motions)):
        s, _ = relative_quaternion(load(discrete_motions[i].R_start), load(discrete_motions[i].R))
        J = load(discrete_motions[i].J)
        if s * s < 0.5 and J.xx + J.yy + J.zz > 0.0:
            return True
    return False


@kernel
def extent_of(tree, discrete_motions):
    """Return the largest absolute coordinate of a body, relative to the length of the mechanism, but at least 1."""
    largest = tree.length
    for i in range(1, len(discrete_motions)):
        x = load(discrete_motions[i].x)
        largest = max(largest, abs(x.x), abs(x.y), abs(x.z))
    return largest / tree.length


@kernel
def add_velocity_changes(tree, bodies):
    """Add the velocity changes (dw, dv) of all bodies to their velocities; markers follow."""
    for i in range(1, len(tree.links)):
        body = bodies[i]
        store(body.w, load(body.w) + load(body.dw))
        store(body.v, load(body.v) + load(body.dv))
    update_markers(tree, bodies)


# --- derivative of the momentum -----------------------------------------------------------------------------------
@formula
def angular_block(discrete_motion):
    """Return the matrix L of a body."""
    s, u = relative_quaternion(load(discrete_motion.R_start), load(discrete_motion.R))
    return momentum_derivative(load(discrete_motion.J), s, u)


@formula
def momentum_derivative(J, s, u):
    """Return the matrix L for a rotation (s, u)."""
    Ju, (a, slope, curve) = J @ u, rotation_factor(s, u)
    A = skew_times(u, J) - skew(Ju) + s * Mat3(J @ UNIT.x, J @ UNIT.y, J @ UNIT.z)
    k, energy, b = s * Ju + cross(u, Ju), dot(u, Ju), s * a * slope
    g = (slope * slope + a * curve) * s * s - 0.5 * a * slope
    L = (0.25 * a * a) * (s * A - times_skew(A, u) - outer(Ju, u)) + b * (outer(k, u) + outer(u, k))
    return L + (energy * g) * outer(u, u) + (0.5 * energy * b) * (s * UNIT - skew(u))


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
    if discrete_motion.coupled_mass > 0.0:
        D, s, u, factor = coupling_of(link, discrete_motion)
        add_coupling_derivative(wrenches, k, discrete_motion.coupled_mass, D, s, u, factor, r, e)


@kernel
def write_projected_derivative(numbers, node, p, link, body, discrete_motion, columns):
    """Write the derivative for a link of a body that is not rigid, in coordinates p and following of the body.

    The motion subspace of such a link is the same at both ends of a step.
    """
    L, (r, e) = angular_block(discrete_motion), lever_arms(link, body, discrete_motion)
    for j in range(link.nv):
        y = column_of(columns[link.iv + j])
        f = link.mass * (y.v + cross(y.w, e))
        W = Force(L @ y.w + cross(r, f), f)
        if discrete_motion.coupled_mass > 0.0:
            D, s, u, factor = coupling_of(link, discrete_motion)
            F = coupling_change(discrete_motion.coupled_mass, D, s, u, factor, y.w, y.v + cross(y.w, e))
            W = W + shift_force(F, r)
        for k in range(link.nv):
            numbers[6 * (node.block + (p + k) * node.cells) + p + j] = power(column_of(columns[link.iv + k]), W)
