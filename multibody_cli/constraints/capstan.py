"""Capstan friction of ropes, at guides and at pulleys over which they slide.

The tension of a rope changes there by no more than

    T_1 <= T_2 e^(mu theta)

with the angle theta of the turn there.  The same for both directions of slip is a limit in proportion to the sum,

    |F| <= tanh(mu theta / 2) (T_1 + T_2),    F = T_2 - T_1.

T_1 is the tension of the span before the guide.  The friction acts along the slip velocity u of the rope over the body
of the guide: the sum of the rates of the lengths of all spans of the section before the guide (`cables.span`), whose
angles are those in the bodies.  An impulse x along u diminishes the tensions of these spans by x, so that x = F.

The sections of a belt have no ends, and a tension at rest, the pretension, around which friction distributes the
tensions evenly: u is half the rate of the spans before, less half that of those behind.
"""

from __future__ import annotations

import math

import numpy as np

from multibody_cli.cables.moving import place_points
from multibody_cli.cables.span import angle_of, ends_of, move_end, nearest_turn
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import cross, dot

GUIDE = np.dtype(
    [
        ("span", "i8"),  # that begins at the guide
        ("first_span", "i8"),  # of the section, and the end of its spans
        ("last_span", "i8"),
        ("row", "i8"),  # of the section
        ("first_term", "i8"),  # of the section, of the spans behind the guide, and the end of these
        ("middle_term", "i8"),
        ("last_term", "i8"),
        ("share", "f8"),  # of the friction that the tension at the end of the section takes: 1/2 of a belt, else 0
        ("friction", "f8"),
        ("pretension", "f8"),
    ]
)
"""A guide, or a pulley over which a rope slides, with friction."""


@kernel
def grip_of(spans, states, guide, bodies) -> float:
    """Return tanh(mu theta / 2) of a guide; NaN where a point lies within a circle of the rope."""
    before, after = spans[guide.span - 1], spans[guide.span]
    arrives, leaves = ends_of(before.a, before.b, bodies), ends_of(after.a, after.b, bodies)
    a, u, w = after.a, arrives.d, leaves.d
    turned = cross(u, w)
    angle = math.atan2(math.sqrt(dot(turned, turned)), dot(u, w))
    if a.radius > 0.0:
        angle = angle_of(a, leaves.e_a, leaves.n_a, bodies) - angle_of(a, arrives.e_b, leaves.n_a, bodies)
        angle = max(nearest_turn(a.sense * angle, a.reference + states[a.state].value), 0.0)
    return math.tanh(0.5 * guide.friction * angle)


@kernel
def displacement_at(spans, points, guide, bodies, q, ends, q_end) -> float:
    """Return the displacement of a rope over a guide while its bodies and coordinates move to others, m.

    No end turns by more than half a turn about its pulley.
    """
    total = 0.0
    for k in range(guide.first_span, guide.last_span):
        share = guide.share if k >= guide.span else guide.share - 1.0
        if share != 0.0:
            total -= share * lengthening_of(spans[k].a, spans[k].b, points, bodies, q, ends, q_end)
    return total


@formula
def lengthening_of(a, b, points, bodies, q, ends, q_end):
    """Lengthening of a span with the material that its pulleys take up, while its bodies and coordinates move."""
    old = placed_ends(a, b, points, bodies, q)
    new = placed_ends(a, b, points, ends, q_end)
    change = math.sqrt(dot(new.d, new.d)) - math.sqrt(dot(old.d, old.d))
    if a.radius > 0.0:
        turned = angle_of(a, new.e_a, new.n_a, ends) - angle_of(a, old.e_a, old.n_a, bodies)
        change += a.radius * a.sense * nearest_turn(turned, 0.0)
    if b.radius > 0.0:
        turned = angle_of(b, new.e_b, new.n_b, ends) - angle_of(b, old.e_b, old.n_b, bodies)
        change -= b.radius * b.sense * nearest_turn(turned, 0.0)
    return change


@formula
def placed_ends(a, b, points, bodies, q):
    """Ends of a span for poses of bodies and coordinates."""
    if max(a.entry, b.entry) >= 0:
        place_points(points, q)
        move_end(a, points)
        move_end(b, points)
    return ends_of(a, b, bodies)
