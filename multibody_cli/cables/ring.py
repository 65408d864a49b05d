"""Two arcs over one torus: a cable through its hole may leave the tube between them.

Along a geodesic of a torus, with the distance rho from the axis and the component t of its direction round the axis,
c = rho t is constant (Clairaut), and so is

    k r = 1 - c^2 R / rho^3

for the normal curvature k, which is least where rho is: on the innermost circle of the tube, or at rho = |c|, where an
arc turns back.  A cable leaves the tube where this is negative, and is a straight line between two arcs.  These end
near sqrt(3) times the distance from there at which k = 0.
"""

from __future__ import annotations

import math

from multibody_cli.cables.arcs import ROUGH, begin_of_line, complete, end_of_line
from multibody_cli.cables.torus import is_cut, settle
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import dot, transposed_times

NEARLY_FLAT = 0.05
"""Normal curvature, relative to that of the tube, below which arcs are divided anew as the tube grows."""

NARROWINGS = 20
"""Most steps to the point of an arc next to the axis."""

FLAT = 1e-3
"""Normal curvature, relative to that of the tube, below which an arc is not divided."""


@kernel
def divide_or_join(points, first, k, last, bodies, a, b) -> bool:
    """Divide the arc of entry k or k + 1 over one torus, or join both, where they need it; return whether they do."""
    one, other = points.surfaces[points.entries[k].surface], points.surfaces[points.entries[k + 1].surface]
    body, changes = bodies[points.entries[k].row], False
    if one.touches and other.touches:
        changes = dot(load(other.enter) - load(one.leave), load(one.leaving)) < 0.0
        if changes:
            join(one, other, body)
    elif one.touches:
        begin = begin_of_line(points, first, k, bodies, a)
        if passes_through(one, body, begin, load(body.x) + load(one.enter)):
            hand_over(one, other, body)
            changes = True
        else:
            changes = divide(one, other, body)
    elif other.touches:
        end = end_of_line(points, last, k + 1, bodies, b)
        changes = passes_through(other, body, load(body.x) + load(other.leave), end)
        if changes or hollow(other) < 0.0:
            hand_over(other, one, body)
            changes = True
    return changes


@kernel
def leads_through(points, first, k, last, bodies, a, b) -> bool:
    """Whether the arcs of entries k and k + 1 do not cross the plane of a torus outside of it, and are not hollow."""
    one, other = points.entries[k].surface, points.entries[k + 1].surface
    begins = points.surfaces[one if points.surfaces[one].touches else other]
    ends = points.surfaces[other if points.surfaces[other].touches else one]
    body, leads = bodies[points.entries[k].row], True
    one_and_other = points.surfaces[one].touches and points.surfaces[other].touches
    if begins.touches:
        before, after = begin_of_line(points, first, k, bodies, a), end_of_line(points, last, k + 1, bodies, b)
        leads = not (
            (one_and_other and min(hollow(begins), hollow(ends)) < 0.0)
            or crosses_outside(begins)
            or crosses_outside(ends)
            or line_crosses_outside(begins, body, before, load(body.x) + load(begins.enter))
            or line_crosses_outside(begins, body, load(body.x) + load(ends.leave), after)
        )
    return leads


@formula
def line_crosses_outside(surface, body, a, b):
    """Whether the line between two points of the world crosses the plane of a torus outside of it."""
    C = load(body.R) @ load(surface.axes)
    centre = load(body.x) + load(body.R) @ load(surface.centre)
    p, q = transposed_times(C, a - centre), transposed_times(C, b - centre)
    part = p.z / (p.z - q.z) if p.z * q.z < 0.0 else 0.0
    return p.z * q.z < 0.0 and math.hypot(p.x + part * (q.x - p.x), p.y + part * (q.y - p.y)) > surface.radii[0]


@formula
def crosses_outside(surface):
    """Whether an arc crosses the outermost circle of the tube, along which the angle of the tube is pi.

    Where it turns back outside of the innermost circle, it crosses the plane of the ring there alone.
    """
    P, Q, t, s = load(surface.start), load(surface.end), load(surface.heading), load(surface.end_heading)
    turns_back = abs(surface.invariant) > surface.radii[0] - surface.radii[1]
    sense, begin = rising(surface, P, t), tube_angle(surface, P)
    turns = (sense * (tube_angle(surface, Q) - begin)) % math.tau
    passes = sense * rising(surface, Q, s) > 0.0 and abs(begin + sense * turns) > math.pi
    return passes or (turns_back and P.z * Q.z < 0.0)


@formula
def rising(surface, x, t):
    """1 if the angle of the tube increases along t, or -1."""
    rho = math.hypot(x.x, x.y)
    rate = (surface.radii[0] - rho) * t.z + x.z * (x.x * t.x + x.y * t.y) / rho
    return 1.0 if rate >= 0.0 else -1.0


@formula
def join(one, other, body):
    """Let the first record of a torus have both arcs, with the line between them."""
    one.arc = max(one.arc + other.arc + dot(load(other.enter) - load(one.leave), load(one.leaving)), 0.0)
    other.touches = 0
    complete(one, body, ROUGH)


@formula
def passes_through(surface, body, a, b):
    """Whether the line between two points of the world cuts a surface."""
    C = load(body.R) @ load(surface.axes)
    centre = load(body.x) + load(body.R) @ load(surface.centre)
    return is_cut(surface, transposed_times(C, a - centre), transposed_times(C, b - centre))


@formula
def hand_over(source, target, body):
    """Let the other record of a torus have an arc."""
    target.touches, target.arc, target.doubtful = 1, source.arc, source.doubtful
    store(target.start, load(source.start))
    store(target.heading, load(source.heading))
    source.touches, source.arc = 0, 0.0
    complete(target, body, ROUGH)


@formula
def is_too_long(surface):
    """Whether an arc is longer than one turn about the tube in the flattest direction in which it is not hollow."""
    return abs(surface.arc) > math.tau * math.sqrt(surface.radii[0] * surface.radii[1])


@formula
def tube_angle(surface, x):
    """Angle of a point about the middle of the tube, from the innermost circle, rad."""
    return math.atan2(x.z, surface.radii[0] - math.hypot(x.x, x.y))


@formula
def hollow(surface):
    """The least normal curvature of an arc that first approaches the axis, in that of the tube; 0 if not negative."""
    R, r, P, t = surface.radii[0], surface.radii[1], load(surface.start), load(surface.heading)
    Q, s, c = load(surface.end), load(surface.end_heading), P.x * t.y - P.y * t.x
    falls = P.x * t.x + P.y * t.y < 0.0 < Q.x * s.x + Q.y * s.y and surface.arc > 0.0
    least = 1.0 - c * c * R / max(R - r, abs(c)) ** 3
    return least if falls and least < -FLAT else 0.0


@kernel
def divide(one, other, body) -> bool:
    """Divide an arc that leaves the tube between its ends; return whether it does.

    Where it is next to the axis, k r = least + (3 c^2 R rho'' / rho^4) s^2 / 2.
    """
    R, r, arc, least = one.radii[0], one.radii[1], one.arc, hollow(one)
    if least < 0.0:
        inner = arc_to_innermost(one, body)
        c = abs(one.start[0] * one.heading[1] - one.start[1] * one.heading[0])
        rho = max(R - r, c)
        bend = least * (R - rho) / (r * r) + c * c / rho**3
        flat = math.sqrt(2.0 * -least / (3.0 * c * c * R * bend / rho**4))
        other.arc = kept(arc - inner, flat)
        one.arc = arc - other.arc
        complete(one, body, ROUGH)
        other.touches = 1
        store(other.start, load(one.end))
        store(other.heading, load(one.end_heading))
        one.arc = kept(inner, flat)
        complete(one, body, ROUGH)
        complete(other, body, ROUGH)
    return least < 0.0


@formula
def arc_to_innermost(surface, body):
    """Length of an arc up to its point next to the axis, by false position for rho rho'; the arc ends there."""
    P, t, low, high = load(surface.start), load(surface.heading), 0.0, surface.arc
    below, above, steps, place, rate = P.x * t.x + P.y * t.y, outwards(surface), 0, high, outwards(surface)
    while abs(rate) > ROUGH * surface.radii[0] and steps < NARROWINGS:
        place, steps = low - below * (high - low) / (above - below), steps + 1
        surface.arc = place
        complete(surface, body, ROUGH)
        rate = outwards(surface)
        if rate < 0.0:
            low, below, above = place, rate, 0.5 * above
        else:
            high, above, below = place, rate, 0.5 * below
    return place


@formula
def outwards(surface):
    """rho rho' at the end of an arc."""
    Q, s = load(surface.end), load(surface.end_heading)
    return Q.x * s.x + Q.y * s.y


@formula
def kept(whole, flat):
    """The part of one side of a divided arc that remains, where its curvature is 0 at `flat` from its least one."""
    return max(whole - math.sqrt(3.0) * flat, 0.5 * max(whole - flat, 0.1 * whole))


@formula
def thicken(surface, part, body):
    """Set the radius of the tube to a part of its own, and move the start of an arc to it."""
    before = surface.radii[1]
    surface.radii[1] = part * surface.radii[2]
    if surface.touches:
        surface.arc *= surface.radii[1] / before
        settle(surface, load(surface.start), load(surface.heading))
        complete(surface, body, ROUGH)


@formula
def join_if_flat(one, other, body):
    """Join both arcs over a torus where they are nearly straight beside each other, so that they are divided anew."""
    if one.touches and other.touches and min(one.end_bend[0], other.bend[0]) * one.radii[1] < NEARLY_FLAT:
        join(one, other, body)
