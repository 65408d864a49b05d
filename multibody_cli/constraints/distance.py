"""Distance: two points keep their distance, as if connected by a massless rod with ball joints at its ends.

With d the vector between the points, n = d / |d| and u = dd/dt,

    error         |d| - length
    velocity      n . u
    acceleration  n . du/dt + (|u|^2 - (n . u)^2) / |d|

With limits, the equality becomes a one-sided row for each: a rope has a greatest distance and pulls, a strut has a
least one and presses.  The row of the greatest distance has the opposite sign.  Points that coincide have no direction
n: the row then has no effect, which is right for a rope.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

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
from multibody_cli.spec import BodyPoint, Fraction, PositiveLength
from multibody_cli.spec.entries import PackingContext, Place, placed


class DistanceSpec(ConstraintSpec):
    """Two points of two bodies stay at a distance, as with a massless rod or rope between them."""

    type: Literal["distance"]
    between: list[BodyPoint] = Field(min_length=2, max_length=2, description="The two points.")
    length: PositiveLength | None = Field(None, description="Distance of the points, m.")
    limits: list[PositiveLength | None] | None = Field(
        None,
        min_length=2,
        max_length=2,
        description="Least and greatest distance instead of `length`, m; null for none. `[null, 1 m]` is a rope.",
    )
    restitution: Fraction = Field(0.0, description="Of impacts on the limits: ratio of the rates after and before.")

    RELATIVE = True

    @model_validator(mode="after")
    def _require_a_length_or_limits(self) -> Self:
        if (self.length is None) == (self.limits is None):
            raise ValueError("expected either `length` or `limits`")
        if self.limits is not None:
            least, greatest = self.limits
            if least is None and greatest is None:
                raise ValueError("expected a least or a greatest distance in `limits`")
            if least is not None and greatest is not None and not least < greatest:
                raise ValueError("expected a least distance below the greatest one in `limits`")
        elif self.restitution > 0.0:
            raise ValueError("`restitution` has no effect without `limits`")
        return self

    @property
    def one_sided(self) -> bool:
        """Whether it has limits."""
        return self.limits is not None

    @property
    def row_count(self) -> int:
        """One row for each limit."""
        return sum(limit is not None for limit in self.limits or (self.length,))

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
        ("sign", "f8"),  # of the row; -1 for the greatest distance
    ]
)


def pack(spec: DistanceSpec, context: PackingContext) -> Packed:
    """One row for each length, with a term for each movable body."""
    a, b = spec.between
    (row_a, point_a), (row_b, point_b) = context.attachment(a.body, a.point), context.attachment(b.body, b.point)
    rods: list[tuple[float | None, float, str]] = [(spec.length, 1.0, "along the line of its points")]
    rows: list[RowShape] = []
    records: list[tuple[Any, ...]] = []
    if spec.limits is not None:
        least, greatest = spec.limits
        rods = [(least, 1.0, "below its least distance"), (greatest, -1.0, "beyond its greatest distance")]
    terms = (row_a > 0) + (row_b > 0)
    for length, sign, direction in rods:
        if length is not None:
            records.append((len(rows), terms * len(rows), row_a, row_b, point_a, point_b, length, sign))
            rows.append(RowShape(terms, holonomic=True, direction=direction, restitution=spec.restitution))
    return Packed(tuple(rows), tuple(records))


@formula
def write(rod, signals, t, bodies, q, rows, terms):
    """Write the row of a record."""
    a, b = bodies[rod.a], bodies[rod.b]
    r, s = lever_arm_of(a, rod.point_a), lever_arm_of(b, rod.point_b)
    d, u = position_of(b, s) - position_of(a, r), point_velocity_of(b, s) - point_velocity_of(a, r)
    distance = math.sqrt(dot(d, d))
    inverse = 1.0 / distance if distance > 0.0 else 0.0
    n = (rod.sign * inverse) * d
    centripetal_term = rod.sign * inverse * (dot(u, u) - dot(n, u) ** 2)
    bias = dot(n, centripetal_acceleration_of(b, s) - centripetal_acceleration_of(a, r)) + centripetal_term
    write_level(rows[rod.first_row], rod.sign * (distance - rod.length), 0.0, bias)
    k = write_point_force(terms, rod.first_term, rod.a, r, -n)
    write_point_force(terms, k, rod.b, s, n)


KIND = ConstraintKind("distance", DistanceSpec, ConstraintTable("distance", DISTANCE, write), pack)
