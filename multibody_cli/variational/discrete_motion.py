"""Strides: how every body goes from the start of a step to its end, and with which momentum.

A body whose centre of mass goes from c to c' in a step h while it turns by the unit quaternion (s, u), in world axes,
from the orientation in which its central inertia is J, has the discrete Lagrangian of free motion

    L_d = m |c' - c|^2 / (2 h)  +  (2 / h) u . J u

and the momentum, by the discrete Legendre transforms, which for free motion are one and the same at both ends,

    p = m (c' - c) / h                           linear,
    l = (2 / h) (s J u + u x J u)                angular, about the centre of mass, world axes.

Both are constants of a body that nothing pushes, and c moves uniformly.  The quaternion in place of a logarithm costs
no trigonometry and changes L_d in its third order in h; half a revolution in a step is out of its reach.

Sources: Bruedigam and Manchester, (22)-(33), of which (33) is twice l; Lee, Liu, Park and Srinivasa, (16)-(21), where
the logarithm of the whole motion of the body stands in place of (c' - c, u).
"""

from __future__ import annotations

import math

import numpy as np

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import ZERO, cross, dot
from multibody_cli.spatial.values import Force, Motion, Vec3
from multibody_cli.tree.articulated_body import own_inertia
from multibody_cli.tree.kinematics import central_inertia, inertial_wrench

STRIDE = np.dtype(
    [
        (name, "f8", size)
        for name, size in {
            "x": 3,  # position of the joint frame's origin at the end of the step
            "R": 9,  # its orientation there
            "R_start": 9,  # its orientation at the start
            "J": 6,  # central inertia there, world axes
            "c": 3,  # centre of mass there
            "t": 3,  # momentum that the body brings to the start, about its origin there
            "f": 3,
            "push_t": 3,  # what pushes it there, gravity included
            "push_f": 3,
            "spin": 3,  # momentum of the step: l and p
            "drift": 3,
            "left_t": 3,  # impulse that the step was left without, of a body that moves by itself
            "left_f": 3,
        }.items()
    ]
)
"""One row a body."""


@formula
def half_turn(R, R_end):
    """The unit quaternion (s, u), s > 0, of the rotation from R to R_end, in the axes in which these are given."""
    s = 0.5 * math.sqrt(1.0 + dot(R.x, R_end.x) + dot(R.y, R_end.y) + dot(R.z, R_end.z))
    return s, (0.25 / s) * (cross(R.x, R_end.x) + cross(R.y, R_end.y) + cross(R.z, R_end.z))


@formula
def angular_momentum(J, s, u, h):
    """Momentum l of a turn (s, u) in a step h."""
    Ju = J @ u
    return (2.0 / h) * (s * Ju + cross(u, Ju))


@formula
def centre_ahead(link, stride):
    """Centre of mass at the end of the step."""
    return load(stride.x) + load(stride.R) @ load(link.com)


# --- the start of a step ------------------------------------------------------------------------------------------
@kernel
def keep_start(tree, bodies, strides):
    """Keep the inertias of placed and pushed bodies where a step starts, and what pushes them there."""
    links = tree.links
    g = Vec3(tree.gravity[0], tree.gravity[1], tree.gravity[2])
    for i in range(1, len(links)):
        link, body, stride = links[i], bodies[i], strides[i]
        R = load(body.R)
        r, J = R @ load(link.com), central_inertia(link, R)
        placed = inertial_wrench(link, J, r, load(body.w), load(body.alpha), load(body.a))
        weight = link.mass * g
        push = placed - load_force(body) + Force(cross(r, weight), weight)
        store(stride.J, J)
        store(stride.push_t, push.t)
        store(stride.push_f, push.f)


@formula
def push_of(stride):
    """What pushes a body at the start of its step, about its origin."""
    return Force(load(stride.push_t), load(stride.push_f))


@kernel
def kick(strides, h):
    """Add to the momenta at the start what the pushes there bring in a time h."""
    for i in range(1, len(strides)):
        stride = strides[i]
        store_force(stride, load_force(stride) + h * push_of(stride))


@kernel
def push_all(strides, h, wrenches):
    """Write what the pushes at the start bring in a time h as impulses on the bodies."""
    for i in range(1, len(strides)):
        store_force(wrenches[i], h * push_of(strides[i]))


@kernel
def add_wrenches(strides, wrenches):
    """Add impulses at the start to the momenta that the bodies bring there."""
    for i in range(1, len(strides)):
        store_force(strides[i], load_force(strides[i]) + load_force(wrenches[i]))


# --- on the way ---------------------------------------------------------------------------------------------------
@kernel
def find_lacks(links, bodies, strides, h, wrenches):
    """Impulses that the bodies lack to stride as they do: momentum at the start less that of the step; keep the latter.

    Both are about the origins at the start, in world axes, as the wrenches of placed bodies are.
    """
    for i in range(1, len(links)):
        link, body, stride = links[i], bodies[i], strides[i]
        s, u = half_turn(load(stride.R_start), load(stride.R))
        spin = angular_momentum(load(stride.J), s, u, h)
        c = load(stride.c)
        p = (link.mass / h) * (centre_ahead(link, stride) - c)
        store(stride.spin, spin)
        store(stride.drift, p)
        r = c - load(body.x)
        store_force(wrenches[i], load_force(stride) - Force(spin + cross(r, p), p))


@kernel
def leave_over(links, strides, wrenches) -> float:
    """Keep the impulses that bodies still lack, of those that move by themselves; the largest of their numbers."""
    most = 0.0
    for i in range(1, len(links)):
        if links[i].nv == 6:
            w = load_force(wrenches[i])
            store(strides[i].left_t, w.t)
            store(strides[i].left_f, w.f)
            most = max(most, abs(w.t.x), abs(w.t.y), abs(w.t.z), abs(w.f.x), abs(w.f.y), abs(w.f.z))
    return most


@kernel
def arrive(links, strides):
    """Bring poses and momenta of the step to its end, the latter about the origins there, as those of the next start.

    To the last bit, whatever rounding placing the bodies there anew has: so momenta are not lost from step to step.
    """
    for i in range(1, len(links)):
        stride = strides[i]
        c, p = centre_ahead(links[i], stride), load(stride.drift)
        left = Force(load(stride.left_t), load(stride.left_f))
        store_force(stride, left + Force(load(stride.spin) + cross(c - load(stride.x), p), p))
        store(stride.c, c)
        store(stride.R_start, load(stride.R))


@kernel
def find_lacks_at_start(links, bodies, strides, wrenches):
    """Momenta at the start less those of the bodies at the velocities with which they were placed."""
    for i in range(1, len(links)):
        store_force(wrenches[i], load_force(strides[i]) - momentum_of(links[i], bodies[i]))


@formula
def momentum_of(link, body):
    """Momentum of a placed body about its origin."""
    return own_inertia(link, body) @ Motion(load(body.w), load(body.v))


@kernel
def keep_momenta(links, bodies, strides):
    """Let the bodies start where they are, with the momenta of the velocities with which they were placed."""
    for i in range(1, len(links)):
        body, stride = bodies[i], strides[i]
        momentum = momentum_of(links[i], body)
        store_force(stride, momentum)
        store(stride.R_start, load(body.R))
        store(stride.c, load(body.x) + load(body.R) @ load(links[i].com))
        store(stride.drift, momentum.f)
        store(stride.spin, momentum.t - cross(load(stride.c) - load(body.x), momentum.f))


@kernel
def find_momentum(strides, momentum):
    """Momentum map of the discrete Lagrangian of the last step: linear, and angular about the world's origin, (6,)."""
    linear, angular = ZERO, ZERO
    for i in range(1, len(strides)):
        p = load(strides[i].drift)
        linear = linear + p
        angular = angular + load(strides[i].spin) + cross(load(strides[i].c), p)
    store(momentum[:3], linear)
    store(momentum[3:], angular)


@kernel
def turns_too_far(strides):
    """Whether a body with inertia turns by more than a quarter of a revolution in a step.

    Beyond that l falls again as the angle grows: a second solution of the equations, which is not the motion.
    """
    for i in range(1, len(strides)):
        s, _ = half_turn(load(strides[i].R_start), load(strides[i].R))
        J = load(strides[i].J)
        if s * s < 0.5 and J.xx + J.yy + J.zz > 0.0:
            return True
    return False


# --- energy -------------------------------------------------------------------------------------------------------
@kernel
def stride_energy(links, strides, h) -> float:
    """Kinetic part of the discrete energy -dL_d/dh of a step, J, before bodies arrive."""
    energy = 0.0
    for i in range(1, len(links)):
        link, stride = links[i], strides[i]
        d = centre_ahead(link, stride) - load(stride.c)
        _, u = half_turn(load(stride.R_start), load(stride.R))
        energy += 0.5 * link.mass * dot(d, d) + 2.0 * dot(u, load(stride.J) @ u)
    return energy / (h * h)


@kernel
def move_velocities(links, bodies):
    """Add the changes of motion of all bodies to their velocities."""
    for i in range(1, len(links)):
        body = bodies[i]
        store(body.w, load(body.w) + load(body.dw))
        store(body.v, load(body.v) + load(body.dv))
