"""Bushings: springs and dampers in six directions between a frame F of the parent and a frame M of the child.

With p the origin of M in F, and t the rotation vector of M in F, the elastic energy is (p . K p + t . A t) / 2 with
diagonal K and A.  The wrench on the child, at the origin of M in axes of F, is

    force   -(K p + D dp/dt),        moment   -(J_r(t)^-1 A t + B w),

with w the angular velocity of M in F; the opposite wrench acts on the parent at the same point.  The rotation vector t
is the shortest one, of at most a half turn.

Source: as two spring-dampers of Sueda, notes 1.9.6; the moment is the gradient of the energy.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.contract import ForceElement, SceneEntry
from multibody_cli.forces.variation import add_block, add_wrench, block_at
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.points import displacement_of
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
from multibody_cli.spec import FrameOn, Pose, Spec, Vector, Vector3, units
from multibody_cli.spec.entries import BetweenSpec, PackingContext, Place

_NONE: Vector = (0.0, 0.0, 0.0)


class BushingStiffness(Spec):
    """Stiffness in six directions."""

    EXAMPLE = "{linear: [x, y, z], angular: [x, y, z]}"

    linear: Annotated[Vector, Vector3(units.STIFFNESS, least=0.0)] = Field(_NONE, description="Along x, y, z, N/m.")
    angular: Annotated[Vector, Vector3(units.ANGULAR_STIFFNESS, least=0.0)] = Field(
        _NONE, description="For the rotation vector, N*m/rad."
    )


class BushingDamping(Spec):
    """Damping in six directions."""

    EXAMPLE = "{linear: [x, y, z], angular: [x, y, z]}"

    linear: Annotated[Vector, Vector3(units.DAMPING, least=0.0)] = Field(_NONE, description="Along x, y, z, N*s/m.")
    angular: Annotated[Vector, Vector3(units.ANGULAR_DAMPING, least=0.0)] = Field(
        _NONE, description="About x, y, z, N*m*s/rad."
    )


class BushingSpec(BetweenSpec):
    """Springs and dampers in six directions between a frame of one body and a frame of another."""

    type: Literal["bushing"]
    parent: str = Field(description="Body to whose frame the stiffness refers, or `world`.")
    child: str = Field(description="The other body, or `world`.")
    origin: Annotated[Pose, FrameOn("parent")] = Field(
        Pose(), description="Frame on the parent, or its name; stiffness and damping refer to its axes."
    )
    child_origin: Annotated[Pose, FrameOn("child")] = Field(
        Pose(), description="Frame on the child, or its name; it coincides with the frame on the parent at rest."
    )
    stiffness: BushingStiffness = Field(description="Stiffness.")
    damping: BushingDamping = Field(BushingDamping(), description="Damping.")

    @property
    def bodies(self) -> list[tuple[Place, str]]:
        """Parent and child, whose orientation the axes of the frames need."""
        return [(("parent",), self.parent), (("child",), self.child)]


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


# --- kinematics -------------------------------------------------------------------------------------------------------
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
def rates_of(bushing, inner, outer, offset, bodies):
    """Velocity of the origin of M relative to F, and angular velocity of M relative to F, world axes."""
    parent, child = bodies[bushing.parent], bodies[bushing.child]
    w = load(parent.w)
    v = load(child.v) + cross(load(child.w), outer) - load(parent.v) - cross(w, inner)
    return v - cross(w, offset), load(child.w) - w


# --- forces -----------------------------------------------------------------------------------------------------------
@formula
def force_on_child(bushing, F, offset, rate):
    """Force on the child, world axes."""
    p, dp = transposed_times(F, offset), transposed_times(F, rate)
    return -(F @ (scaled(load(bushing.linear_stiffness), p) + scaled(load(bushing.linear_damping), dp)))


@formula
def moment_on_child(bushing, F, turn, spin):
    """Moment on the child at the origin of M, world axes."""
    back = inverse_right_jacobian_times(turn, scaled(load(bushing.angular_stiffness), turn))
    return -(F @ (back + scaled(load(bushing.angular_damping), transposed_times(F, spin))))


@formula
def apply_to_both(bushing, bodies, inner, outer, force, moment):
    """Apply a force and a moment on the child at the point with these levers, and their opposites to the parent."""
    if bushing.child > 0:
        apply_wrench(bodies[bushing.child], moment + cross(outer, force), force)
    if bushing.parent > 0:
        apply_wrench(bodies[bushing.parent], -moment - cross(inner, force), -force)


@formula
def apply_force(bushing, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the wrenches to the bodies, and add the loss of the dampers to the account."""
    F = axes_of(bushing, bodies)
    inner, outer, offset = levers_of(bushing, bodies)
    rate, spin = rates_of(bushing, inner, outer, offset, bodies)
    force = force_on_child(bushing, F, offset, rate)
    moment = moment_on_child(bushing, F, turn_of(bushing, F, bodies), spin)
    apply_to_both(bushing, bodies, inner + offset, outer, force, moment)
    dp, w = transposed_times(F, rate), transposed_times(F, spin)
    loss = dot(dp, scaled(load(bushing.linear_damping), dp)) + dot(w, scaled(load(bushing.angular_damping), w))
    powers[bushing.account] += loss


@formula
def elastic_energy(bushing, forces, q, bodies) -> float:
    """Elastic energy, J."""
    F = axes_of(bushing, bodies)
    _, _, offset = levers_of(bushing, bodies)
    p, turn = transposed_times(F, offset), turn_of(bushing, F, bodies)
    energy = 0.5 * dot(p, scaled(load(bushing.linear_stiffness), p))
    return energy + 0.5 * dot(turn, scaled(load(bushing.angular_stiffness), turn))


# --- stiffness and damping --------------------------------------------------------------------------------------------
@formula
def stiffness_damping_product(bushing, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add K and D times the motion change to the wrenches: see `forces.variation`."""
    F = axes_of(bushing, bodies)
    parent, child = bodies[bushing.parent], bodies[bushing.child]
    inner, outer, offset = levers_of(bushing, bodies)
    moved = displacement_of(child, outer) - displacement_of(parent, inner) - cross(load(parent.dw), offset)
    turned = load(child.dw) - load(parent.dw)
    p, rotated = transposed_times(F, moved), transposed_times(F, turned)
    K, A = load(bushing.linear_stiffness), load(bushing.angular_stiffness)
    D, B = load(bushing.linear_damping), load(bushing.angular_damping)
    force = -(F @ scaled(displacement_factor * K + velocity_factor * D, p))
    moment = -(F @ scaled(displacement_factor * A + velocity_factor * B, rotated))
    at_child, at_parent = cross(outer, force), cross(inner + offset, force)
    if exact:
        extra_force, extra_moment = exact_terms(bushing, F, inner, outer, offset, displacement_factor, rotated, bodies)
        force, moment = force + extra_force, moment + extra_moment
        rate, _ = rates_of(bushing, inner, outer, offset, bodies)
        whole = force_on_child(bushing, F, offset, rate)
        swung = displacement_factor * (displacement_of(child, outer) - load(parent.dv))
        at_child = cross(outer, force) + displacement_factor * cross(cross(load(child.dw), outer), whole)
        at_parent = cross(inner + offset, force) + cross(swung, whole)
    if bushing.child > 0:
        add_wrench(wrenches[bushing.child], moment + at_child, force)
    if bushing.parent > 0:
        add_wrench(wrenches[bushing.parent], -moment - at_parent, -force)


@formula
def exact_terms(bushing, F, inner, outer, offset, displacement_factor, rotated, bodies):
    """Return the terms of the exact derivative beyond the approximation: force and moment on the child."""
    parent, child = bodies[bushing.parent], bodies[bushing.child]
    rate, spin = rates_of(bushing, inner, outer, offset, bodies)
    turn, dw = turn_of(bushing, F, bodies), displacement_factor * load(parent.dw)
    A, w = load(bushing.angular_stiffness), load(parent.w)
    swing = cross(load(child.w), cross(displacement_factor * load(child.dw), outer)) - cross(w, cross(dw, inner))
    offset_change = displacement_factor * (displacement_of(child, outer) - displacement_of(parent, inner))
    rate_change = swing - cross(w, offset_change) - cross(dw, rate)
    force = cross(dw, force_on_child(bushing, F, offset, rate))
    force = force - F @ scaled(load(bushing.linear_damping), transposed_times(F, rate_change))
    step = inverse_right_jacobian_times(-turn, displacement_factor * rotated)  # J_l^-1: change of the rotation vector
    pull = inverse_right_jacobian_times(turn, scaled(A, turn))
    bent = inverse_right_jacobian_times(turn, scaled(A, step) - right_jacobian_rate_along(turn, step, pull))
    moment = cross(dw, moment_on_child(bushing, F, turn, spin)) - F @ (bent - scaled(A, displacement_factor * rotated))
    moment = moment + F @ scaled(load(bushing.angular_damping), transposed_times(F, cross(dw, spin)))
    return force, moment


@formula
def add_stiffness_blocks(bushing, forces, t, bodies, displacement_factor, velocity_factor, blocks):
    """Add the diagonal blocks: see `forces.variation`."""
    F = axes_of(bushing, bodies)
    inner, outer, offset = levers_of(bushing, bodies)
    stiff = displacement_factor * load(bushing.linear_stiffness) + velocity_factor * load(bushing.linear_damping)
    turning = displacement_factor * load(bushing.angular_stiffness) + velocity_factor * load(bushing.angular_damping)
    N, J = rotated_diagonal(F, stiff), rotated_diagonal(F, turning)
    if bushing.child > 0:
        add_block(blocks[bushing.child], block_at(N, outer) + angular_block(J))
    if bushing.parent > 0:
        add_block(blocks[bushing.parent], block_at(N, inner + offset) + angular_block(J))


@formula
def angular_block(J):
    """The block of an angular stiffness J (3, 3)."""
    return Inertia(J, Mat3(ZERO, ZERO, ZERO), isotropic(0.0))


def pack(spec: BushingSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a bushing."""
    parent, origin, frame = context.frame(spec.parent, spec.origin)
    child, child_origin, child_frame = context.frame(spec.child, spec.child_origin)
    stiffness, damping = spec.stiffness, spec.damping
    frames = (origin, frame.T.ravel(), child_origin, child_frame.T.ravel())
    return parent, child, *frames, stiffness.linear, damping.linear, stiffness.angular, damping.angular


ELEMENT = ForceElement(
    "bushings",
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
    entry=SceneEntry("springs", "bushing", ("type",), BushingSpec, pack),
)
