"""Ropes as spans: straight parts between neighboring points and pulleys, in sections between pulleys that they turn.

A section has the length of its spans (`span`), with the arcs on the pulleys over which it slides.  It is made of the
material that was there at the start, and that the pulleys at its ends feed since then: those angles of their discs that
the rope leaves, times their radii.

An angle is known up to whole turns.  States (`forces.states`) count them: those of the angles at which a rope arrives
at a pulley that it turns and leaves it, about the body that carries the pulley, whose own turns its coordinate counts;
and those of the angle by which a rope wraps a pulley over which it slides.  A state is the change of the angle since
the start, and the angle is that nearest to it.

A guide with friction divides an elastic rope too: the rope turns its disc as far as it sticks, and its slip is a
state (`forces.rope_friction`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from multibody_cli.cables.span import END, angle_of, ends_of, move_end, nearest_turn, on_disc, turn_of
from multibody_cli.kernel import kernel
from multibody_cli.spatial.products import dot
from multibody_cli.spec.entries import PackingContext
from multibody_cli.spec.over import OverEntry, PulleySpec, is_turned
from multibody_cli.spec.path import moving_coordinates
from multibody_cli.spec.points import Attachment

SECTION = np.dtype([("length", "f8"), ("made", "f8"), ("grip", "f8")])
"""Length and material of a section of an elastic rope, m, and the ratio of tensions that slips where it begins."""

LOOSE = 2.0**20
"""Slack of a rope that does not act, m."""

SPAN = np.dtype(
    [
        ("first_row", "i8"),  # number of its section
        ("first_term", "i8"),
        ("starts_row", "i8"),  # whether it is the first span of its section, or the last one
        ("ends_row", "i8"),
        ("made", "f8"),  # material of the section, m, up to marks on its pulleys; before `mark`, slack and given length
        ("taut", "f8"),  # part of the length at the start that is material
        ("length", "i8"),  # signal of the length that the scene states beside it, or -1
        ("turns", "f8"),  # whole turns about the pulley at which it begins
        ("friction", "f8"),  # coefficient at this pulley, or guide
        ("share", "f8"),  # as in `capstan.GUIDE`
        ("pretension", "f8"),
        ("slips", "i8", 2),  # states of the material that slips over the guides where it begins and ends, or -1
        ("section", SECTION),
        ("a", END),
        ("b", END),
    ]
)
"""One record for each span."""

MOVES = (END.names or ()).index("entry")
"""Place of the field `entry` of END."""

WITHIN = "it has no tangent at a pulley, since its next point lies within the circle, or the circles overlap"
"""Cause of a rope without a length."""

POINTS_COINCIDE = "where two points next to each other coincide: move one of them, or give `slack`"
"""The same of a straight part without slack, which has no direction."""


def pack_spans(
    over: Sequence[OverEntry],
    material: Sequence[tuple[float, float, int]],
    tension: tuple[float, float],
    context: PackingContext,
    divides: Callable[[Attachment], bool] = is_turned,
) -> tuple[list[tuple[Any, ...]], list[int]]:
    """Return a record for each span, and the number of terms of each section.

    Parameters
    ----------
    over
        Points and pulleys from end to end.
    material
        Slack of each section, m, the part of its length at the start that is material, and the signal of its length.
    tension
        Share and pretension of the sections.
    context
        The model.
    divides
        Whether an entry divides the rope into sections.
    """
    ends = [_end(one, divides(one), context) for one in over]
    slips = [context.state() if divides(one) and one.friction else -1 for one in over]
    records: list[tuple[Any, ...]] = []
    counts: list[int] = []
    term = 0
    for k, (a, b) in enumerate(itertools.pairwise(ends)):
        starts = k == 0 or divides(over[k])
        counts += [0] if starts else []
        ends_row = k == len(over) - 2 or divides(over[k + 1])
        made = (*material[len(counts) - 1], float(getattr(over[k], "turns", 0)))
        given = *made, over[k].friction, *tension, (slips[k], slips[k + 1]), np.zeros((), SECTION)
        records.append((len(counts) - 1, term, starts, ends_row, *given, a, b))
        added = (a[0] > 0) + (a[MOVES] >= 0) + (b[0] > 0) + (b[MOVES] >= 0)
        term, counts[-1] = term + added, counts[-1] + added
    return records, counts


def around(over: Sequence[OverEntry]) -> list[OverEntry]:
    """Return the pulleys of a belt from the first one that it turns, and this one again."""
    first = next(k for k, pulley in enumerate(over) if is_turned(pulley))
    return [*over[first:], *over[:first], over[first]]


def _end(one: Attachment, feeds: bool, context: PackingContext) -> tuple[Any, ...]:
    """Return the constants of an end of a span, at which material is fed or not: the fields of END."""
    row, centre = context.attachment(one.body, one.point)
    entry = context.cable([one])[0] if moving_coordinates([one]) else -1
    if not isinstance(one, PulleySpec):
        return row, centre, np.zeros(3), np.zeros(3), 0.0, 0.0, True, -1, -1, 0.0, -1, 0.0, 0.0, entry
    axis = context.direction(one.body, one.axis)
    across = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    iq, iv, turn = context.turning(one.body, one.axis) if is_turned(one) else (-1, -1, 0.0)
    across /= np.linalg.norm(across)
    state = context.state()
    if feeds:
        context.state()
    own = one.radius, float(one.sense), not feeds, iq, iv, turn, state, 0.0, 0.0, entry
    return row, centre, axis, across, *own


@kernel
def move_ends(spans, points):
    """Write the centres of all ends that move in their bodies, after `moving.place_points`."""
    for k in range(len(spans)):
        move_end(spans[k].a, points)
        move_end(spans[k].b, points)


NO_WRAP = 1e-6
"""Angle, rad, by which a rope that touches a pulley may miss it."""


@kernel
def mark(spans, bodies, q, least):
    """Choose the references of all angles for a position, and add the material of the sections to `made`, once.

    `least` receives the straight length of each span with the slack of its section, m.
    """
    first, arrival, slack = 0, 0.0, 0.0
    for k in range(len(spans)):
        span = spans[k]
        a, b = span.a, span.b
        ends = ends_of(a, b, bodies)
        if span.starts_row:
            first, slack = k, span.made
        free, fed = math.sqrt(dot(ends.d, ends.d)), 0.0
        least[k] = slack + free
        if a.radius > 0.0:
            angle = angle_of(a, ends.e_a, ends.n_a, bodies)
            wrap = a.sense * (angle - arrival)
            wrap += math.tau * (span.turns - math.floor((wrap + NO_WRAP) / math.tau))
            if a.slides:
                a.reference = wrap
                free += a.radius * wrap
            else:
                angle = arrival + a.sense * wrap if span.slips[0] >= 0 else angle
                a.reference, a.angle = angle + turn_of(a, q), angle
                fed += a.radius * a.sense * angle
        if b.radius > 0.0:
            arrival = angle_of(b, ends.e_b, ends.n_b, bodies)
            if not b.slides:
                b.reference, b.angle = arrival + turn_of(b, q), arrival
                fed -= b.radius * b.sense * arrival
        taut = spans[first].taut * free if spans[first].taut > 0.0 else 0.0
        spans[first].made += fed + taut


@kernel
def follow(spans, states, bodies, q) -> int:
    """Move the states of all angles to the whole turns that are nearest in a position.

    Return the first span with an angle whose whole turns are uncertain, or -1.  Its state is kept.
    """
    arrival, uncertain = 0.0, -1
    for k in range(len(spans)):
        a, b = spans[k].a, spans[k].b
        ends = ends_of(a, b, bodies)
        certain = True
        if a.radius > 0.0:
            angle = angle_of(a, ends.e_a, ends.n_a, bodies)
            if a.slides:
                certain = move(states, a.state, a.sense * (angle - arrival) - a.reference)
                certain = certain and math.isfinite(on_disc(a.reference + states[a.state].value))
            else:
                certain = move(states, a.state, angle + turn_of(a, q) - a.reference)
        if b.radius > 0.0:
            arrival = angle_of(b, ends.e_b, ends.n_b, bodies)
            if not b.slides:
                certain = move(states, b.state + 1, arrival + turn_of(b, q) - b.reference) and certain
        uncertain = k if uncertain < 0 and not certain else uncertain
    return uncertain


@kernel
def move(states, k, change) -> bool:
    """Move state k to the change of its angle, up to whole turns, and return whether these are certain."""
    found = nearest_turn(change, states[k].value)
    if math.isfinite(found):
        states[k].value = found
    return math.isfinite(found) or not math.isfinite(change)
