"""Sections of elastic ropes: length, material, tension and their derivatives.

With the stretch s = l / L of the length l and the material L (`cables.rope`), and stiffness k and damping d per unit
of strain, a section has the energy and the tension

    V = k L (s - 1)^2 / 2,    T = k (s - 1) + d ds/dt >= 0,    L ds/dt = dl/dt - s dL/dt.

It is slack where s <= 1, and s is 0 where it has no material.  A pulley takes up material without strain, and its
energy: it feeds against the force

    N = k (s^2 - 1) / 2 + s (T - k (s - 1)),

which is T but for the square of the strain.  The power of T and N is -dV/dt, less the loss (T - k (s - 1)) L ds/dt.
The second derivatives of V by l and L are k / L times those of (dl - s dL)^2 / 2.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from multibody_cli.cables.span import (
    COINCIDENT,
    angle_of,
    arrival_angle,
    arrive,
    changes_of,
    ends_of,
    leaving_angle,
    levers_of,
    nearest_turn,
    on_disc,
    pull_change,
    pull_of,
    span_motion,
    turn_of,
    twists_of,
    velocities_of,
    wrap_angle,
)
from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.cable import transverse_matrix
from multibody_cli.forces.variation import add_wrench
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.points import displacement_of
from multibody_cli.spatial.products import cross, dot


class Section(NamedTuple):
    """Length and material of a section, m, and their rates or changes; and the number of the span behind it."""

    end: Any
    length: Any
    made: Any
    lengthening: Any
    feeding: Any


@kernel
def count_turns(spans, states, rope, q):
    """Write the angles of the ends in pulleys that turn, by the states and coordinates that count their turns."""
    for k in range(rope.first, rope.last):
        a, b = spans[k].a, spans[k].b
        if not a.slides:
            a.angle = a.reference + states[a.state].value - turn_of(a, q)
        if not b.slides:
            b.angle = b.reference + states[b.state + 1].value - turn_of(b, q)


@kernel
def follow_turns(spans, states, rope, q, v, bodies):
    """Write the rates of the states of all angles, or the angles themselves, after `count_turns`."""
    for k in range(rope.first, rope.last):
        a, b = spans[k].a, spans[k].b
        ends = ends_of(a, b, bodies)
        motion = span_motion(a, b, ends, bodies, velocities_of(a, b, bodies))
        if a.radius > 0.0:
            angle = angle_of(a, ends.e_a, ends.n_a, bodies)
            if a.slides:
                wrap_angle(a, states, angle - spans[k - 1].b.angle, motion.rate_a)
            else:
                a.angle = leaving_angle(a, states, angle, motion.rate_a, q, v)
        if b.radius > 0.0:
            angle = angle_of(b, ends.e_b, ends.n_b, bodies)
            if b.slides:
                b.angle = angle
                arrive(b, states, motion.rate_b)
            else:
                b.angle = arrival_angle(b, states, angle, motion.rate_b, q, v)


@formula
def slipped(states, slip):
    """Material that slipped over a guide since the start, m; 0 over one without friction."""
    return states[slip].value if slip >= 0 else 0.0


@kernel
def measure_section(spans, states, first, bodies, in_time):
    """Measure the section whose first span is `first`; with its rates, or its changes along the motion change."""
    length, made, lengthening, feeding = 0.0, spans[first].made, 0.0, 0.0
    made += slipped(states, spans[first].slips[0])
    arrival, turned, k, last = 0.0, 0.0, first, False
    while not last:
        a, b = spans[k].a, spans[k].b
        ends = ends_of(a, b, bodies)
        motion = span_motion(a, b, ends, bodies, twists_of(a, b, bodies, in_time))
        straight = math.sqrt(dot(ends.d, ends.d))
        length += straight
        lengthening += dot(ends.d, motion.dd) / max(straight, COINCIDENT)
        if a.radius > 0.0:
            angle, lever = angle_of(a, ends.e_a, ends.n_a, bodies), a.sense * a.radius
            if a.slides:
                wrap = nearest_turn(a.sense * (angle - arrival), a.reference + states[a.state].value)
                length += a.radius * on_disc(wrap)
                lengthening += lever * (motion.rate_a - turned)
            else:
                made -= lever * nearest_turn(angle, a.angle)
                feeding -= lever * motion.rate_a
        if b.radius > 0.0:
            arrival, turned, lever = angle_of(b, ends.e_b, ends.n_b, bodies), motion.rate_b, b.sense * b.radius
            if not b.slides:
                made += lever * nearest_turn(arrival, b.angle)
                feeding += lever * turned
        last, k = spans[k].ends_row != 0, k + 1
    made -= slipped(states, spans[k - 1].slips[1])
    return Section(k, length, made, lengthening, feeding)


@formula
def stretch_of(section):
    """Stretch s of a section; 0 of one without material, which has no tension."""
    return section.length / section.made if section.made > 0.0 else 0.0


@kernel
def energy_of(spans, states, rope, bodies) -> float:
    """Return the elastic energy of a rope, J, after `count_turns`."""
    first, energy = rope.first, 0.0
    while first < rope.last:
        section = measure_section(spans, states, first, bodies, True)
        strain = stretch_of(section) - 1.0
        if strain > 0.0:
            energy += 0.5 * rope.stiffness * section.made * strain * strain
        first = section.end
    return energy


@formula
def tensions_of(rope, section):
    """Tension T, force N against which material is fed, and the force of the damper, N; 0 of a slack section."""
    stretch = stretch_of(section)
    if not stretch > 1.0:
        return 0.0, 0.0, 0.0
    elastic = rope.stiffness * (stretch - 1.0)
    viscous = max(rope.damping * stretching_of(section, section) / section.made, -elastic)
    return elastic + viscous, 0.5 * elastic * (1.0 + stretch) + stretch * viscous, viscous


@formula
def stretching_of(section, motion):
    """Rate of the stretch times the material: dl - s dL along a motion of the section."""
    return motion.lengthening - stretch_of(section) * motion.feeding


@formula
def pull_at(span, ends, tension, feed):
    """Forces of a span."""
    a, b = span.a, span.b
    return pull_of(a, b, ends, tension, tension if a.slides else feed, tension if b.slides else feed)


@kernel
def apply_pull(span, tension, feed, bodies):
    """Apply the forces of a span to its bodies."""
    a, b = span.a, span.b
    ends = ends_of(a, b, bodies)
    r_a, r_b = levers_of(a, b, ends, bodies)
    pull = pull_at(span, ends, tension, feed)
    if a.row > 0:
        apply_wrench(bodies[a.row], cross(r_a, pull.f) + pull.moment_a, pull.f)
    if b.row > 0:
        apply_wrench(bodies[b.row], pull.moment_b - cross(r_b, pull.f), -pull.f)


# --- stiffness and damping --------------------------------------------------------------------------------------------
@kernel
def add_exact_change(rope, spans, states, first, section, bodies, factors, wrenches):
    """Add the changes of the wrenches of a section that is not slack, with both factors."""
    displacement_factor, velocity_factor = factors
    change = measure_section(spans, states, first, bodies, False)
    stretch = stretch_of(section)
    tension, feed, viscous = tensions_of(rope, section)
    stretched = displacement_factor * stretching_of(section, change) / section.made
    quickened = velocity_factor * stretching_of(section, change) - stretched * section.feeding
    for k in range(first, section.end):
        quickened += displacement_factor * rate_change(spans[k], stretch, bodies)
    quickened -= displacement_factor * change.feeding * stretching_of(section, section) / section.made
    elastic = rope.stiffness * stretched
    damped = rope.damping * quickened / section.made if tension > 0.0 else -elastic
    changes = elastic + damped, stretch * (elastic + damped) + stretched * viscous
    for k in range(first, section.end):
        add_change(spans[k], (tension, feed), changes, displacement_factor, bodies, wrenches)


@kernel
def rate_change(span, stretch, bodies) -> float:
    """Return the part of a span in the change of dl/dt - s dL/dt, for constant velocities and stretch."""
    a, b = span.a, span.b
    ends = ends_of(a, b, bodies)
    r_a, r_b = levers_of(a, b, ends, bodies)
    motion = span_motion(a, b, ends, bodies, changes_of(a, b, bodies))
    pull = pull_at(span, ends, 1.0, stretch)
    df, turn_a, turn_b = pull_change(a, b, ends, pull, motion, 1.0, (0.0, 0.0, 0.0))
    w_a, v_a, w_b, v_b = velocities_of(a, b, bodies)
    apart = v_b + cross(w_b, r_b) - v_a - cross(w_a, r_a)
    swing = cross(w_b, motion.dr_b) - cross(w_a, motion.dr_a)
    return dot(df, apart) + dot(pull.f, swing) - dot(turn_a, w_a) - dot(turn_b, w_b)


@kernel
def add_change(span, tensions, changes, displacement_factor, bodies, wrenches):
    """Add the changes of the wrenches of a span by its motion, and by `changes` of T and N."""
    a, b = span.a, span.b
    ends = ends_of(a, b, bodies)
    r_a, r_b = levers_of(a, b, ends, bodies)
    more, fed = pull_at(span, ends, *changes), pull_at(span, ends, *tensions)
    motion = span_motion(a, b, ends, bodies, changes_of(a, b, bodies))
    df, turn_a, turn_b = pull_change(a, b, ends, fed, motion, tensions[0], (0.0, 0.0, 0.0))
    f = more.f + displacement_factor * df
    turn_a, turn_b = more.moment_a + displacement_factor * turn_a, more.moment_b + displacement_factor * turn_b
    if a.row > 0:
        moved = displacement_factor * cross(motion.dr_a, fed.f)
        add_wrench(wrenches[a.row], cross(r_a, f) + moved + turn_a, f)
    if b.row > 0:
        moved = displacement_factor * cross(motion.dr_b, fed.f)
        add_wrench(wrenches[b.row], turn_b - cross(r_b, f) - moved, -f)


@formula
def stiffness_of(rope, section, factors):
    """Stiffness and damping of the stretch of a section, along dl - s dL."""
    tension, _, _ = tensions_of(rope, section)
    return (factors[0] * rope.stiffness + factors[1] * rope.damping) / section.made if tension > 0.0 else 0.0


@formula
def across_of(rope, section, ends, displacement_factor):
    """Stiffness of a span across its direction, T / d, times the factor; 0 where it has no length."""
    tension, _, _ = tensions_of(rope, section)
    straight = math.sqrt(dot(ends.d, ends.d))
    u = (1.0 / max(straight, COINCIDENT)) * ends.d
    return transverse_matrix(u, displacement_factor * tension / straight if straight > 0.0 else 0.0)


@kernel
def add_passive_change(rope, spans, states, first, section, bodies, factors, wrenches):
    """Add the changes of the wrenches of a section by the stretch, and by displacements across its spans."""
    change, stretch = measure_section(spans, states, first, bodies, False), stretch_of(section)
    factor = stiffness_of(rope, section, factors) * stretching_of(section, change)
    for k in range(first, section.end):
        a, b = spans[k].a, spans[k].b
        ends = ends_of(a, b, bodies)
        r_a, r_b = levers_of(a, b, ends, bodies)
        along = pull_at(spans[k], ends, factor, factor * stretch)
        moved = displacement_of(bodies[b.row], r_b) - displacement_of(bodies[a.row], r_a)
        f = along.f + across_of(rope, section, ends, factors[0]) @ moved
        if a.row > 0:
            add_wrench(wrenches[a.row], cross(r_a, f) + along.moment_a, f)
        if b.row > 0:
            add_wrench(wrenches[b.row], along.moment_b - cross(r_b, f), -f)
