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

from multibody_cli.cables.moving import coordinate_change, slope_change_of, slope_of
from multibody_cli.cables.span import (
    COINCIDENT,
    angle_of,
    arrival_angle,
    arrive,
    ends_of,
    leaving_angle,
    levers_of,
    motions_of,
    move_end,
    nearest_turn,
    on_disc,
    pull_change,
    pull_of,
    rate_change_of,
    span_motion,
    turn_of,
    wrap_angle,
)
from multibody_cli.forces.cable import add_coordinate_force, transverse_matrix
from multibody_cli.forces.variation import add_wrench
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, dot


class Section(NamedTuple):
    """Length and material of a section, m, and their rates or changes; and the number of the span behind it."""

    end: Any
    length: Any
    made: Any
    lengthening: Any
    feeding: Any


@kernel
def place_ends(spans, states, points, rope, q):
    """Write the centres of ends that move in their bodies, and the angles of ends in pulleys that turn.

    States and coordinates count the turns; it follows `moving.place_points`.
    """
    for k in range(rope.first, rope.last):
        a, b = spans[k].a, spans[k].b
        move_end(a, points)
        move_end(b, points)
        if not a.slides:
            a.angle = a.reference + states[a.state].value - turn_of(a, q)
        if not b.slides:
            b.angle = b.reference + states[b.state + 1].value - turn_of(b, q)


@kernel
def follow_turns(spans, states, points, rope, q, v, bodies):
    """Write the rates of the states of all angles, or the angles themselves, after `place_ends`."""
    for k in range(rope.first, rope.last):
        a, b = spans[k].a, spans[k].b
        ends = ends_of(a, b, bodies)
        motion = span_motion(a, b, ends, bodies, motions_of(spans[k], points, bodies, True))
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
def measure_section(spans, states, points, first, bodies, in_time):
    """Measure the section whose first span is `first`; with its rates, or its changes along the motion change."""
    length, made, lengthening, feeding = 0.0, spans[first].made, 0.0, 0.0
    made += slipped(states, spans[first].slips[0])
    arrival, turned, k, last = 0.0, 0.0, first, False
    while not last:
        a, b = spans[k].a, spans[k].b
        ends = ends_of(a, b, bodies)
        motion = span_motion(a, b, ends, bodies, motions_of(spans[k], points, bodies, in_time))
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
def energy_of(spans, states, points, rope, bodies) -> float:
    """Return the elastic energy of a rope, J, after `place_ends`."""
    first, energy = rope.first, 0.0
    while first < rope.last:
        section = measure_section(spans, states, points, first, bodies, True)
        strain = stretch_of(section) - 1.0
        if strain > 0.0:
            energy += 0.5 * rope.stiffness * section.made * strain * strain
        first = section.end
    return energy


@formula
def tensions_of(rope, section):
    """Tension T, force N against which material is fed, and the force of the damper, N; 0 of a slack section."""
    stretch = stretch_of(section)
    if not stretch >= 1.0:
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
def add_pull(span, points, tension, feed, bodies, wrenches):
    """Add the wrenches of a span; of the opposite tensions to the bias wrenches of the bodies."""
    a, b = span.a, span.b
    ends = ends_of(a, b, bodies)
    r_a, r_b = levers_of(a, b, ends, bodies)
    pull = pull_at(span, ends, tension, feed)
    add_end_wrench(a, points, cross(r_a, pull.f) + pull.moment_a, pull.f, bodies, wrenches)
    add_end_wrench(b, points, pull.moment_b - cross(r_b, pull.f), -pull.f, bodies, wrenches)


@formula
def add_end_wrench(end, points, moment, force, bodies, wrenches):
    """Add a wrench on the body of an end, with that on the coordinate of an end that moves in it."""
    if end.row > 0:
        add_wrench(wrenches[end.row], moment, force)
    if end.entry >= 0:
        motion = points.motions[points.entries[end.entry].motion]
        add_coordinate_force(motion, dot(force, slope_of(motion, bodies[end.row])), bodies, wrenches)


@formula
def add_bent_force(end, points, force, bodies, wrenches):
    """Add the change of the force on the coordinate of an end that moves, by the change of its slope."""
    if end.entry >= 0:
        motion, body = points.motions[points.entries[end.entry].motion], bodies[end.row]
        bent = slope_change_of(motion, body, load(body.dw), coordinate_change(motion, bodies))
        add_coordinate_force(motion, dot(force, bent), bodies, wrenches)


# --- stiffness and damping --------------------------------------------------------------------------------------------
@kernel
def add_exact_change(rope, spans, states, points, first, section, bodies, factors, wrenches):
    """Add the changes of the wrenches of a section that is not slack, with both factors."""
    displacement_factor, velocity_factor = factors
    change = measure_section(spans, states, points, first, bodies, False)
    stretch = stretch_of(section)
    tension, feed, viscous = tensions_of(rope, section)
    stretched = displacement_factor * stretching_of(section, change) / section.made
    quickened = velocity_factor * stretching_of(section, change) - stretched * section.feeding
    for k in range(first, section.end):
        quickened += displacement_factor * rate_change(spans[k], points, stretch, bodies)
    quickened -= displacement_factor * change.feeding * stretching_of(section, section) / section.made
    elastic = rope.stiffness * stretched
    damped = rope.damping * quickened / section.made if tension > 0.0 else -elastic
    changes = elastic + damped, stretch * (elastic + damped) + stretched * viscous
    for k in range(first, section.end):
        add_change(spans[k], points, (tension, feed), changes, displacement_factor, bodies, wrenches)


@kernel
def rate_change(span, points, stretch, bodies) -> float:
    """Return the part of a span in the change of dl/dt - s dL/dt, for constant velocities and stretch."""
    a, b = span.a, span.b
    ends, changes = ends_of(a, b, bodies), motions_of(span, points, bodies, False)
    motion, velocities = span_motion(a, b, ends, bodies, changes), motions_of(span, points, bodies, True)
    return rate_change_of(a, b, ends, pull_at(span, ends, 1.0, stretch), motion, velocities, changes, bodies)


@kernel
def add_change(span, points, tensions, changes, displacement_factor, bodies, wrenches):
    """Add the changes of the wrenches of a span by its motion, and by `changes` of T and N."""
    a, b = span.a, span.b
    ends = ends_of(a, b, bodies)
    r_a, r_b = levers_of(a, b, ends, bodies)
    more, fed = pull_at(span, ends, *changes), pull_at(span, ends, *tensions)
    motion = span_motion(a, b, ends, bodies, motions_of(span, points, bodies, False))
    df, turn_a, turn_b = pull_change(a, b, ends, fed, motion, tensions[0], (0.0, 0.0, 0.0))
    f = more.f + displacement_factor * df
    turn_a, turn_b = more.moment_a + displacement_factor * turn_a, more.moment_b + displacement_factor * turn_b
    bent, moved_a, moved_b = displacement_factor * fed.f, cross(motion.dr_a, fed.f), cross(motion.dr_b, fed.f)
    add_end_wrench(a, points, cross(r_a, f) + displacement_factor * moved_a + turn_a, f, bodies, wrenches)
    add_end_wrench(b, points, turn_b - cross(r_b, f) - displacement_factor * moved_b, -f, bodies, wrenches)
    add_bent_force(a, points, bent, bodies, wrenches)
    add_bent_force(b, points, -bent, bodies, wrenches)


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
def add_passive_change(rope, spans, states, points, first, section, bodies, factors, wrenches):
    """Add the changes of the wrenches of a section by the stretch, and by displacements across its spans."""
    change, stretch = measure_section(spans, states, points, first, bodies, False), stretch_of(section)
    factor = stiffness_of(rope, section, factors) * stretching_of(section, change)
    for k in range(first, section.end):
        a, b = spans[k].a, spans[k].b
        ends = ends_of(a, b, bodies)
        r_a, r_b = levers_of(a, b, ends, bodies)
        along = pull_at(spans[k], ends, factor, factor * stretch)
        of_a, of_b = motions_of(spans[k], points, bodies, False)
        moved = of_b.v + cross(of_b.w, r_b) - (of_a.v + cross(of_a.w, r_a))
        f = along.f + across_of(rope, section, ends, factors[0]) @ moved
        add_end_wrench(a, points, cross(r_a, f) + along.moment_a, f, bodies, wrenches)
        add_end_wrench(b, points, along.moment_b - cross(r_b, f), -f, bodies, wrenches)
