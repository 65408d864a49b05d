"""Dry friction of joints: the surfaces on which the bodies rub, and how what a joint carries presses them together.

A joint carries its constraint wrench F by pushes at fixed points of its surface, along the normals there.  With N the
columns of those pushes as wrenches, N a = F has many solutions, for a joint may be as tight as one likes; the loads are
the least of them, a = N^+ F.

    cylinder   8 points, or more: 4 around each end; pushed across the axis, and along it unless the joint slides there
    box        8 points: the corners; pushed across the direction of travel
    sphere     6 points: where the axes of the joint frame leave it; pushed to the center

Points that always slip alike make one *pad*: a slip u = (one or two rows) . (twist across the joint), and friction of
at most coefficient times the sum of |a|.  The points share it as they share the sum; what their forces do beside
opposing the slip, the pushes bear.  A revolute or a prismatic joint is one pad; a ball has three, for what slips at the
ends of an axis is the same but for its sign, and the two are taken as one point.

Sources: Sueda, notes 2.11, (2.118), in the limit of no regularization, which takes the masses out of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from multibody_cli.spec import NonNegative, PositiveLength, Spec, Vector, Vector3, units
from multibody_cli.spec.quantities import shown

Floats = NDArray[np.float64]
Points = Annotated[int, Field(ge=4, multiple_of=2)]

SIDES = (-1.0, 1.0)

ALIGNED = 1e-9
"""Length across the axes of a box that the direction of travel may have."""


class FrictionSpec(Spec):
    """Dry friction of a joint; each joint adds the surface that it has."""

    coefficient: NonNegative = Field(description="Coefficient of dry friction.")


class CylinderSurface(Spec):
    """A journal, or a pin in its hole."""

    type: Literal["cylinder"] = "cylinder"
    radius: PositiveLength = Field(description="Radius, m.")
    length: PositiveLength = Field(description="Length along the axis, half of it to each side of the joint frame, m.")
    points: Points = Field(
        4,
        description="Points around each end, an even number. The friction of a force across the axis changes with its "
        "direction: by 17 % about its mean with 4 points, by 4 % with 8, by 1 % with 16.",
    )

    @field_validator("points", mode="plain", json_schema_input_type=Points)
    @classmethod
    def _read_points(cls, value: Any) -> int:
        if type(value) not in (int, float) or value < 4 or value % 2:
            raise ValueError(f"expected an even number of at least 4, found {shown(value)}")
        return int(value)


class BoxSurface(Spec):
    """A slider in its guide."""

    type: Literal["box"] = "box"
    size: Annotated[Vector, Vector3(units.LENGTH, above=0.0)] = Field(
        description="Lengths along the axes of the joint frame, m."
    )


class SphereSurface(Spec):
    """A ball in its socket."""

    type: Literal["sphere"] = "sphere"
    radius: PositiveLength = Field(description="Radius, m.")


class CylinderFriction(FrictionSpec):
    """Dry friction on a cylinder about the axis."""

    EXAMPLE = "{coefficient: 0.3, surface: {radius: 1 cm, length: 5 cm}}"

    surface: CylinderSurface = Field(description="Where the bodies rub.")


class BoxFriction(FrictionSpec):
    """Dry friction on a box about the joint frame."""

    EXAMPLE = "{coefficient: 0.3, surface: {size: [10 cm, 2 cm, 2 cm]}}"

    surface: BoxSurface = Field(description="Where the bodies rub.")


class SphereFriction(FrictionSpec):
    """Dry friction on a sphere about the joint frame's origin."""

    EXAMPLE = "{coefficient: 0.3, surface: {radius: 1 cm}}"

    surface: SphereSurface = Field(description="Where the bodies rub.")


@dataclass(frozen=True)
class Point:
    """A point of a pad: (1 or 2, 6) wrenches of unit friction at it, and (k, 6) rows of N^+, how it is pressed."""

    rubs: Floats
    loads: Floats


@dataclass(frozen=True)
class Pad:
    """Points of a joint that slip alike; wrenches are [moment; force] in the joint frame M.

    Parameters
    ----------
    slips
        (1 or 2, 6) what friction does to the freedoms of the joint per newton, and so what of the twist across it is
        the slip.
    points
        What presses them.
    """

    slips: Floats
    points: Sequence[Point]


def has_friction(joint: object) -> bool:
    """Whether a joint has dry friction that does anything."""
    friction = getattr(joint, "friction", None)
    return bool(friction is not None and friction.coefficient > 0.0)


def pads_of_cylinder(surface: CylinderSurface, axis: Vector, *, slides: bool) -> list[Pad]:
    """Give the pad of a joint that turns about an axis, and slides along it or not."""
    z = np.array(axis)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - z * (x @ z)
    x /= np.linalg.norm(x)
    angles = 2.0 * np.pi / surface.points * np.arange(surface.points)
    pushes, rubs = [], []
    for end, angle in product(SIDES, angles):
        outward, around = (np.cos(a) * x + np.sin(a) * np.cross(z, x) for a in (angle, angle + 0.5 * np.pi))
        point = surface.radius * outward + 0.5 * end * surface.length * z
        pushes.append([push(point, -outward)] + ([] if slides else [push(point, -end * z)]))
        rubs.append([push(point, around)] + ([push(point, z)] if slides else []))
    turning, sliding = np.r_[surface.radius * z, 0.0, 0.0, 0.0], np.r_[0.0, 0.0, 0.0, z]
    return [Pad(np.array([turning, sliding] if slides else [turning]), points_of(pushes, rubs))]


def pads_of_box(surface: BoxSurface, axis: Vector) -> list[Pad]:
    """Give the pad of a joint that slides along an axis of the joint frame."""
    along = np.array(axis)
    across = [e for e in np.eye(3) if abs(e @ along) < 0.5]
    corners = [0.5 * np.array(surface.size) * signs for signs in product(SIDES, repeat=3)]
    pushes = [[push(corner, normal) for normal in across] for corner in corners]
    return [
        Pad(np.array([np.r_[0.0, 0.0, 0.0, along]]), points_of(pushes, [[push(corner, along)] for corner in corners]))
    ]


def pads_of_sphere(surface: SphereSurface) -> list[Pad]:
    """Give the three pads of a joint that turns about a point; what presses at both ends of an axis is its force."""
    pads = []
    for i, e in enumerate(np.eye(3)):
        slips = np.array(
            [np.r_[surface.radius * across, 0.0, 0.0, 0.0] for k, across in enumerate(np.eye(3)) if k != i]
        )
        pads.append(Pad(slips, [Point(slips, np.array([np.r_[0.0, 0.0, 0.0, e]]))]))
    return pads


def push(point: Floats, normal: Floats) -> Floats:
    """A unit force at a point as a wrench (6,)."""
    wrench: Floats = np.r_[np.cross(point, normal), normal]
    return wrench


def points_of(pushes: Sequence[Sequence[Floats]], rubs: Sequence[Sequence[Floats]]) -> list[Point]:
    """Give the points of a pad: the pushes that each may bear, and the unit frictions of each."""
    loads = np.linalg.pinv(np.array([wrench for of_point in pushes for wrench in of_point]).T)
    each = len(pushes[0])
    return [Point(np.array(rub), loads[each * k : each * (k + 1)]) for k, rub in enumerate(rubs)]


def is_aligned(axis: Sequence[float]) -> bool:
    """Whether a direction is that of one of the axes."""
    return bool(np.sort(np.abs(axis))[1] < ALIGNED)
