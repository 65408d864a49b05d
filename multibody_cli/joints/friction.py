"""Dry friction of joints: friction surfaces, and the normal loads at their points due to the joint reaction.

A joint transmits its reaction wrench F by normal forces at fixed points of its surface.  With N the matrix of their
unit wrenches, N a = F has many solutions; the loads are the one of least norm, a = N^+ F.

    cylinder   8 points or more: 4 around each end; loaded radially, and axially unless the joint slides there
    thread     the points of a cylinder; loaded radially, and perpendicular to the thread
    box        8 points: the corners; loaded perpendicular to the direction of travel
    plate      4 points: the corners; loaded perpendicular to the plate
    sphere     6 points: on the axes of the joint frame; loaded toward the center

Points with the same slip form one *friction patch*, with one or two slip velocities u = (slip wrenches) . (twist of the
child relative to the parent), and friction of at most coefficient times the sum of |a|.  Points share the friction in
proportion to their loads.  Moments and forces of the friction at the points that do not oppose the slip add to the
loads.  A revolute, prismatic, screw, cylindrical or planar joint has one patch.  A universal joint has one for each of
its hinges, which carry the same wrench: that about x is fixed in the parent, that about y in the child.  A spherical
joint has three: the slip at both ends of an axis differs only in sign, so that the two ends are one point.

A *brake* adds a given limit, a torque about the axis or a force along it, which no load changes.  It acts on the axis
and loads no points.  A joint with brakes alone has a patch without points for each coordinate with a limit: the limits
of several coordinates are independent.

The motor of a screw joint is a torque about the axis, which the thread does not carry: with S the column of the joint,
loads are those of F less the torque S . F about the axis.  A planar joint does not rotate about its normal; the surface
that prevents it has no friction.

Sources: Sueda, notes 2.11, (2.118), in the limit of no regularization, in which masses cancel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from multibody_cli.immutable import Immutable, replace
from multibody_cli.joints.friction_spec import (
    BoxSurface,
    CrossFriction,
    CylinderFriction,
    CylinderSurface,
    HingeFriction,
    PlateFriction,
    PlateSurface,
    SliderFriction,
    SphereFriction,
    SphereSurface,
)
from multibody_cli.kernel import Floats
from multibody_cli.spec import Vector
from multibody_cli.spec.rotations import frame_about

SIDES = (-1.0, 1.0)

ALIGNED = 1e-9
"""Largest component perpendicular to an axis of the box for which a direction of travel is aligned with that axis."""

EQUAL_LOADS = 1e-12
"""Relative difference of two normal loads that are equal."""


class PatchPoint(Immutable):
    """A point of a friction patch: (1 or 2, 6) unit friction wrenches, and (k, 6) rows of N^+ for its normal loads."""

    friction_wrenches: Floats
    loads: Floats


class FrictionPatch(Immutable):
    """Points of a joint with the same slip; wrenches are [moment; force] about the origin of M, in its axes.

    Parameters
    ----------
    slip_wrenches
        (1 or 2, 6) generalized force of friction per newton; its product with the twist is the slip velocity.
    points
        Points with their normal loads.
    on_parent
        Whether the points are fixed in the parent, in the axes of F, instead of in the child.  The origins of M and F
        must coincide.
    brake
        Given limit, in addition to that in proportion to the loads, in the unit of the friction.
    coordinate
        Place of the coordinate among those of the joint with which it slips; 0 with two slip directions.
    dual
        Whether the slip is the rate of this coordinate, in any position; there are no slip wrenches then.
    """

    slip_wrenches: Floats
    points: Sequence[PatchPoint]
    on_parent: bool = False
    brake: float = 0.0
    coordinate: int = 0
    dual: bool = False


FRICTION_PATCH = np.dtype(
    [
        ("row", "i8"),  # of the frame M of its joint, the origin of all wrenches: the child, or a loop frame
        ("carrier", "i8"),  # row of the body or loop frame that carries the axes of the patch
        ("parent", "i8"),
        ("child", "i8"),
        ("joint", "i8"),  # number of the joint in the scene, and among those with friction
        ("place", "i8"),
        ("first_patch", "i8"),  # the patches of its joint
        ("last_patch", "i8"),
        ("account", "i8"),
        ("static_friction", "f8"),  # coefficients
        ("kinetic_friction", "f8"),
        ("stribeck_speed", "f8"),  # m/s
        ("brake", "f8"),  # given limit, N; N m for a hinge without a surface
        ("axes", "f8", 9),  # the axes of the patch in the carrier
        ("coordinate", "i8"),  # with which it slips, among those of its joint; 0 with two slip directions
        ("dual", "i8"),  # number of this coordinate in v if its wrench is dual to S of the present position, else -1
        ("slip_directions", "i8"),  # number of slip directions, 1 or 2
        ("along_t", "f8", 3),  # the wrenches of these, in the axes of the patch
        ("along_f", "f8", 3),
        ("across_t", "f8", 3),
        ("across_f", "f8", 3),
        ("first_point", "i8"),
        ("last_point", "i8"),
    ]
)
"""One row for each friction patch of a joint: see `FrictionPatch`."""

FRICTION_POINT = np.dtype(
    [
        ("along_t", "f8", 3),  # wrenches of its unit frictions, in the axes of the patch
        ("along_f", "f8", 3),
        ("across_t", "f8", 3),
        ("across_f", "f8", 3),
        ("first_load", "i8"),
        ("last_load", "i8"),
    ]
)
"""One row for each point of a friction patch."""

BRAKE = np.dtype(
    [
        ("limit", "f8"),  # N; N m for a combination of angles
        ("first_term", "i8"),  # of a combination of coordinates
        ("last_term", "i8"),
        ("first_point", "i8"),  # of a path, in `Forces.points`
        ("last_point", "i8"),
    ]
)
"""The brake of a combination of coordinates, or of the length of a path."""

BRAKE_TERM = np.dtype(
    [
        ("coefficient", "f8"),
        ("row", "i8"),  # of the frame M of the joint: the child, or a loop frame
        ("parent", "i8"),
        ("child", "i8"),
        ("dual", "i8"),  # number of the coordinate in v
        ("joint", "i8"),  # number of the joint in the scene
    ]
)
"""A coordinate of a combination with a brake."""


def with_brake(brake: float, patches: Sequence[FrictionPatch], wrench: Floats) -> list[FrictionPatch]:
    """Return patches with a brake, which applies `wrench` (6,) at its limit 1; without patches, that of the brake."""
    if not patches:
        return [FrictionPatch(wrench[None], (), brake=brake)]
    arms = [float(np.linalg.norm(patch.slip_wrenches[0]) / np.linalg.norm(wrench)) for patch in patches]
    return [replace(patch, brake=brake / arm) for patch, arm in zip(patches, arms, strict=True)]


def hinge_patches(spec: HingeFriction, axis: Vector) -> list[FrictionPatch]:
    """Return the patch of a hinge."""
    return _hinge_patches(spec.surface, spec.torque, axis)


def _hinge_patches(surface: CylinderSurface | None, torque: float, axis: Vector) -> list[FrictionPatch]:
    patches = [] if surface is None else cylinder_patches(surface, axis, slides=False)
    return with_brake(torque, patches, np.r_[axis, 0.0, 0.0, 0.0])


def slider_patches(spec: SliderFriction, axis: Vector) -> list[FrictionPatch]:
    """Return the patch of a slider."""
    surface = [] if spec.surface is None else box_patches(spec.surface, axis)
    return with_brake(spec.force, surface, np.r_[0.0, 0.0, 0.0, axis])


def screw_patches(spec: HingeFriction, axis: Vector, lead: float) -> list[FrictionPatch]:
    """Return the patch of a screw, of `lead` metres per radian; its brake acts about the axis."""
    surface = [] if spec.surface is None else thread_patches(spec.surface, axis, lead)
    return with_brake(spec.torque, surface, np.r_[axis, 0.0, 0.0, 0.0])


def universal_patches(spec: CrossFriction) -> list[FrictionPatch]:
    """Return the patches of both hinges of a universal joint."""
    axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    (first,), (second,) = (_hinge_patches(spec.surface, *one) for one in zip(spec.torque, axes, strict=True))
    return [replace(first, on_parent=True), replace(second, coordinate=1)]


def brake_patches(
    brakes: Sequence[float], wrenches: Sequence[Floats], *, on_parent: bool = False
) -> list[FrictionPatch]:
    """Return the patches of the brakes (n,) of a joint, each with the wrench of its unit (n, 6) on its coordinate."""
    return [
        FrictionPatch(wrench[None], (), on_parent, brake, coordinate)
        for coordinate, (brake, wrench) in enumerate(zip(brakes, wrenches, strict=True))
        if brake > 0.0
    ]


def rate_patches(spec: Any) -> list[FrictionPatch]:
    """Return the patches of the brakes on the rates of a joint of any motion."""
    return [
        FrictionPatch(np.zeros((1, 6)), (), brake=brake, coordinate=coordinate, dual=True)
        for coordinate, brake in enumerate(spec.friction.brakes)
        if brake > 0.0
    ]


MOMENTS, FORCES = tuple(np.eye(6)[:3]), tuple(np.eye(6)[3:])
"""Unit wrenches along x, y and z."""


def sleeve_patches(spec: CylinderFriction, axis: Vector) -> list[FrictionPatch]:
    """Return the patches of a joint that turns about an axis and slides along it."""
    if spec.surface is not None:
        return cylinder_patches(spec.surface, axis, slides=True)
    return brake_patches(spec.brakes, (np.r_[axis, 0.0, 0.0, 0.0], np.r_[0.0, 0.0, 0.0, axis]))


def planar_patches(spec: PlateFriction) -> list[FrictionPatch]:
    """Return the patches of a joint that slides along x and y."""
    return brake_patches(spec.force, FORCES[:2]) if spec.surface is None else plate_patches(spec.surface)


def spherical_patches(spec: SphereFriction) -> list[FrictionPatch]:
    """Return the patches of a ball; the brakes are on the angular velocity in the axes of the child."""
    return brake_patches(spec.torque, MOMENTS) if spec.surface is None else sphere_patches(spec.surface)


def cylinder_patches(surface: CylinderSurface, axis: Vector, *, slides: bool) -> list[FrictionPatch]:
    """Return the patch of a joint that turns about an axis, and slides along it if `slides`."""
    z, normal_forces, friction_wrenches = np.array(axis), [], []
    for end, point, outward, around in points_of_cylinder(surface, z):
        normal_forces.append(
            [unit_force_wrench(point, -outward)] + ([] if slides else [unit_force_wrench(point, -end * z)])
        )
        friction_wrenches.append([unit_force_wrench(point, around)] + ([unit_force_wrench(point, z)] if slides else []))
    turning, sliding = np.r_[surface.radius * z, 0.0, 0.0, 0.0], np.r_[0.0, 0.0, 0.0, z]
    return [
        FrictionPatch(
            np.array([turning, sliding] if slides else [turning]), patch_points(normal_forces, friction_wrenches)
        )
    ]


def points_of_cylinder(surface: CylinderSurface, z: Floats) -> Iterator[tuple[float, Floats, Floats, Floats]]:
    """Yield the points of a cylinder about z: the end, the point, and the directions outward and around."""
    x = frame_about(z)[:, 0]
    for end, angle in product(SIDES, 2.0 * np.pi / surface.points * np.arange(surface.points)):
        outward, around = (np.cos(a) * x + np.sin(a) * np.cross(z, x) for a in (angle, angle + 0.5 * np.pi))
        yield end, surface.radius * outward + 0.5 * end * surface.length * z, outward, around


def thread_patches(surface: CylinderSurface, axis: Vector, lead: float) -> list[FrictionPatch]:
    """Return the patch of a screw with a square thread, of `lead` metres per radian, whose mean radius is given."""
    z, normal_forces, friction_wrenches = np.array(axis), [], []
    slip = float(np.hypot(surface.radius, lead))  # m per rad
    for _, point, outward, around in points_of_cylinder(surface, z):
        along, flank = (surface.radius * around + lead * z) / slip, (surface.radius * z - lead * around) / slip
        normal_forces.append([unit_force_wrench(point, -outward), unit_force_wrench(point, flank)])
        friction_wrenches.append([unit_force_wrench(point, along)])
    torque, column = np.r_[z, 0.0, 0.0, 0.0], np.r_[z, lead * z]
    points = patch_points(normal_forces, friction_wrenches)
    carried = np.eye(6) - np.outer(torque, column)
    return [
        FrictionPatch(np.array([slip * torque]), [PatchPoint(p.friction_wrenches, p.loads @ carried) for p in points])
    ]


def plate_patches(surface: PlateSurface) -> list[FrictionPatch]:
    """Return the patch of a joint that slides along x and y of the joint frame."""
    x, y, z = np.eye(3)
    corners = [0.5 * end * surface.length * x + 0.5 * side * surface.width * y for end, side in product(SIDES, SIDES)]
    normal_forces = [[unit_force_wrench(corner, z)] for corner in corners]
    friction_wrenches = [[unit_force_wrench(corner, along) for along in (x, y)] for corner in corners]
    slip_wrenches = np.array([np.r_[0.0, 0.0, 0.0, x], np.r_[0.0, 0.0, 0.0, y]])
    return [FrictionPatch(slip_wrenches, patch_points(normal_forces, friction_wrenches))]


def box_patches(surface: BoxSurface, axis: Vector) -> list[FrictionPatch]:
    """Return the patch of a joint that slides along an axis of the joint frame."""
    along = np.array(axis)
    across = [e for e in np.eye(3) if abs(e @ along) < 0.5]
    corners = [0.5 * np.array(surface.size) * signs for signs in product(SIDES, repeat=3)]
    normal_forces = [[unit_force_wrench(corner, normal) for normal in across] for corner in corners]
    return [
        FrictionPatch(
            np.array([np.r_[0.0, 0.0, 0.0, along]]),
            patch_points(normal_forces, [[unit_force_wrench(corner, along)] for corner in corners]),
        )
    ]


def sphere_patches(surface: SphereSurface) -> list[FrictionPatch]:
    """Return the three patches of a joint that turns about a point; the load of an axis is the force along it."""
    patches = []
    for i, e in enumerate(np.eye(3)):
        slip_wrenches = np.array(
            [np.r_[surface.radius * across, 0.0, 0.0, 0.0] for k, across in enumerate(np.eye(3)) if k != i]
        )
        patches.append(FrictionPatch(slip_wrenches, [PatchPoint(slip_wrenches, np.array([np.r_[0.0, 0.0, 0.0, e]]))]))
    return patches


def unit_force_wrench(point: Floats, normal: Floats) -> Floats:
    """Return the wrench (6,) of a unit force along `normal` at a point."""
    wrench: Floats = np.r_[np.cross(point, normal), normal]
    return wrench


def patch_points(
    normal_forces: Sequence[Sequence[Floats]], friction_wrenches: Sequence[Sequence[Floats]]
) -> list[PatchPoint]:
    """Return the points of a patch with the normal forces and unit friction forces of each.

    Normal loads that are equal in size under every wrench, as those of opposite points, are one load with the mean of
    their unit frictions: half of the loads of a cylinder.  Moments are relative to the largest of a unit force, as the
    condition of the loads and the tolerance for equal ones would depend on the unit of length.
    """
    wrenches = np.array([wrench for of_point in normal_forces for wrench in of_point])
    scale = np.repeat([1.0 / (np.abs(wrenches[:, :3]).max() or 1.0), 1.0], 3)
    loads = np.linalg.pinv((scale * wrenches).T)
    of_loads = np.repeat(np.array(friction_wrenches), len(normal_forces[0]), axis=0)
    points: list[PatchPoint] = []
    left = np.ones(len(loads), bool)
    while left.any():
        one = loads[np.argmax(left)]
        apart = np.minimum(np.abs(loads - one).max(axis=1), np.abs(loads + one).max(axis=1))
        same = left & (apart <= EQUAL_LOADS * np.abs(one).max())
        points.append(PatchPoint(of_loads[same].mean(axis=0), same.sum() * (scale * one)[None]))
        left &= ~same
    return points


def is_aligned(axis: Sequence[float]) -> bool:
    """Return whether a direction is parallel to a coordinate axis."""
    return bool(np.sort(np.abs(axis))[1] < ALIGNED)
