"""Capstan friction of elastic ropes: material that slips over guides, a state of each.

A guide with friction has a section of the rope on both sides, with the tensions T_1 before and T_2 behind it.  As far
as the rope sticks, it turns the disc.  The material x that slips forward over it keeps

    T_1 / grip <= T_2 <= T_1 grip,    grip = exp(mu theta),

with the angle theta of the turn there, and slips forward only where T_2 = T_1 grip, back only where T_1 = T_2 grip.
This law has no rate: the tensions follow from the lengths and from the slip at the start of the step, by the least
slips that meet it.  They are computed guide by guide, which converges because less material raises a tension.

A slip of the rate u loses (N_2 - N_1) u, with the forces N of `elastic_section`: the rope passes the disc at the speed
(1 + T/EA) u, and N is the integral of 1 + T/EA over the tension.  The account has it as the work of the bodies on the
rope less the energy that this gains, which is a state: both have no jumps where a slip begins.
"""

from __future__ import annotations

import math

from multibody_cli.cables.span import ends_of, on_disc
from multibody_cli.forces.elastic_section import measure_section
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import cross, dot

SWEEPS = 1000
"""Most passes over all guides; one guide takes one, and four that slip together take 80."""

ROUND_OFF = 1e-14
"""Excess of a tension, relative to EA, that does not slip."""


@kernel
def let_slip(spans, states, points, rope, bodies):
    """Move the states of the guides of a rope to the slips that meet the law of friction.

    It follows `place_ends` and `follow_turns`.
    """
    measure_guides(spans, states, points, rope, bodies)
    sweep, moved = 0, True
    while moved and sweep < SWEEPS:
        moved, first = False, rope.first
        for k in range(rope.first + 1, rope.last):
            if spans[k].slips[0] >= 0:
                slip = slip_between(spans[first].section, spans[k].section)
                if slip != 0.0:
                    moved = True
                    spans[first].section.made -= slip
                    spans[k].section.made += slip
                    states[spans[k].slips[0]].value += slip
            first = k if spans[k].starts_row else first
        sweep += 1
    for k in range(rope.first, rope.last):
        if spans[k].slips[0] >= 0:
            keep(states[spans[k].slips[0]])


@formula
def keep(state):
    """Make the value of a state the start of the next step, if it is the end of a step; it has no rate."""
    state.rate = 0.0
    if state.pending > 0.0:
        state.start = state.value


@formula
def store_energy(state, energy):
    """Store an energy; its gains are deducted from its account."""
    state.value = energy
    keep(state)


@kernel
def measure_guides(spans, states, points, rope, bodies):
    """Store length, material and grip of all sections, with the slips at the start of the step."""
    for k in range(rope.first, rope.last):
        if spans[k].slips[0] >= 0:
            state = states[spans[k].slips[0]]
            state.value = state.start
    first = rope.first
    while first < rope.last:
        measured, section = measure_section(spans, states, points, first, bodies, True), spans[first].section
        section.length, section.made = measured.length, measured.made
        if spans[first].slips[0] >= 0:
            section.grip = math.exp(spans[first].friction * turn_at(spans[first - 1], spans[first], bodies))
        first = measured.end


@kernel
def turn_at(before, after, bodies) -> float:
    """Return the angle by which the rope turns at the guide between two spans; NaN where it has left a disc."""
    if after.a.radius > 0.0:
        return max(on_disc(after.a.sense * (after.a.angle - before.b.angle)), 0.0)
    u, w = ends_of(before.a, before.b, bodies).d, ends_of(after.a, after.b, bodies).d
    turned = cross(u, w)
    return math.atan2(math.sqrt(dot(turned, turned)), dot(u, w))


@kernel
def slip_between(before, behind) -> float:
    """Return the material that slips forward over a guide, m, or back if below 0; 0 where a section has no length."""
    grip = behind.grip
    if excess_of(before, behind, grip) > ROUND_OFF * abs(before.made) * behind.length:
        return slip_towards(before, behind, grip)
    if excess_of(behind, before, grip) > ROUND_OFF * abs(behind.made) * before.length:
        return -slip_towards(behind, before, grip)
    return 0.0


@formula
def excess_of(source, target, grip):
    """Tension of the target above that of the source times the grip, over EA, times both materials."""
    loose = max(source.length - source.made, 0.0)
    return source.made * max(target.length - target.made, 0.0) - grip * target.made * loose


@formula
def slip_towards(source, target, grip):
    """Material that slips from the source to the target, until the target has the tension of the source times grip."""
    a, made, b, other = source.length, source.made, target.length, target.made
    if a + b <= made + other:
        return b - other  # both are slack
    more = grip - 1.0
    c = made * (b - other) - grip * other * (a - made)
    q = b + grip * a - more * (made - other)
    return 2.0 * c / (q + math.sqrt(q * q + 4.0 * more * c))
