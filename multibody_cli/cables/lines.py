"""Lines of cables through points of bodies, and arcs over surfaces between them.

With the differences d_k of neighboring points and their unit vectors u_k, a cable has

    l = sum_k f_k |d_k|,    dl/dt = sum_k f_k u_k . dd_k/dt.

The factors f_k are 1 but for cables with branches: 1 / divisor in a branch, and 0 between two branches.

Between two points, a cable may wrap over surfaces (`cables.wrapping`).  A surface then has two points, at which the
line before it ends and the line after it begins, and the length of the arc adds to l.  Where the cable does not touch
a surface, one line leads past it.  A point may move in its body, or exist in a range of a coordinate (`cables.moving`).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from multibody_cli.cables.moving import AXIS, POINT_MOTION, coordinate_change, slope_of, switch_points
from multibody_cli.cables.surface import SURFACE
from multibody_cli.cables.wrapping import wrap
from multibody_cli.kernel import Records, formula, kernel, records
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.points import displacement_of, velocity_of
from multibody_cli.spatial.products import ZERO, dot

POINT = np.dtype([("row", "i8"), ("point", "f8", 3), ("factor", "f8"), ("surface", "i8"), ("motion", "i8")])
"""A point of a body in its joint frame; row 0 is the ground.  The factor is that of the line that ends there.

In its place a surface has its number, which is -1 for a point, as is that of the motion of a point that is fixed.
"""

LINE = np.dtype([("start", "f8", 3), ("end", "f8", 3), ("direction", "f8", 3), ("length", "f8"), ("rate", "f8")])
"""The line that ends at an entry, as `line_to` returns it; the first entry has length and rate of the cable."""


class CablePoints(NamedTuple):
    """The points and surfaces of all cables, each in its order from end to end."""

    entries: Annotated[Records, "points", POINT]
    surfaces: Annotated[Records, "surfaces", SURFACE]
    motions: Annotated[Records, "motions", POINT_MOTION]
    axes: Annotated[Records, 5, AXIS]  # scratch
    lines: Annotated[Records, "points", LINE]  # those of the last `keep_lines`

    def with_own_scratch(self) -> CablePoints:
        """Return the same cables with arcs and lines of their own, for another thread."""
        own = {name: getattr(self, name).copy() for name in ("surfaces", "motions", "axes", "lines")}
        return self._replace(**own)


def cable_points(entries, surfaces, motions) -> CablePoints:
    """Return points, surfaces and motions of points of all cables, with scratch."""
    return CablePoints(
        records(entries), surfaces, motions, records(np.zeros(5, AXIS)), records(np.zeros(len(entries), LINE))
    )


def fixed_points(entries, surfaces) -> CablePoints:
    """Return points and surfaces of cables of which none depends on a coordinate."""
    return cable_points(entries, surfaces, records(np.zeros(0, POINT_MOTION)))


COLLAPSED = 1e-6
"""Fraction of the length of the path, or of its rest length, below which two neighbors coincide."""


COINCIDENT = 1e-150
"""Distance of two points below which its square underflows, m: their line has no direction."""


ROUND_OFF = 1e-15
"""Round-off of the distance of two points, relative to their levers and the positions of their bodies."""


@formula
def lever_of(point, bodies):
    """From the origin of the body to the point, world axes."""
    return load(bodies[point.row].R) @ load(point.point)


@formula
def at_surface(points, i, k):
    """Whether entry i or entry k is a surface."""
    return max(points.entries[i].surface, points.entries[k].surface) >= 0


@formula
def are_fixed(points, i, k):
    """Whether the ends of the line from entry i to entry k are fixed in their bodies."""
    one, other = points.entries[i], points.entries[k]
    return max(one.surface, one.motion, other.surface, other.motion) < 0


@formula
def line_to(points, i, k, bodies):
    """The line from entry i to entry k: levers of its ends, its direction, 0 if it has none, and its length."""
    one, other = points.entries[i], points.entries[k]
    r, s = lever_of(one, bodies), lever_of(other, bodies)
    d = load(bodies[other.row].x) + s - load(bodies[one.row].x) - r
    length = math.sqrt(dot(d, d))
    u = (1.0 / max(length, COINCIDENT)) * d
    if at_surface(points, i, k):
        r, s, u, length = tangent_to(points, one.surface, other.surface, r, s)
    return r, s, u, length


@formula
def moving_line_to(points, i, k, bodies):
    """`line_to` between moving bodies: if its ends coincide to round-off, it has the direction in which they part."""
    r, s, u, length = line_to(points, i, k, bodies)
    a, b = load(bodies[points.entries[i].row].x), load(bodies[points.entries[k].row].x)
    reach = math.sqrt(dot(r, r) + dot(s, s) + dot(a, a) + dot(b, b))
    if length <= COINCIDENT + ROUND_OFF * reach and not at_surface(points, i, k):
        _, velocity = motion_of(points, i, r, bodies, True)
        _, other_velocity = motion_of(points, k, s, bodies, True)
        apart = other_velocity - velocity
        speed = math.sqrt(dot(apart, apart))
        if speed > COINCIDENT:
            u = (1.0 / speed) * apart
    return r, s, u, length


@formula
def tangent_to(points, one, other, r, s):
    """The line that leaves the surface `one`, enters the surface `other`, or both, as `line_to` returns it."""
    u, length = ZERO, 0.0
    if other >= 0:
        arc = points.surfaces[other]
        s, u, length = load(arc.enter), load(arc.entering), arc.before
    if one >= 0:
        arc = points.surfaces[one]
        r, u, length = load(arc.leave), load(arc.leaving), arc.after
    return r, s, u, length


@formula
def is_passed(points, k):
    """Whether a cable passes entry k: a point that exists, or a surface that it touches."""
    surface, motion = points.entries[k].surface, points.entries[k].motion
    if motion >= 0:
        return points.motions[motion].exists != 0
    return surface < 0 or points.surfaces[surface].touches != 0


@formula
def arc_of(points, k):
    """Length of the arc over entry k; 0 for a point."""
    surface = points.entries[k].surface
    return points.surfaces[surface].arc if surface >= 0 else 0.0


@formula
def has_collapsed(shortest, rest, length):
    """Whether two neighboring points of a path coincide, or a way is not defined, by the shortest of its lines."""
    return shortest < COLLAPSED * max(rest, length)


# --- arcs -------------------------------------------------------------------------------------------------------------
@formula
def position_of(point, bodies):
    """Position of a point."""
    return load(bodies[point.row].x) + lever_of(point, bodies)


@formula
def next_point(points, k):
    """The next entry from k on that is a point that exists."""
    while points.entries[k].surface >= 0 or not is_passed(points, k):
        k += 1
    return k


@formula
def surfaces_from(points, k, end):
    """The first surfaces in a row from entry k to `end`: the first of them, and the entry behind."""
    while k < end and points.entries[k].surface < 0:
        k += 1
    stop = k
    while stop < end and points.entries[stop].surface >= 0:
        stop += 1
    return k, stop


@formula
def trace(points, first, last, bodies):
    """Compute the arcs over all surfaces of a cable: without a conditional point, over those on one side of it."""
    k = first + 1 if len(points.surfaces) > 0 else last
    while k < last - 1:
        end = next_point(points, k)
        begin, stop = surfaces_from(points, k, end)
        if stop > begin:
            a, b = position_of(points.entries[k - 1], bodies), position_of(points.entries[end], bodies)
            wrap(points, begin, stop, bodies, a, b)
        for j in range(stop, end):
            if points.entries[j].surface >= 0:
                passed_by = points.surfaces[points.entries[j].surface]
                passed_by.touches, passed_by.doubtful, passed_by.arc = 0, 0, 0.0
        k = end + 1


# --- length -----------------------------------------------------------------------------------------------------------
@kernel
def length_of(points, first, last, bodies):
    """Length of the cable through the points from `first` up to `last`, for poses of bodies."""
    trace(points, first, last, bodies)
    entries, length, i = points.entries, 0.0, first
    for k in range(first + 1, last):
        if is_passed(points, k):
            _, _, _, distance = line_to(points, i, k, bodies)
            length += entries[k].factor * (distance + arc_of(points, k))
            i = k
    return length


@kernel
def measure(points, first, last, bodies):
    """Length of the cable through the points from `first` up to `last`, its rate, and its shortest line between points.

    The latter is -1 where a way over a surface is not defined.
    """
    trace(points, first, last, bodies)
    entries = points.entries
    length, rate, shortest, i = 0.0, 0.0, math.inf, first
    for k in range(first + 1, last):
        factor, surface = entries[k].factor, entries[k].surface
        if surface >= 0:
            arc = points.surfaces[surface]
            if arc.doubtful:
                shortest = -1.0
            length += factor * arc.arc
        if is_passed(points, k):
            if factor > 0.0:
                r, s, u, distance = moving_line_to(points, i, k, bodies)
                length += factor * distance
                if surface < 0 and entries[i].surface < 0:
                    shortest = min(shortest, distance)
                _, velocity = motion_of(points, i, r, bodies, True)
                _, other_velocity = motion_of(points, k, s, bodies, True)
                rate += factor * dot(u, other_velocity - velocity)
            i = k
    return length, rate, shortest


@kernel
def keep_lines(points, first, last, bodies):
    """Compute the lines and arcs of a cable, its length and its rate, and keep them until the bodies have moved."""
    points.lines[first].length, points.lines[first].rate, _ = measure(points, first, last, bodies)
    i = first
    for k in range(first + 1, last):
        if is_passed(points, k):
            r, s, u, distance = moving_line_to(points, i, k, bodies)
            line = points.lines[k]
            store(line.start, r)
            store(line.end, s)
            store(line.direction, u)
            line.length = distance
            i = k


@formula
def kept_line(points, k):
    """The line to entry k, after `keep_lines`."""
    line = points.lines[k]
    return load(line.start), load(line.end), load(line.direction), line.length


@kernel
def jump_of(points, first, last, bodies, length):
    """Change of the length of a cable by the points that appeared or vanished at the last time that was watched."""
    if switch_points(points, first, last) == 0:
        return 0.0
    other = length_of(points, first, last, bodies)
    switch_points(points, first, last)
    trace(points, first, last, bodies)
    return abs(length - other)


# --- motion of points -------------------------------------------------------------------------------------------------
@formula
def motion_of(points, k, r, bodies, in_time):
    """Rotation of the body of entry k and displacement of its end at the lever r along the motion change.

    In time, angular velocity and velocity.  The end of a line at a surface moves with the body.
    """
    turn, moved = motion_of_body(bodies[points.entries[k].row], r, in_time)
    return turn, moved + drift_of(points, k, bodies, in_time)


@formula
def motion_of_body(body, r, in_time):
    """`motion_of` for a point that is fixed in its body."""
    if in_time:
        return load(body.w), velocity_of(body, r)
    return load(body.dw), displacement_of(body, r)


@formula
def moves(points, entry):
    """Whether an entry is a point that moves in its body."""
    return entry.motion >= 0 and points.motions[entry.motion].address != 0


@formula
def drift_of(points, k, bodies, in_time):
    """Displacement of a point relative to its body along the motion change, or its velocity; 0 unless it moves."""
    entry, drift = points.entries[k], ZERO
    if moves(points, entry):
        motion = points.motions[entry.motion]
        change = motion.rate if in_time else coordinate_change(motion, bodies)
        drift = change * slope_of(motion, bodies[entry.row])
    return drift
