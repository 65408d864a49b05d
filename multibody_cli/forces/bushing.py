"""Bushings: springs and dampers in six directions between a frame F of the parent and a frame M of the child.

With p the origin of M in F, and t the rotation vector of M in F, the energy is (p . K p + t . A t) / 2 with K and A
diagonal.  In axes of F the child feels, at the origin of M,

    force   -(K p + D dp/dt),        moment   -(J_r(t)^-1 A t + B w),

with w the angular velocity of M in F, and the parent the opposite wrench at the same place.  Beyond a half turn t is
that of the shortest way back.

Source: as two spring-dampers of Sueda, notes 1.9.6; the moment is the gradient of the energy.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.variation import add_block, add_wrench, block_at, displacement_of
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import (
    ZERO,
    cross,
    dot,
    isotropic,
    rotated_diagonal,
    scaled,
    transposed_product,
    transposed_times,
)
from multibody_cli.spatial.rotations import (
    inverse_right_jacobian_times,
    quaternion_of_rotation,
    right_jacobian_rate_along,
    vector_of_quaternion,
)
from multibody_cli.spatial.values import Inertia, Mat3, Vec3

BUSHING = np.dtype(
    [
        ("parent", "i8"),
        ("child", "i8"),
        ("origin", "f8", 3),  # F in the parent's joint frame
        ("frame", "f8", 9),
        ("child_origin", "f8", 3),  # M in the child's joint frame
        ("child_frame", "f8", 9),
        ("linear_stiffness", "f8", 3),
        ("linear_damping", "f8", 3),
        ("angular_stiffness", "f8", 3),
        ("angular_damping", "f8", 3),
        ("account", "i8"),
    ]
)


# --- where the frames are -------------------------------------------------------------------------------------------
@formula
def axes_of(bushing, bodies):
    """The axes of F in the world."""
    return load(bodies[bushing.parent].R) @ load(bushing.frame)


@formula
def levers_of(bushing, bodies):
    """From the parent's origin to F, from the child's to M, and from F to M."""
    parent, child = bodies[bushing.parent], bodies[bushing.child]
    inner, outer = load(parent.R) @ load(bushing.origin), load(child.R) @ load(bushing.child_origin)
    return inner, outer, load(child.x) + outer - load(parent.x) - inner


@formula
def turn_of(bushing, F, bodies):
    """Rotation vector of M in F, in the axes of both."""
    w, x, y, z = quaternion_of_rotation(
        transposed_product(F, load(bodies[bushing.child].R) @ load(bushing.child_frame))
    )
    return vector_of_quaternion(w, Vec3(x, y, z))


@formula
def rates_of(bushing, inner, outer, gap, bodies):
    """How fast M moves against F, as seen from F but in world axes: its origin, and its turning."""
    parent, child = bodies[bushing.parent], bodies[bushing.child]
    w = load(parent.w)
    v = load(child.v) + cross(load(child.w), outer) - load(parent.v) - cross(w, inner)
    return v - cross(w, gap), load(child.w) - w


# --- forces ---------------------------------------------------------------------------------------------------------
@formula
def force_on_child(bushing, F, gap, rate):
    """Force on the child, world axes."""
    p, dp = transposed_times(F, gap), transposed_times(F, rate)
    return -(F @ (scaled(load(bushing.linear_stiffness), p) + scaled(load(bushing.linear_damping), dp)))


@formula
def moment_on_child(bushing, F, turn, spin):
    """Moment on the child at the origin of M, world axes."""
    back = inverse_right_jacobian_times(turn, scaled(load(bushing.angular_stiffness), turn))
    return -(F @ (back + scaled(load(bushing.angular_damping), transposed_times(F, spin))))


@kernel
def push(bushings, bodies, powers):
    """Push the bodies; what the dampers take goes to the account."""
    for k in range(len(bushings)):
        bushing, F = bushings[k], axes_of(bushings[k], bodies)
        inner, outer, gap = levers_of(bushing, bodies)
        rate, spin = rates_of(bushing, inner, outer, gap, bodies)
        force = force_on_child(bushing, F, gap, rate)
        moment = moment_on_child(bushing, F, turn_of(bushing, F, bodies), spin)
        if bushing.child > 0:
            apply_wrench(bodies[bushing.child], moment + cross(outer, force), force)
        if bushing.parent > 0:
            apply_wrench(bodies[bushing.parent], -moment - cross(inner + gap, force), -force)
        dp, w = transposed_times(F, rate), transposed_times(F, spin)
        loss = dot(dp, scaled(load(bushing.linear_damping), dp)) + dot(w, scaled(load(bushing.angular_damping), w))
        powers[bushing.account] += loss


@kernel
def elastic_energy(bushings, bodies) -> float:
    """Energy held by the bushings, J."""
    energy = 0.0
    for k in range(len(bushings)):
        bushing, F = bushings[k], axes_of(bushings[k], bodies)
        _, _, gap = levers_of(bushing, bodies)
        p, turn = transposed_times(F, gap), turn_of(bushing, F, bodies)
        energy += 0.5 * dot(p, scaled(load(bushing.linear_stiffness), p))
        energy += 0.5 * dot(turn, scaled(load(bushing.angular_stiffness), turn))
    return energy


# --- what a change makes of them ------------------------------------------------------------------------------------
@kernel
def vary(bushings, bodies, along, faster, exact, wrenches):
    """Add what a change of the motion makes of the wrenches: see `forces.variation`."""
    for k in range(len(bushings)):
        bushing, F = bushings[k], axes_of(bushings[k], bodies)
        parent, child = bodies[bushing.parent], bodies[bushing.child]
        inner, outer, gap = levers_of(bushing, bodies)
        moved = displacement_of(child, outer) - displacement_of(parent, inner) - cross(load(parent.dw), gap)
        turned = load(child.dw) - load(parent.dw)
        p, t = transposed_times(F, moved), transposed_times(F, turned)
        K, A = load(bushing.linear_stiffness), load(bushing.angular_stiffness)
        D, B = load(bushing.linear_damping), load(bushing.angular_damping)
        force = -(F @ scaled(along * K + faster * D, p))
        moment = -(F @ scaled(along * A + faster * B, t))
        at_child, at_parent = cross(outer, force), cross(inner + gap, force)
        if exact:
            more_force, more_moment = turn_along(bushing, F, inner, outer, gap, along, t, bodies)
            force, moment = force + more_force, moment + more_moment
            rate, _ = rates_of(bushing, inner, outer, gap, bodies)
            whole = force_on_child(bushing, F, gap, rate)
            swung = along * (displacement_of(child, outer) - load(parent.dv))
            at_child = cross(outer, force) + along * cross(cross(load(child.dw), outer), whole)
            at_parent = cross(inner + gap, force) + cross(swung, whole)
        if bushing.child > 0:
            add_wrench(wrenches[bushing.child], moment + at_child, force)
        if bushing.parent > 0:
            add_wrench(wrenches[bushing.parent], -moment - at_parent, -force)


@formula
def turn_along(bushing, F, inner, outer, gap, along, t, bodies):
    """What `vary` leaves out: F turns, rates turn with the bodies, and A acts on a rotation vector."""
    parent, child = bodies[bushing.parent], bodies[bushing.child]
    rate, spin = rates_of(bushing, inner, outer, gap, bodies)
    turn, dw = turn_of(bushing, F, bodies), along * load(parent.dw)
    A, w = load(bushing.angular_stiffness), load(parent.w)
    swing = cross(load(child.w), cross(along * load(child.dw), outer)) - cross(w, cross(dw, inner))
    gap_moved = along * (displacement_of(child, outer) - displacement_of(parent, inner))
    rate_change = swing - cross(w, gap_moved) - cross(dw, rate)
    force = cross(dw, force_on_child(bushing, F, gap, rate))
    force = force - F @ scaled(load(bushing.linear_damping), transposed_times(F, rate_change))
    step = inverse_right_jacobian_times(-turn, along * t)  # J_l^-1: what the turning makes of the rotation vector
    pull = inverse_right_jacobian_times(turn, scaled(A, turn))
    bent = inverse_right_jacobian_times(turn, scaled(A, step) - right_jacobian_rate_along(turn, step, pull))
    moment = cross(dw, moment_on_child(bushing, F, turn, spin)) - F @ (bent - scaled(A, along * t))
    moment = moment + F @ scaled(load(bushing.angular_damping), transposed_times(F, cross(dw, spin)))
    return force, moment


@kernel
def harden(bushings, bodies, along, faster, blocks):
    """Add to the blocks of the bodies."""
    for k in range(len(bushings)):
        bushing, F = bushings[k], axes_of(bushings[k], bodies)
        inner, outer, gap = levers_of(bushing, bodies)
        stiff = along * load(bushing.linear_stiffness) + faster * load(bushing.linear_damping)
        turning = along * load(bushing.angular_stiffness) + faster * load(bushing.angular_damping)
        N, J = rotated_diagonal(F, stiff), rotated_diagonal(F, turning)
        if bushing.child > 0:
            add_block(blocks[bushing.child], block_at(N, outer) + turning_block(J))
        if bushing.parent > 0:
            add_block(blocks[bushing.parent], block_at(N, inner + gap) + turning_block(J))


@formula
def turning_block(J):
    """A stiffness against turning alone."""
    return Inertia(J, Mat3(ZERO, ZERO, ZERO), isotropic(0.0))
