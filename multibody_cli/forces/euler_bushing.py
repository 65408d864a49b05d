"""Bushings by Euler angles: springs and dampers for the body-fixed angles about x, y, z of a frame M in a frame F.

The elastic energy is (p . K p + a . A a) / 2 with the angles a.  Their rates are da/dt = N w, with the angular velocity
w of M in F, in axes of F, and the moment on the child, at the origin of M, is -N^T (A a + B da/dt).  All else is as in
`bushing`.  Where the second angle is a right angle, its rates are not defined.

Source: the law of `BushingForce` of OpenSim.
"""

from __future__ import annotations

import math
from typing import Literal

from multibody_cli.forces.bushing import (
    BUSHING,
    BushingSpec,
    angular_block,
    apply_to_both,
    axes_of,
    force_on_child,
    levers_of,
    pack,
    rates_of,
)
from multibody_cli.forces.contract import ForceElement, SceneEntry
from multibody_cli.forces.variation import add_block, add_wrench, block_at
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.points import displacement_of
from multibody_cli.spatial.products import (
    cross,
    dot,
    rotated_diagonal,
    scaled,
    symmetric_outer,
    transposed_product,
    transposed_times,
)
from multibody_cli.spatial.values import Mat3, Vec3


class EulerBushingSpec(BushingSpec):
    """Springs and dampers in six directions, by body-fixed angles about x, y, z."""

    type: Literal["euler_bushing"]  # type: ignore[assignment]


@formula
def angles_of(bushing, F, bodies):
    """Angles about x, y, z of M in F."""
    R = transposed_product(F, load(bodies[bushing.child].R) @ load(bushing.child_frame))
    second = math.asin(min(max(R.z.x, -1.0), 1.0))
    return Vec3(math.atan2(-R.z.y, R.z.z), second, math.atan2(-R.y.x, R.x.x))


@formula
def rows_of(angles):
    """The rows of N as columns of a matrix, which is N^T."""
    sa, ca, sb, cb = math.sin(angles.x), math.cos(angles.x), math.sin(angles.y), math.cos(angles.y)
    third = (1.0 / cb) * Vec3(0.0, -sa, ca)
    return Mat3(Vec3(1.0, 0.0, 0.0) - sb * third, Vec3(0.0, ca, sa), third)


@formula
def row_changes_of(angles, rows, step):
    """Change of the rows along a step of the angles."""
    sa, ca, sb, cb = math.sin(angles.x), math.cos(angles.x), math.sin(angles.y), math.cos(angles.y)
    third = (step.x / cb) * Vec3(0.0, -ca, -sa) + (step.y * sb / cb) * rows.z
    return Mat3(-(cb * step.y) * rows.z - sb * third, step.x * Vec3(0.0, -sa, ca), third)


@formula
def torques_of(bushing, angles, rates):
    """A a + B da/dt."""
    return scaled(load(bushing.angular_stiffness), angles) + scaled(load(bushing.angular_damping), rates)


@formula
def apply_force(bushing, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the wrenches to the bodies, and add the loss of the dampers to the account."""
    F = axes_of(bushing, bodies)
    inner, outer, offset = levers_of(bushing, bodies)
    rate, spin = rates_of(bushing, inner, outer, offset, bodies)
    angles = angles_of(bushing, F, bodies)
    N = rows_of(angles)
    rates = transposed_times(N, transposed_times(F, spin))
    force = force_on_child(bushing, F, offset, rate)
    moment = -(F @ (N @ torques_of(bushing, angles, rates)))
    apply_to_both(bushing, bodies, inner + offset, outer, force, moment)
    dp = transposed_times(F, rate)
    loss = dot(dp, scaled(load(bushing.linear_damping), dp))
    powers[bushing.account] += loss + dot(rates, scaled(load(bushing.angular_damping), rates))


@formula
def elastic_energy(bushing, forces, q, bodies) -> float:
    """Elastic energy, J."""
    F = axes_of(bushing, bodies)
    _, _, offset = levers_of(bushing, bodies)
    p, angles = transposed_times(F, offset), angles_of(bushing, F, bodies)
    energy = 0.5 * dot(p, scaled(load(bushing.linear_stiffness), p))
    return energy + 0.5 * dot(angles, scaled(load(bushing.angular_stiffness), angles))


@formula
def stiffness_damping_product(bushing, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add K and D times the motion change to the wrenches: see `forces.variation`."""
    F = axes_of(bushing, bodies)
    parent, child = bodies[bushing.parent], bodies[bushing.child]
    inner, outer, offset = levers_of(bushing, bodies)
    moved = displacement_of(child, outer) - displacement_of(parent, inner) - cross(load(parent.dw), offset)
    p, rotated = transposed_times(F, moved), transposed_times(F, load(child.dw) - load(parent.dw))
    stiff = displacement_factor * load(bushing.linear_stiffness) + velocity_factor * load(bushing.linear_damping)
    turning = displacement_factor * load(bushing.angular_stiffness) + velocity_factor * load(bushing.angular_damping)
    angles = angles_of(bushing, F, bodies)
    N = rows_of(angles)
    force, moment = -(F @ scaled(stiff, p)), -(F @ (N @ scaled(turning, transposed_times(N, rotated))))
    at_child, at_parent = cross(outer, force), cross(inner + offset, force)
    if exact:
        rate, spin = rates_of(bushing, inner, outer, offset, bodies)
        whole = force_on_child(bushing, F, offset, rate)
        dw, w = displacement_factor * load(parent.dw), transposed_times(F, spin)
        turned = cross(load(child.w), cross(displacement_factor * load(child.dw), outer))
        swing = turned - cross(load(parent.w), cross(dw, inner))
        offset_change = displacement_factor * (displacement_of(child, outer) - displacement_of(parent, inner))
        rate_change = swing - cross(load(parent.w), offset_change) - cross(dw, rate)
        extra = cross(dw, whole) - F @ scaled(load(bushing.linear_damping), transposed_times(F, rate_change))
        force = force + extra
        step = transposed_times(N, displacement_factor * rotated)
        changes = row_changes_of(angles, N, step)
        torques = torques_of(bushing, angles, transposed_times(N, w))
        rates = transposed_times(changes, w) - transposed_times(N, transposed_times(F, cross(dw, spin)))
        bent = changes @ torques + N @ scaled(load(bushing.angular_damping), rates)
        moment = moment - F @ bent - cross(dw, F @ (N @ torques))
        at_child = cross(outer, force) + displacement_factor * cross(cross(load(child.dw), outer), whole)
        swung = displacement_factor * (displacement_of(child, outer) - load(parent.dv))
        at_parent = cross(inner + offset, force) + cross(swung, whole)
    if bushing.child > 0:
        add_wrench(wrenches[bushing.child], moment + at_child, force)
    if bushing.parent > 0:
        add_wrench(wrenches[bushing.parent], -moment - at_parent, -force)


@formula
def add_stiffness_blocks(bushing, forces, t, bodies, displacement_factor, velocity_factor, blocks):
    """Add the diagonal blocks: see `forces.variation`."""
    F = axes_of(bushing, bodies)
    inner, outer, offset = levers_of(bushing, bodies)
    stiff = displacement_factor * load(bushing.linear_stiffness) + velocity_factor * load(bushing.linear_damping)
    turning = displacement_factor * load(bushing.angular_stiffness) + velocity_factor * load(bushing.angular_damping)
    N = rows_of(angles_of(bushing, F, bodies))
    x, y, z = F @ N.x, F @ N.y, F @ N.z
    J = symmetric_outer(turning.x * x, x) + symmetric_outer(turning.y * y, y) + symmetric_outer(turning.z * z, z)
    linear = rotated_diagonal(F, stiff)
    if bushing.child > 0:
        add_block(blocks[bushing.child], block_at(linear, outer) + angular_block(J))
    if bushing.parent > 0:
        add_block(blocks[bushing.parent], block_at(linear, inner + offset) + angular_block(J))


ELEMENT = ForceElement(
    "euler_bushings",
    BUSHING,
    description="springs or muscles between bodies",
    rest="frames",
    account="dissipation",
    implicit=True,
    bodies=("parent", "child"),
    apply_force=apply_force,
    elastic_energy=elastic_energy,
    stiffness_damping_product=stiffness_damping_product,
    add_stiffness_blocks=add_stiffness_blocks,
    entry=SceneEntry("springs", "euler_bushing", ("type",), EulerBushingSpec, pack),
)
