"""Distance: two points, or the ends of a path, keep their distance, as if connected by a massless rod or rope.

With d the vector between the points, n = d / |d| and u = dd/dt,

    error         |d| - length
    velocity      n . u
    acceleration  n . du/dt + (|u|^2 - (n . u)^2) / |d|

The length of a path is the sum of the distances of neighboring points, each times its factor (`cables.lines`), and so
are the three levels of its row.

With limits, the equality becomes a one-sided row for each: a rope has a greatest distance and pulls, a strut has a
least one and presses.  The row of the greatest distance has the opposite sign.  Points that coincide have no direction
n: the row then has no effect, which is right for a rope.
"""

from __future__ import annotations

import itertools
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
from multibody_cli.spec.path import ArcSpec, PointsOrName, line_factors
from multibody_cli.spec.points import Attachment
from multibody_cli.spec.quantities import located_error


class DistanceSpec(ConstraintSpec):
    """Two points of two bodies stay at a distance, as with a massless rod or rope between them or along a path."""

    type: Literal["distance"]
    between: list[BodyPoint] | None = Field(None, min_length=2, max_length=2, description="The two points.")
    path: PointsOrName | None = Field(
        None, description="Points of a path, whose length is meant, in place of the two points; or the name of a path."
    )
    length: PositiveLength | None = Field(None, description="Distance of the points, or length of the path, m.")
    limits: list[PositiveLength | None] | None = Field(
        None,
        min_length=2,
        max_length=2,
        description="Least and greatest distance or length instead of `length`, m; null for none. "
        "`[null, 1 m]` is a rope.",
    )
    restitution: Fraction = Field(0.0, description="Of impacts on the limits: ratio of the rates after and before.")

    RELATIVE = True

    @model_validator(mode="after")
    def _require_a_length_or_limits(self) -> Self:
        if (self.between is None) == (self.path is None):
            raise ValueError("expected one of `between` and `path`")
        for k, entry in enumerate(self.path or ()):
            if isinstance(entry, ArcSpec):
                raise located_error("the path of a `distance` does not wrap: use points, or a stiff spring", "path", k)
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
    def points(self) -> Sequence[tuple[Place, Attachment]]:
        """Its points from end to end."""
        return placed("between", self.between) if self.between else placed("path", self.path or ())


DISTANCE = np.dtype(
    [
        ("first_row", "i8"),
        ("first_term", "i8"),
        ("starts_row", "i8"),  # whether it is the first line of its row
        ("a", "i8"),  # rows of the bodies
        ("b", "i8"),
        ("point_a", "f8", 3),  # in the joint frames
        ("point_b", "f8", 3),
        ("length", "f8"),
        ("sign", "f8"),  # of the row; -1 for the greatest distance
        ("factor", "f8"),  # of the line
    ]
)
"""One record for each line of each row."""


def pack(spec: DistanceSpec, context: PackingContext) -> Packed:
    """One row for each length, with terms for the movable ends of each line."""
    points = [end for _, end in spec.points]
    places = [context.attachment(end.body, end.point) for end in points]
    factors = list(line_factors(points))
    rods: list[tuple[float | None, float, str]] = [(spec.length, 1.0, "along the line of its points")]
    rows: list[RowShape] = []
    records: list[tuple[Any, ...]] = []
    if spec.limits is not None:
        least, greatest = spec.limits
        rods = [(least, 1.0, "below its least distance"), (greatest, -1.0, "beyond its greatest distance")]
    term = 0
    for length, sign, direction in rods:
        if length is not None:
            first = term
            for k, ((a, point_a), (b, point_b)) in enumerate(itertools.pairwise(places)):
                if factors[k + 1] > 0.0:
                    records.append((len(rows), term, k == 0, a, b, point_a, point_b, length, sign, factors[k + 1]))
                    term += (a > 0) + (b > 0)
            rows.append(RowShape(term - first, holonomic=True, direction=direction, restitution=spec.restitution))
    return Packed(tuple(rows), tuple(records))


@formula
def write(rod, signals, buffers, t, bodies, q, v, rows, terms):
    """Write the terms of a line, and add it to the levels of its row."""
    row, a, b = rows[rod.first_row], bodies[rod.a], bodies[rod.b]
    r, s = lever_arm_of(a, rod.point_a), lever_arm_of(b, rod.point_b)
    d, u = position_of(b, s) - position_of(a, r), point_velocity_of(b, s) - point_velocity_of(a, r)
    distance, factor = math.sqrt(dot(d, d)), rod.sign * rod.factor
    inverse = 1.0 / distance if distance > 0.0 else 0.0
    n = inverse * d
    centripetal_term = inverse * (dot(u, u) - dot(n, u) ** 2)
    bias = dot(n, centripetal_acceleration_of(b, s) - centripetal_acceleration_of(a, r)) + centripetal_term
    if rod.starts_row:
        write_level(row, -rod.sign * rod.length, 0.0, 0.0)
    row.error += factor * distance
    row.bias += factor * bias
    k = write_point_force(terms, rod.first_term, rod.a, r, -factor * n)
    write_point_force(terms, k, rod.b, s, factor * n)


KIND = ConstraintKind("distance", DistanceSpec, ConstraintTable("distance", DISTANCE, write), pack)
