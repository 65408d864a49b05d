"""Distance: two points keep their distance, as if connected by a massless rod with ball joints at its ends.

With d the vector between the points, n = d / |d| and u = dd/dt,

    error         |d| - length
    velocity      n . u
    acceleration  n . du/dt + (|u|^2 - (n . u)^2) / |d|
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from multibody_cli.constraints.contract import ConstraintKind, ConstraintSpec, ConstraintTable, Packed, RowShape
from multibody_cli.constraints.points import (
    centripetal_acceleration_of,
    lever_arm_of,
    point_velocity_of,
    position_of,
    write_point_force,
)
from multibody_cli.constraints.rows import write_level
from multibody_cli.kernel import formula
from multibody_cli.spatial.products import dot
from multibody_cli.spec import BodyPoint, PositiveLength
from multibody_cli.spec.entries import PackingContext, Place, placed


class DistanceSpec(ConstraintSpec):
    """Two points of two bodies stay at a distance, as with a massless rod between them."""

    type: Literal["distance"]
    between: list[BodyPoint] = Field(min_length=2, max_length=2, description="The two points.")
    length: PositiveLength = Field(description="Distance of the points, m.")

    RELATIVE = True

    @property
    def points(self) -> Sequence[tuple[Place, BodyPoint]]:
        """Both points."""
        return placed("between", self.between)


DISTANCE = np.dtype(
    [
        ("first_row", "i8"),
        ("first_term", "i8"),
        ("a", "i8"),  # rows of the bodies
        ("b", "i8"),
        ("point_a", "f8", 3),  # in the joint frames
        ("point_b", "f8", 3),
        ("length", "f8"),
    ]
)


def pack(spec: DistanceSpec, context: PackingContext) -> Packed:
    """One row with a term for each movable body."""
    a, b = spec.between
    (row_a, point_a), (row_b, point_b) = context.attachment(a.body, a.point), context.attachment(b.body, b.point)
    record = (0, 0, row_a, row_b, point_a, point_b, spec.length)
    shape = RowShape((row_a > 0) + (row_b > 0), holonomic=True, direction="along the line of its points")
    return Packed((shape,), (record,))


@formula
def write(rod, signals, t, bodies, q, rows, terms):
    """Write the row of a rod."""
    a, b = bodies[rod.a], bodies[rod.b]
    r, s = lever_arm_of(a, rod.point_a), lever_arm_of(b, rod.point_b)
    d, u = position_of(b, s) - position_of(a, r), point_velocity_of(b, s) - point_velocity_of(a, r)
    distance = math.sqrt(dot(d, d))
    n = (1.0 / distance) * d
    centripetal_term = (dot(u, u) - dot(n, u) ** 2) / distance
    bias = dot(n, centripetal_acceleration_of(b, s) - centripetal_acceleration_of(a, r)) + centripetal_term
    write_level(rows[rod.first_row], distance - rod.length, 0.0, bias)
    k = write_point_force(terms, rod.first_term, rod.a, r, -n)
    write_point_force(terms, k, rod.b, s, n)


KIND = ConstraintKind("distance", DistanceSpec, ConstraintTable("distance", DISTANCE, write), pack)
