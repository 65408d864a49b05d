"""Rolling: a sphere or a thin disc touches a plane of the world and does not slip at the contact.

The contact is at rho = radius u from the centre, with u the unit vector to the lowest point.  With n the normal of the
plane and a the axis of a disc,

    m = -n + (n . a) a,    u = m / |m|,

and u = -n for a sphere, which is the same with a = 0.  The velocity of the material point at the contact is

    g = v + w x (r + rho),

with r the lever arm of the centre.  The rows are n . g = 0, which is the time derivative of the height of the lowest
point above the plane, and t . g = 0 for two tangents t.  The contact moves over the body, so that

    dg/dt = a + alpha x (r + rho) + w x (w x r) + w x d(rho)/dt.

A disc that lies flat touches the plane along its whole rim: u and the rows are undefined there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from multibody_cli.constraints.contract import ConstraintKind, ConstraintSpec, ConstraintTable, Packed, RowShape
from multibody_cli.constraints.rows import write_level, write_point_force
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.points import centripetal_acceleration_of, lever_arm_of, position_of
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spec import BodyPosition, Direction, PointOf, PositiveLength, Spec, Vector
from multibody_cli.spec.entries import PackingContext


class PlaneOfWorld(Spec):
    """A plane that is fixed in the world."""

    EXAMPLE = "{normal: [0, 0, 1]}"

    normal: Direction = Field((0.0, 0.0, 1.0), description="Normal of the plane, to the side of the body.")
    position: Annotated[Vector, PointOf(None)] = Field(
        (0.0, 0.0, 0.0), description="A point of the plane, m, or the name of a point of the world."
    )


class RollingSpec(ConstraintSpec):
    """A sphere or a thin disc rolls on a plane of the world without slipping."""

    type: Literal["rolling"]
    body: str = Field(description="Body that rolls.")
    point: BodyPosition = Field(
        (0.0, 0.0, 0.0), description="Centre of the sphere or disc, in the body frame, m, or its name."
    )
    radius: PositiveLength = Field(description="Radius of the sphere or disc, m.")
    axis: Direction | None = Field(None, description="Axis of a disc, in the body frame; without it, a sphere.")
    plane: PlaneOfWorld = Field(PlaneOfWorld(), description="The plane on which it rolls; z = 0 unless given.")

    @property
    def row_count(self) -> int:
        """One row along the normal and two along the tangents."""
        return 3

    @property
    def bodies(self) -> Sequence[tuple[NodePath, str]]:
        """The rolling body."""
        return [(("body",), self.body)]


ROLLING = np.dtype(
    [
        ("first_row", "i8"),
        ("first_term", "i8"),
        ("body", "i8"),
        ("point", "f8", 3),  # in the joint frame
        ("axis", "f8", 3),  # in the joint frame; 0 for a sphere
        ("radius", "f8"),
        ("height", "f8"),  # n . x of the plane
        ("normal_W", "f8", 3),
        ("tangent_W", "f8", 3),
        ("bitangent_W", "f8", 3),
    ]
)


def pack(spec: RollingSpec, context: PackingContext) -> Packed:
    """Three rows with one term each: along the normal, and along two tangents."""
    row, normal = context.row(spec.body), np.array(spec.plane.normal)
    tangent, bitangent = tangents_of(spec.plane.normal)
    axis = np.zeros(3) if spec.axis is None else context.direction(spec.body, spec.axis)
    height = normal @ np.array(spec.plane.position)
    record = (0, 0, row, context.point(spec.body, spec.point), axis, spec.radius, height, normal, tangent, bitangent)
    tangential = (RowShape(1, holonomic=False, direction=f"along the {which} tangent") for which in ("first", "second"))
    return Packed((RowShape(1, holonomic=True, direction="along the normal"), *tangential), (record,))


def tangents_of(normal: Vector) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors orthogonal to a unit vector and to each other."""
    n = np.array(normal)
    furthest = np.eye(3)[np.argmin(np.abs(n))]
    tangent = furthest - (furthest @ n) * n
    tangent /= np.linalg.norm(tangent)
    return tangent, np.cross(n, tangent)


@formula
def lowest_point_direction(n, a, w):
    """Unit vector u from the centre to the lowest point, and du/dt, for a body with angular velocity w."""
    cos_tilt = dot(n, a)
    axis_rate = cross(w, a)
    cos_tilt_rate = dot(n, axis_rate)
    size = math.sqrt(1.0 - cos_tilt * cos_tilt * dot(a, a))
    size_rate = -cos_tilt * cos_tilt_rate / size
    u = (1.0 / size) * (cos_tilt * a - n)
    return u, (1.0 / size) * (cos_tilt_rate * a + cos_tilt * axis_rate - size_rate * u)


@formula
def write_contact_row(item, number, direction, error, r, g, rows, terms):
    """Write the row of the contact velocity along one direction.

    r is the lever arm of the contact, g its velocity-product acceleration.
    """
    write_level(rows[item.first_row + number], error, 0.0, dot(direction, g))
    write_point_force(terms, item.first_term + number, item.body, r, direction)


@formula
def write(wheel, signals, points, states, buffers, t, bodies, q, v, rows, terms):
    """Write the three rows of a rolling body."""
    body, n = bodies[wheel.body], load(wheel.normal_W)
    r, w = lever_arm_of(body, wheel.point), load(body.w)
    u, du = lowest_point_direction(n, lever_arm_of(body, wheel.axis), w)
    contact = r + wheel.radius * u
    bias_acceleration = centripetal_acceleration_of(body, r) + wheel.radius * cross(w, du)
    error = dot(n, position_of(body, contact)) - wheel.height
    write_contact_row(wheel, 0, n, error, contact, bias_acceleration, rows, terms)
    write_contact_row(wheel, 1, load(wheel.tangent_W), 0.0, contact, bias_acceleration, rows, terms)
    write_contact_row(wheel, 2, load(wheel.bitangent_W), 0.0, contact, bias_acceleration, rows, terms)


KIND = ConstraintKind("rolling", RollingSpec, ConstraintTable("rolling", ROLLING, write), pack)
