"""Point on plane: a point of one body stays on a plane that is fixed in another body or in the world.

Let n be the normal, and rho the lever arm of the material point of the plane's body that coincides with the point.
With u the velocity of the point relative to the plane's body, and w the angular velocity of the latter,

    error         n . (point - position)
    velocity      n . u
    acceleration  n . du/dt + (w x n) . u
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from multibody_cli.constraints.contract import ConstraintKind, ConstraintSpec, ConstraintTable, Packed, RowShape
from multibody_cli.constraints.rows import write_level, write_point_force
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.points import centripetal_acceleration_of, lever_arm_of, position_of, velocity_of
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spec import BodyPoint, BodyPosition, Direction, Spec
from multibody_cli.spec.entries import PackingContext


class PlaneOfBody(Spec):
    """A plane that is fixed in a body or in the world."""

    EXAMPLE = "{body: NAME, normal: [0, 0, 1]}"

    body: str = Field("world", description="Body in which the plane is fixed, or `world`.")
    normal: Direction = Field((0.0, 0.0, 1.0), description="Normal of the plane, in the body frame.")
    position: BodyPosition = Field(
        (0.0, 0.0, 0.0), description="A point of the plane, in the body frame, m, or its name."
    )


class PointOnPlaneSpec(ConstraintSpec):
    """A point of one body stays on a plane of another body or of the world."""

    type: Literal["point_on_plane"]
    point: BodyPoint = Field(description="The point.")
    plane: PlaneOfBody = Field(description="The plane.")

    RELATIVE = True

    @property
    def bodies(self) -> Sequence[tuple[NodePath, str]]:
        """Bodies of the point and of the plane."""
        return [(("point", "body"), self.point.body), (("plane", "body"), self.plane.body)]

    @property
    def points(self) -> Sequence[tuple[NodePath, BodyPoint]]:
        """The point; the plane uses the orientation of its body."""
        return [(("point",), self.point)]


POINT_ON_PLANE = np.dtype(
    [
        ("first_row", "i8"),
        ("first_term", "i8"),
        ("body", "i8"),  # rows
        ("plane_body", "i8"),  # the body of the plane
        ("point", "f8", 3),  # in the joint frame of its body
        ("position", "f8", 3),  # in the joint frame of the holder
        ("normal", "f8", 3),
    ]
)


def pack(spec: PointOnPlaneSpec, context: PackingContext) -> Packed:
    """One row with a term for each movable body."""
    point, plane = spec.point, spec.plane
    (body, place), plane_body = context.attachment(point.body, point.point), context.row(plane.body)
    position, normal = context.point(plane.body, plane.position), context.direction(plane.body, plane.normal)
    record = (0, 0, body, plane_body, place, position, normal)
    shape = RowShape((body > 0) + (plane_body > 0), holonomic=True, direction="along the normal")
    return Packed((shape,), (record,))


@formula
def write(track, signals, points, states, buffers, t, bodies, q, v, rows, terms):
    """Write the row of a point on a plane."""
    body, plane_body = bodies[track.body], bodies[track.plane_body]
    r, n, w = lever_arm_of(body, track.point), lever_arm_of(plane_body, track.normal), load(plane_body.w)
    rho = position_of(body, r) - load(plane_body.x)
    u = velocity_of(body, r) - velocity_of(plane_body, rho)
    # rho grows by w x rho + u
    drift = centripetal_acceleration_of(body, r) - centripetal_acceleration_of(plane_body, rho) - cross(w, u)
    error = dot(n, rho - lever_arm_of(plane_body, track.position))
    write_level(rows[track.first_row], error, 0.0, dot(n, drift) + dot(cross(w, n), u))
    k = write_point_force(terms, track.first_term, track.body, r, n)
    write_point_force(terms, k, track.plane_body, rho, -n)


KIND = ConstraintKind(
    "point_on_plane", PointOnPlaneSpec, ConstraintTable("point_on_plane", POINT_ON_PLANE, write), pack
)
