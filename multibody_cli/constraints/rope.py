"""Ropes and belts: inextensible, over points, guides and pulleys that they turn or over which they slide.

The pulleys that a rope turns, without slip, and its ends divide it into sections.  The length of a section is that of
its spans (`rope_span`), with the arcs on the pulleys over which it slides, and those up to a mark of each pulley that
it turns: material that the rotation of the pulley feeds.  A section cannot be longer than it is made,

    made - length >= 0,

and its multiplier is its tension.  The sections of a belt neither lengthen nor slacken: = 0.

An angle is known up to whole turns.  The end of a rope on a pulley that it turns goes about the body that carries the
pulley by less than 0.45 turns from its place at the start, and the coordinate of the pulley counts the others.  The
angle by which a rope wraps a pulley over which it slides differs from that at the start by less than 0.45 turns.
Beyond, the rope has no length (NaN).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.functional_validators import AfterValidator

from multibody_cli.constraints.contract import ConstraintKind, ConstraintSpec, ConstraintTable, Packed, RowShape
from multibody_cli.constraints.rope_span import (
    END,
    angle_of,
    ends_of,
    material_angle,
    nearest_turn,
    write_span,
)
from multibody_cli.constraints.rows import write_level
from multibody_cli.kernel import formula, kernel
from multibody_cli.signals import evaluate
from multibody_cli.spatial.products import dot
from multibody_cli.spec import BodyPoint, Direction, Fraction, PositiveLength, Quantity, Signal, SignalSpec, units
from multibody_cli.spec.catalogue import Catalogue
from multibody_cli.spec.entries import PackingContext, Place, placed
from multibody_cli.spec.points import Attachment
from multibody_cli.spec.quantities import WholeNumber, located_error
from multibody_cli.spec.signal import signal_schema

Coefficient = Annotated[
    float,
    Quantity(units.NUMBER, least=0.0),
    Field(
        description="Coefficient of friction of a rope that slides: its tension changes by at most exp(friction*angle)."
    ),
]


class GuideSpec(BodyPoint):
    """An end of a rope, or a guide through which it slides."""

    EXAMPLE = "{body: NAME, point: [x, y, z], friction: mu}"

    friction: Coefficient = 0.0


class PulleySpec(BodyPoint):
    """A disc of a body, in whose groove a rope lies."""

    EXAMPLE = "{body: NAME, radius: r, axis: [x, y, z], sense: 1}"
    ORIENTED: ClassVar[bool] = True

    radius: PositiveLength = Field(description="Radius at which the rope lies, m; `point` is the centre.")
    axis: Direction = Field(description="Axis of the disc, a direction in the body frame.")
    sense: Literal[1, -1] = Field(
        1, description="1 if the rope goes about the axis by the right-hand rule on its way, -1 if the other way."
    )
    slides: bool = Field(False, description="Whether the rope slides over the disc; else it turns the disc.")
    friction: Coefficient = 0.0
    turns: Annotated[int, WholeNumber(0)] = Field(
        0, description="Whole turns of a rope that slides, beside the part of a turn that follows from the positions."
    )

    @model_validator(mode="after")
    def _refuse_fields_without_effect(self) -> Self:
        for name in ("turns", "friction"):
            if getattr(self, name) and not self.slides:
                message = "has no effect on a pulley that the rope turns: omit it, or add `slides: true`"
                raise located_error(message, name)
        return self


OverEntry = Annotated[
    GuideSpec | PulleySpec,
    Catalogue("a point or a pulley", {"point": GuideSpec, "pulley": PulleySpec}, {"radius": "pulley", "body": "point"}),
]
"""An end, a guide, through which the rope slides, or a pulley."""


def _turned(entry: Attachment) -> bool:
    return isinstance(entry, PulleySpec) and not entry.slides


def _require_turned_ends(entries: list[OverEntry]) -> list[OverEntry]:
    for k in (0, len(entries) - 1):
        if isinstance(entries[k], PulleySpec) and not _turned(entries[k]):
            raise located_error("a rope cannot slide at its end: expected a point, or a drum, which it turns", k)
        if entries[k].friction:
            raise located_error("has no effect at the end of a rope, which does not slide: omit it", k, "friction")
    return entries


WITHIN = "it has no tangent at a pulley, since its next point lies within the circle, or the circles overlap"
"""Cause of a rope without a length."""


RopeLength = Annotated[SignalSpec, Signal(units.LENGTH, smooth=True)]


class RopeSpec(ConstraintSpec):
    """An inextensible rope over points, guides and pulleys, which it turns unless it slides over them."""

    type: Literal["rope"]
    over: Annotated[list[OverEntry], Field(min_length=2), AfterValidator(_require_turned_ends)] = Field(
        description="Its first end, guides and pulleys, and its last end. An end is a point, or a drum: a pulley from "
        "which the rope unwinds."
    )
    length: RopeLength | None = Field(
        None,
        description="Length of a rope that turns no pulley between its ends, less what its drums wind from the start "
        "on, m: a number, an expression of t, or a table {times, values}; a winch at its last end gives it the "
        "length. Default: taut.",
        json_schema_extra=signal_schema(),
    )
    slack: list[Annotated[float, Quantity(units.LENGTH, least=0.0)]] = Field(
        [], description="Slack at the start of each section between ends and pulleys that it turns, m. Default: none."
    )
    restitution: Fraction = Field(0.0, description="Of jerks, when it is taut: ratio of the rates after and before.")

    RELATIVE = True
    UNDEFINED = WITHIN

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
        return 1 + sum(map(_turned, self.over[1:-1]))

    @property
    def points(self) -> Sequence[tuple[Place, Attachment]]:
        """Points and centres of pulleys from end to end."""
        return placed("over", self.over)

    @property
    def turning(self) -> Sequence[tuple[Place, str, tuple[float, float, float]]]:
        """The pulleys whose rotation feeds the rope."""
        return _turning(self.over)

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

    @model_validator(mode="after")
    def _require_a_turned_pulley(self) -> Self:
        if not any(map(_turned, self.over)):
            raise located_error("a belt turns at least one of its pulleys: omit `slides` of one", "over")
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
        return sum(map(_turned, self.over))

    @property
    def points(self) -> Sequence[tuple[Place, Attachment]]:
        """Centres of its pulleys, and the first one again."""
        return placed("over", self.over)

    @property
    def turning(self) -> Sequence[tuple[Place, str, tuple[float, float, float]]]:
        """The pulleys whose rotation feeds the belt."""
        return _turning(self.over)


def _turning(over: Sequence[Attachment]) -> Sequence[tuple[Place, str, tuple[float, float, float]]]:
    return [
        (("over", k), one.body, one.axis) for k, one in enumerate(over) if isinstance(one, PulleySpec) and _turned(one)
    ]


SPAN = np.dtype(
    [
        ("first_row", "i8"),
        ("first_term", "i8"),
        ("starts_row", "i8"),  # whether it is the first span of its section, or the last one
        ("ends_row", "i8"),
        ("made", "f8"),  # length of the section, m, with the slack of the start until `packing.ropes` adds its length
        ("length", "i8"),  # signal of the length that the scene gives beside it, or -1
        ("turns", "f8"),  # whole turns about the pulley at which it begins
        ("friction", "f8"),  # coefficient at this pulley, or guide
        ("share", "f8"),  # as in `capstan.GUIDE`
        ("pretension", "f8"),
        ("a", END),
        ("b", END),
    ]
)
"""One record for each span."""


def pack_rope(spec: RopeSpec, context: PackingContext) -> Packed:
    """One one-sided row for each section."""
    length = -1 if spec.length is None else context.signal(spec.length)
    return _pack(spec.over, spec.slack or [0.0] * spec.row_count, length, (0.0, 0.0), spec.restitution, context)


def pack_belt(spec: BeltSpec, context: PackingContext) -> Packed:
    """One equality for each section; the first one starts at a pulley that the belt turns."""
    first = next(k for k, pulley in enumerate(spec.over) if _turned(pulley))
    over = [*spec.over[first:], *spec.over[:first], spec.over[first]]
    return _pack(over, [0.0] * spec.row_count, -1, (0.5, spec.pretension or 0.0), 0.0, context)


def _pack(
    over: Sequence[GuideSpec | PulleySpec],
    slack: Sequence[float],
    length: int,
    tension: tuple[float, float],
    restitution: float,
    context: PackingContext,
) -> Packed:
    ends = [_end(one, context) for one in over]
    records: list[tuple[Any, ...]] = []
    counts: list[int] = []
    term = 0
    for k, (a, b) in enumerate(itertools.pairwise(ends)):
        starts = k == 0 or _turned(over[k])
        counts += [0] if starts else []
        ends_row = k == len(over) - 2 or _turned(over[k + 1])
        made = (slack[len(counts) - 1], length, float(getattr(over[k], "turns", 0)))
        friction = 0.0 if starts else over[k].friction
        records.append((len(counts) - 1, term, starts, ends_row, *made, friction, *tension, a, b))
        added = (a[0] > 0) + (b[0] > 0)
        term, counts[-1] = term + added, counts[-1] + added
    words = [f"in section {k + 1}" for k in range(len(counts))] if len(counts) > 1 else ["along it"]
    rows = (
        RowShape(count, holonomic=True, direction=word, restitution=restitution)
        for count, word in zip(counts, words, strict=True)
    )
    return Packed(tuple(rows), tuple(records))


def _end(one: Attachment, context: PackingContext) -> tuple[Any, ...]:
    """Return the constants of an end of a span: the fields of END."""
    row, centre = context.attachment(one.body, one.point)
    if not isinstance(one, PulleySpec):
        return row, centre, np.zeros(3), np.zeros(3), 0.0, 0.0, True, -1, 0.0, 0.0
    axis = context.direction(one.body, one.axis)
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    iq, turn = context.turning(one.body, one.axis) if _turned(one) else (-1, 0.0)
    across /= np.linalg.norm(across)
    return row, centre, axis, across, one.radius, float(one.sense), one.slides, iq, turn, 0.0


@formula
def write(span, signals, points, buffers, t, bodies, q, v, rows, terms):
    """Write the terms of a span, and subtract it from the levels of its row.

    Until the next span, the rate of the row holds the angle at which the rope arrives at a pulley over which it slides.
    """
    row, a, b = rows[span.first_row], span.a, span.b
    if span.starts_row:
        write_level(row, span.made, 0.0, 0.0)
    ends = ends_of(a, b, bodies)
    row.error -= math.sqrt(dot(ends.d, ends.d))
    if a.radius > 0.0:
        angle = angle_of(a, ends.e_a, ends.n_a, bodies)
        if a.slides:
            row.error -= a.radius * nearest_turn(a.sense * (angle - row.rate), a.reference)
        else:
            row.error -= a.radius * a.sense * material_angle(a, angle, q)
    row.rate = 0.0
    if b.radius > 0.0:
        angle = angle_of(b, ends.e_b, ends.n_b, bodies)
        if b.slides:
            row.rate = angle
        else:
            row.error += b.radius * b.sense * material_angle(b, angle, q)
    row.bias += write_span(a, b, ends, -1.0, bodies, terms, span.first_term)
    if span.ends_row and span.length >= 0:
        length, rate, change = evaluate(signals, span.length, t)
        row.error += length
        row.rate = rate
        row.bias += change


NO_WRAP = 1e-6
"""Angle, rad, by which a rope that touches a pulley may miss it."""


@kernel
def mark(spans, bodies, q):
    """Choose the references of all angles for a position, and add the lengths of the sections there to `made`, once."""
    first, arrival = 0, 0.0
    for k in range(len(spans)):
        span = spans[k]
        a, b = span.a, span.b
        ends = ends_of(a, b, bodies)
        if span.starts_row:
            first = k
        free, fed = math.sqrt(dot(ends.d, ends.d)), 0.0
        if a.radius > 0.0:
            angle = angle_of(a, ends.e_a, ends.n_a, bodies)
            if a.slides:
                wrap = a.sense * (angle - arrival)
                a.reference = wrap - math.tau * math.floor((wrap + NO_WRAP) / math.tau) + math.tau * span.turns
                free += a.radius * a.reference
            else:
                a.reference = angle + a.turn * q[a.iq]
                fed += a.radius * a.sense * angle
        if b.radius > 0.0:
            arrival = angle_of(b, ends.e_b, ends.n_b, bodies)
            if not b.slides:
                b.reference = arrival + b.turn * q[b.iq]
                fed -= b.radius * b.sense * arrival
        spans[first].made += fed if span.length >= 0 else fed + free


TABLE = ConstraintTable("rope", SPAN, write)

ROPE = ConstraintKind("rope", RopeSpec, TABLE, pack_rope)

BELT = ConstraintKind("belt", BeltSpec, TABLE, pack_belt)
