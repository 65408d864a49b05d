"""Distance: two points, or the ends of a path, keep their distance, as if connected by a massless rod or rope.

With d the vector between the points, n = d / |d| and u = dd/dt,

    error         |d| - length
    velocity      n . u
    acceleration  n . du/dt + (|u|^2 - (n . u)^2) / |d|

The length of a path is the sum of its lines and arcs, each times its factor (`cables.lines`), and so are the three
levels of its row.  At the ends of an arc, the point has a velocity in the body, and n turns with the arc.  A point that
moves in its body with a coordinate (`cables.moving`) adds a coefficient of the coordinate.

With limits, the equality becomes a one-sided row for each: a rope has a greatest distance and pulls, a strut has a
least one and presses.  The row of the greatest distance has the opposite sign.  Points that coincide have no direction
n: the row then has no effect, which is right for a rope.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from multibody_cli.cables.lines import arc_of, is_passed, line_to, moves, trace
from multibody_cli.cables.moving import slope_of, update_points
from multibody_cli.cables.variation import rate_change_of, vary_arcs
from multibody_cli.constraints.contract import ConstraintKind, ConstraintSpec, ConstraintTable, Packed, RowShape
from multibody_cli.constraints.rows import write_coefficient, write_level, write_point_force
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.products import ZERO, dot
from multibody_cli.spec import BodyPoint, Fraction, PositiveLength
from multibody_cli.spec.entries import PackingContext, placed
from multibody_cli.spec.path import PointsOrName
from multibody_cli.spec.points import Attachment


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
    def points(self) -> Sequence[tuple[NodePath, Attachment]]:
        """Its points from end to end."""
        return placed("between", self.between) if self.between else placed("path", self.path or ())


DISTANCE = np.dtype(
    [
        ("first_row", "i8"),
        ("first_term", "i8"),
        ("first", "i8"),  # entries of its cable
        ("last", "i8"),
        ("length", "f8"),
        ("sign", "f8"),  # of the row; -1 for the greatest distance
    ]
)
"""One record for each row."""


def pack(spec: DistanceSpec, context: PackingContext) -> Packed:
    """One row for each length, with terms for coordinates, movable ends of lines, and surfaces that it may touch."""
    points = [end for _, end in spec.points]
    cable, movable = context.cable(points), [context.row(end.body) > 0 for end in points]
    terms = len(spec.coordinates) + sum(one + other for one, other in itertools.pairwise(movable))
    rods: list[tuple[float | None, float, str]] = [(spec.length, 1.0, "along the line of its points")]
    if spec.limits is not None:
        least, greatest = spec.limits
        rods = [(least, 1.0, "below its least distance"), (greatest, -1.0, "beyond its greatest distance")]
    given = [(length, sign, direction) for length, sign, direction in rods if length is not None]
    return Packed(
        tuple(RowShape(terms, True, direction, spec.restitution) for _, _, direction in given),
        tuple((k, k * terms, *cable, length, sign) for k, (length, sign, _) in enumerate(given)),
    )


@formula
def write(rod, signals, points, states, buffers, t, bodies, q, v, rows, terms):
    """Write the levels of a row, and its terms: those of coordinates, then two for the line to each entry, in order.

    Where a line leads past surfaces, their terms are 0.
    """
    row, sign, entries = rows[rod.first_row], rod.sign, points.entries
    first_line = rod.first_term
    if len(points.motions) > 0:
        update_points(points, q, v)
        first_line = write_coordinates(points, rod, terms)
    if len(points.surfaces) > 0:
        trace(points, rod.first, rod.last, bodies)
        vary_arcs(points, rod.first, rod.last, bodies, True)
    length, bias, term, i = 0.0, 0.0, first_line, rod.first
    for k in range(rod.first + 1, rod.last):
        if is_passed(points, k):
            r, s, n, distance = line_to(points, i, k, bodies)
            factor = entries[k].factor
            length += factor * (distance + arc_of(points, k))
            bias += factor * rate_change_of(points, i, k, r, s, n, distance, bodies, True)
            pull = (sign * factor) * n
            term = write_point_force(terms, term, entries[i].row, r, -pull)
            for m in range(2 * (i + 1), 2 * k):
                term = write_point_force(terms, term, entries[m // 2].row, ZERO, ZERO)
            term = write_point_force(terms, term, entries[k].row, s, pull)
            add_to_coordinate(points, i, -pull, bodies, terms, rod.first_term, first_line)
            add_to_coordinate(points, k, pull, bodies, terms, rod.first_term, first_line)
            i = k
    write_level(row, sign * (length - rod.length), 0.0, sign * bias)


@formula
def write_coordinates(points, rod, terms):
    """Write a term, 0 at first, for each coordinate with which points move; return the number of the next term."""
    end = rod.first_term
    for k in range(rod.first, rod.last):
        if moves(points, points.entries[k]):
            iv = points.motions[points.entries[k].motion].iv
            if term_of(terms, rod.first_term, end, iv) == end:
                write_coefficient(terms[end], iv, 0.0)
                end += 1
    return end


@formula
def term_of(terms, first, end, iv):
    """Number of the term of a coordinate among those from `first` on; `end` if there is none."""
    term = first
    while term < end and terms[term].iv != iv:
        term += 1
    return term


@formula
def add_to_coordinate(points, k, force, bodies, terms, first, end):
    """Add the part of a force on entry k that acts on the coordinate with which the point moves, if it does."""
    entry = points.entries[k]
    if moves(points, entry):
        motion = points.motions[entry.motion]
        terms[term_of(terms, first, end, motion.iv)].coefficient += dot(force, slope_of(motion, bodies[entry.row]))


KIND = ConstraintKind("distance", DistanceSpec, ConstraintTable("distance", DISTANCE, write), pack)
