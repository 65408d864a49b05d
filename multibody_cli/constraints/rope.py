"""Ropes and belts: inextensible, over points, guides and pulleys that they turn or over which they slide.

The pulleys that a rope turns, without slip, and its ends divide it into sections (`cables.rope`).  A section cannot be
longer than its material,

    made - length >= 0,

and its multiplier is its tension.  The sections of a belt neither lengthen nor slacken: = 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic.functional_validators import AfterValidator

from multibody_cli.cables.moving import slope_of, update_points
from multibody_cli.cables.rope import LOOSE, SPAN, WITHIN, around, pack_spans
from multibody_cli.cables.span import (
    angle_of,
    arrival_angle,
    arrive,
    ends_of,
    leaving_angle,
    levers_of,
    motions_of,
    move_end,
    pull_of,
    rate_change_of,
    span_motion,
    wrap_angle,
)
from multibody_cli.constraints.contract import ConstraintKind, ConstraintSpec, ConstraintTable, Packed, RowShape
from multibody_cli.constraints.rows import write_coefficient, write_level, write_wrench
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.signals import evaluate
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spec import Fraction, Quantity, Signal, SignalSpec, Vector, units
from multibody_cli.spec.entries import PackingContext, placed
from multibody_cli.spec.over import (
    OverEntry,
    PulleySpec,
    is_turned,
    require_belt,
    require_turned_ends,
    turning_of,
)
from multibody_cli.spec.points import Attachment
from multibody_cli.spec.quantities import located_error
from multibody_cli.spec.signal import signal_schema

RopeLength = Annotated[SignalSpec, Signal(units.LENGTH, smooth=True)]


class RopeSpec(ConstraintSpec):
    """An inextensible rope over points, guides and pulleys, which it turns unless it slides over them."""

    type: Literal["rope"]
    over: Annotated[list[OverEntry], Field(min_length=2), AfterValidator(require_turned_ends)] = Field(
        description="Its first end, guides and pulleys, and its last end. An end is a point, or a drum: a pulley from "
        "which the rope unwinds."
    )
    length: RopeLength | None = Field(
        None,
        description="Length of a rope that turns no pulley between its ends, less the length that its drums wind from "
        "the start on, m: a number, an expression of t, or a table {times, values}; a winch at its last end sets it. "
        "Default: taut.",
        json_schema_extra=signal_schema(),
    )
    slack: list[Annotated[float, Quantity(units.LENGTH, least=0.0)]] = Field(
        [], description="Slack at the start of each section between ends and pulleys that it turns, m. Default: none."
    )
    restitution: Fraction = Field(0.0, description="Of jerks, when it is taut: ratio of the rates after and before.")

    RELATIVE = True
    UNDEFINED = WITHIN
    SLACKENS = True

    @model_validator(mode="after")
    def _require_consistent_lengths(self) -> Self:
        if self.slack and len(self.slack) != self.row_count:
            lengths = "1 length" if self.row_count == 1 else f"{self.row_count} lengths"
            message = f"expected {lengths}, one for each section, found {len(self.slack)}"
            raise located_error(message, "slack")
        if self.length is not None and self.slack:
            raise located_error("expected either `length` or `slack`", "slack")
        if self.length is not None and self.length.constant is not None and not self.length.constant > 0.0:
            raise located_error("expected a length above 0 m", "length")
        if self.length is not None and self.row_count > 1:
            raise located_error("the rope has several sections: give the `slack` of each instead", "length")
        return self

    @property
    def one_sided(self) -> bool:
        """It pulls and never presses."""
        return True

    @property
    def is_driven(self) -> bool:
        """Whether its length changes."""
        return self.length is not None and self.length.constant is None

    @property
    def row_count(self) -> int:
        """One row for each section."""
        return 1 + sum(map(is_turned, self.over[1:-1]))

    @property
    def points(self) -> Sequence[tuple[NodePath, Attachment]]:
        """Points and centres of pulleys from end to end."""
        return placed("over", self.over)

    @property
    def turning(self) -> Sequence[tuple[NodePath, str, Vector]]:
        """The pulleys whose rotation feeds the rope."""
        return turning_of(self.over)

    @property
    def has_friction(self) -> bool:
        """Whether it slides over a guide with friction."""
        return any(one.friction for one in self.over)


class BeltSpec(ConstraintSpec):
    """A closed inextensible belt about two or more pulleys; it is crossed between pulleys of opposite sense."""

    type: Literal["belt"]
    over: Annotated[list[PulleySpec], Field(min_length=2)] = Field(
        description="Its pulleys in the order of its motion."
    )
    pretension: Annotated[float, Quantity(units.FORCE, least=0.0)] | None = Field(
        None,
        description="Tension at rest of a belt that slides with friction between axles at fixed distances, N; 0 of one "
        "that a movable axle tightens. It loads no joints. Required with `friction`.",
    )

    RELATIVE = True
    UNDEFINED = WITHIN
    SLACKENS = True

    @model_validator(mode="after")
    def _require_a_turned_pulley(self) -> Self:
        require_belt(self.over)
        if self.has_friction and self.pretension is None:
            raise located_error("is required with `friction`: the tension of the belt at rest, N", "pretension")
        if self.pretension and not self.has_friction:
            raise located_error("has no effect without `friction`: omit it", "pretension")
        return self

    @property
    def has_friction(self) -> bool:
        """Whether it slides over a pulley with friction."""
        return any(pulley.friction for pulley in self.over)

    @property
    def row_count(self) -> int:
        """One row for each section."""
        return sum(map(is_turned, self.over))

    @property
    def points(self) -> Sequence[tuple[NodePath, Attachment]]:
        """Centres of its pulleys, and the first one again."""
        return placed("over", self.over)

    @property
    def turning(self) -> Sequence[tuple[NodePath, str, Vector]]:
        """The pulleys whose rotation feeds the belt."""
        return turning_of(self.over)


def pack_rope(spec: RopeSpec, context: PackingContext) -> Packed:
    """One one-sided row for each section; a rope that does not act is never taut."""
    loose = 0.0 if spec.active else LOOSE
    if spec.length is not None:
        return _pack(spec.over, [(loose, 0.0, context.signal(spec.length))], (0.0, 0.0), spec.restitution, context)
    slack = spec.slack or [0.0] * spec.row_count
    return _pack(spec.over, [(loose + one, 1.0, -1) for one in slack], (0.0, 0.0), spec.restitution, context)


def pack_belt(spec: BeltSpec, context: PackingContext) -> Packed:
    """One equality for each section; the first one starts at a pulley that the belt turns."""
    taut = [(0.0 if spec.active else LOOSE, 1.0, -1)] * spec.row_count
    return _pack(around(spec.over), taut, (0.5, spec.pretension or 0.0), 0.0, context)


def _pack(
    over: Sequence[OverEntry],
    material: Sequence[tuple[float, float, int]],
    tension: tuple[float, float],
    restitution: float,
    context: PackingContext,
) -> Packed:
    records, counts = pack_spans(over, material, tension, context)
    words = [f"in section {k + 1}" for k in range(len(counts))] if len(counts) > 1 else ["along it"]
    rows = (
        RowShape(count, holonomic=True, direction=word, restitution=restitution)
        for count, word in zip(counts, words, strict=True)
    )
    return Packed(tuple(rows), tuple(records))


@formula
def write(span, signals, points, states, buffers, t, bodies, q, v, rows, terms):
    """Write the terms of a span, and subtract it from the levels of its row.

    Until the next span, the rate of the row holds the angle at which the rope arrives at a pulley over which it slides.
    """
    row, a, b = rows[span.first_row], span.a, span.b
    if max(a.entry, b.entry) >= 0:
        update_points(points, q, v)
        move_end(a, points)
        move_end(b, points)
    if span.starts_row:
        write_level(row, span.made, 0.0, 0.0)
    ends = ends_of(a, b, bodies)
    motions = motions_of(span, points, bodies, True)
    motion = span_motion(a, b, ends, bodies, motions)
    row.error -= math.sqrt(dot(ends.d, ends.d))
    if a.radius > 0.0:
        angle = angle_of(a, ends.e_a, ends.n_a, bodies)
        if a.slides:
            row.error -= a.radius * wrap_angle(a, states, angle - row.rate, motion.rate_a)
        else:
            row.error -= a.radius * a.sense * leaving_angle(a, states, angle, motion.rate_a, q, v)
    row.rate = 0.0
    if b.radius > 0.0:
        angle = angle_of(b, ends.e_b, ends.n_b, bodies)
        if b.slides:
            row.rate = angle
            arrive(b, states, motion.rate_b)
        else:
            row.error += b.radius * b.sense * arrival_angle(b, states, angle, motion.rate_b, q, v)
    row.bias -= write_terms(a, b, ends, motion, motions, points, bodies, terms, span.first_term)
    if span.ends_row and span.length >= 0:
        length, rate, change = evaluate(signals, span.length, t)
        row.error += length
        row.rate = rate
        row.bias += change


@formula
def write_terms(a, b, ends, motion, motions, points, bodies, terms, k):
    """Write the terms of the length of a span, times -1, from term k on; return its bias."""
    r_a, r_b = levers_of(a, b, ends, bodies)
    pull = pull_of(a, b, ends, 1.0, 1.0, 1.0)
    if a.row > 0:
        write_wrench(terms[k], a.row, cross(r_a, pull.f) + pull.moment_a, pull.f)
        k += 1
    if b.row > 0:
        write_wrench(terms[k], b.row, pull.moment_b - cross(r_b, pull.f), -pull.f)
        k += 1
    if a.entry >= 0:
        write_slope(terms[k], a, points, bodies, pull.f)
        k += 1
    if b.entry >= 0:
        write_slope(terms[k], b, points, bodies, -pull.f)
    return rate_change_of(a, b, ends, pull, motion, motions, motions, bodies)


@formula
def write_slope(term, end, points, bodies, force):
    """Write the generalized force of a force on an end that moves in its body."""
    motion = points.motions[points.entries[end.entry].motion]
    write_coefficient(term, motion.iv, dot(force, slope_of(motion, bodies[end.row])))


TABLE = ConstraintTable("rope", SPAN, write)

ROPE = ConstraintKind("rope", RopeSpec, TABLE, pack_rope)

BELT = ConstraintKind("belt", BeltSpec, TABLE, pack_belt)
