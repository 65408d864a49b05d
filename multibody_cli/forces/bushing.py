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
from multibody_cli.kernel import bound_kernel, formula, kernel_parameter, template
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.points import displacement_of
from multibody_cli.spatial.products import (
    ZERO,
    cross,
    dot,
    isotropic,
    rotated,
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
from multibody_cli.spatial.values import Inertia, Mat3, Sym3, Vec3
from multibody_cli.spec import FrameOn, Pose, Spec, Vector, Vector3, units
from multibody_cli.spec.entries import BetweenSpec, PackingContext

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
    def bodies(self) -> list[tuple[NodePath, str]]:
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
def rotation_of(bushing, F, bodies):
    """The axes of M in those of F."""
    return transposed_product(F, load(bodies[bushing.child].R) @ load(bushing.child_frame))


@formula
def rates_of(bushing, inner, outer, offset, bodies):
    """Velocity of the origin of M relative to F, and angular velocity of M relative to F, world axes."""
    parent, child = bodies[bushing.parent], bodies[bushing.child]
    w = load(parent.w)
    v = load(child.v) + cross(load(child.w), outer) - load(parent.v) - cross(w, inner)
    return v - cross(w, offset), load(child.w) - w


# --- the law of the rotation ------------------------------------------------------------------------------------------
@kernel_parameter
def coordinates_of(R) -> Any:
    """Return the three coordinates of the rotation R of M in F, rad."""


@kernel_parameter
def torques_of(bushing, angles, w) -> Any:
    """Return the moments of the springs and of the dampers on the child, for the angular velocity w, axes of F."""


@kernel_parameter
def torque_change_of(bushing, angles, w, step, dw) -> Any:
    """Return the change of their sum with a rotation of M in F by `step`, rad, and a change dw of w, axes of F."""


@kernel_parameter
def angular_block_of(angles, diagonal) -> Any:
    """Return minus the derivative by the rotation, for springs with a diagonal stiffness, a Sym3; symmetric."""


# --- forces -----------------------------------------------------------------------------------------------------------
@formula
def force_on_child(bushing, F, offset, rate):
    """Force on the child, world axes."""
    p, dp = transposed_times(F, offset), transposed_times(F, rate)
    return -(F @ (scaled(load(bushing.linear_stiffness), p) + scaled(load(bushing.linear_damping), dp)))


@template(coordinates_of, torques_of)
def apply_force(bushing, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the wrenches to the bodies, and add the loss of the dampers to the account."""
    F = axes_of(bushing, bodies)
    inner, outer, offset = levers_of(bushing, bodies)
    rate, spin = rates_of(bushing, inner, outer, offset, bodies)
    w, dp = transposed_times(F, spin), transposed_times(F, rate)
    force = force_on_child(bushing, F, offset, rate)
    elastic, damping = torques_of(bushing, coordinates_of(rotation_of(bushing, F, bodies)), w)
    moment = F @ (elastic + damping)
    if bushing.child > 0:
        apply_wrench(bodies[bushing.child], moment + cross(outer, force), force)
    if bushing.parent > 0:
        apply_wrench(bodies[bushing.parent], -moment - cross(inner + offset, force), -force)
    powers[bushing.account] += dot(dp, scaled(load(bushing.linear_damping), dp)) - dot(w, damping)


@template(coordinates_of)
def elastic_energy(bushing, forces, q, bodies) -> float:
    """Elastic energy, J."""
    F = axes_of(bushing, bodies)
    _, _, offset = levers_of(bushing, bodies)
    p, angles = transposed_times(F, offset), coordinates_of(rotation_of(bushing, F, bodies))
    energy = 0.5 * dot(p, scaled(load(bushing.linear_stiffness), p))
    return energy + 0.5 * dot(angles, scaled(load(bushing.angular_stiffness), angles))


# --- stiffness and damping --------------------------------------------------------------------------------------------
@formula
def stiffness_of(bushing, displacement_factor, velocity_factor):
    """Stiffness and damping times their factors, of the displacement and of the rotation."""
    linear = displacement_factor * load(bushing.linear_stiffness) + velocity_factor * load(bushing.linear_damping)
    angular = displacement_factor * load(bushing.angular_stiffness) + velocity_factor * load(bushing.angular_damping)
    return linear, angular


@template(coordinates_of, torques_of, torque_change_of, angular_block_of)
def stiffness_damping_product(bushing, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add K and D times the motion change to the wrenches: see `forces.variation`."""
    F = axes_of(bushing, bodies)
    parent, child = bodies[bushing.parent], bodies[bushing.child]
    inner, outer, offset = levers_of(bushing, bodies)
    moved = displacement_of(child, outer) - displacement_of(parent, inner) - cross(load(parent.dw), offset)
    p, rotated_by = transposed_times(F, moved), transposed_times(F, load(child.dw) - load(parent.dw))
    linear, angular = stiffness_of(bushing, displacement_factor, velocity_factor)
    angles = coordinates_of(rotation_of(bushing, F, bodies))
    force, moment = -(F @ scaled(linear, p)), -(F @ (angular_block_of(angles, angular) @ rotated_by))
    at_child, at_parent = cross(outer, force), cross(inner + offset, force)
    if exact:
        rate, spin = rates_of(bushing, inner, outer, offset, bodies)
        whole, w = force_on_child(bushing, F, offset, rate), transposed_times(F, spin)
        dw, dw_child = displacement_factor * load(parent.dw), displacement_factor * load(child.dw)
        swing = cross(load(child.w), cross(dw_child, outer)) - cross(load(parent.w), cross(dw, inner))
        offset_change = displacement_factor * (displacement_of(child, outer) - displacement_of(parent, inner))
        rate_change = swing - cross(load(parent.w), offset_change) - cross(dw, rate)
        extra = F @ scaled(load(bushing.linear_damping), transposed_times(F, rate_change))
        force = force + cross(dw, whole) - extra
        spin_change = velocity_factor * rotated_by - transposed_times(F, cross(dw, spin))
        elastic, damping = torques_of(bushing, angles, w)
        change = torque_change_of(bushing, angles, w, displacement_factor * rotated_by, spin_change)
        moment = F @ change + cross(dw, F @ (elastic + damping))
        swung = displacement_factor * (displacement_of(child, outer) - load(parent.dv))
        at_child = cross(outer, force) + cross(cross(dw_child, outer), whole)
        at_parent = cross(inner + offset, force) + cross(swung, whole)
    if bushing.child > 0:
        add_wrench(wrenches[bushing.child], moment + at_child, force)
    if bushing.parent > 0:
        add_wrench(wrenches[bushing.parent], -moment - at_parent, -force)


@template(coordinates_of, angular_block_of)
def add_stiffness_blocks(bushing, forces, t, bodies, displacement_factor, velocity_factor, blocks):
    """Add the diagonal blocks: see `forces.variation`."""
    F = axes_of(bushing, bodies)
    inner, outer, offset = levers_of(bushing, bodies)
    linear, angular = stiffness_of(bushing, displacement_factor, velocity_factor)
    N = rotated_diagonal(F, linear)
    J = rotated(F, angular_block_of(coordinates_of(rotation_of(bushing, F, bodies)), angular))
    turning = Inertia(J, Mat3(ZERO, ZERO, ZERO), isotropic(0.0))
    if bushing.child > 0:
        add_block(blocks[bushing.child], block_at(N, outer) + turning)
    if bushing.parent > 0:
        add_block(blocks[bushing.parent], block_at(N, inner + offset) + turning)


def pack(spec: BushingSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a bushing."""
    parent, origin, frame = context.frame(spec.parent, spec.origin)
    child, child_origin, child_frame = context.frame(spec.child, spec.child_origin)
    stiffness, damping = spec.stiffness, spec.damping
    frames = (origin, frame.T.ravel(), child_origin, child_frame.T.ravel())
    return parent, child, *frames, stiffness.linear, damping.linear, stiffness.angular, damping.angular


def bushing_element(table: str, name: str, spec: type[BushingSpec], **laws: Any) -> ForceElement:
    """Return the entry of a bushing, for the four `laws` of its rotation."""
    coordinates, torques, block = ({word: laws[word]} for word in ("coordinates_of", "torques_of", "angular_block_of"))
    return ForceElement(
        table,
        BUSHING,
        description="springs or muscles between bodies",
        rest="frames",
        account="dissipation",
        implicit=True,
        bodies=("parent", "child"),
        apply_force=bound_kernel(apply_force, **coordinates, **torques),
        elastic_energy=bound_kernel(elastic_energy, **coordinates),
        stiffness_damping_product=bound_kernel(stiffness_damping_product, **laws),
        add_stiffness_blocks=bound_kernel(add_stiffness_blocks, **coordinates, **block),
        entry=SceneEntry("springs", name, ("type",), spec, pack),
    )


# --- by the rotation vector -------------------------------------------------------------------------------------------
@formula
def rotation_vector(R):
    """`coordinates_of` the rotation vector."""
    w, x, y, z = quaternion_of_rotation(R)
    return vector_of_quaternion(w, Vec3(x, y, z))


@formula
def torques_along(bushing, turn, w):
    """`torques_of` the rotation vector."""
    elastic = inverse_right_jacobian_times(turn, scaled(load(bushing.angular_stiffness), turn))
    return -elastic, -scaled(load(bushing.angular_damping), w)


@formula
def torque_change_along(bushing, turn, w, step, dw):
    """`torque_change_of` the rotation vector."""
    A = load(bushing.angular_stiffness)
    change = inverse_right_jacobian_times(-turn, step)  # J_l^-1: change of the rotation vector
    pull = inverse_right_jacobian_times(turn, scaled(A, turn))
    bent = inverse_right_jacobian_times(turn, scaled(A, change) - right_jacobian_rate_along(turn, change, pull))
    return -(bent + scaled(load(bushing.angular_damping), dw))


@formula
def diagonal_block(turn, diagonal):
    """`angular_block_of` the rotation vector, with 1 for its Jacobian."""
    return Sym3(diagonal.x, 0.0, 0.0, diagonal.y, 0.0, diagonal.z)


ELEMENT = bushing_element(
    "bushings",
    "bushing",
    BushingSpec,
    coordinates_of=rotation_vector,
    torques_of=torques_along,
    torque_change_of=torque_change_along,
    angular_block_of=diagonal_block,
)
