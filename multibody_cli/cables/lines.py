"""Lines of cables through points of bodies, and arcs over surfaces between them.

With the differences d_k of neighboring points and their unit vectors u_k, a cable has

    l = sum_k f_k |d_k|,    dl/dt = sum_k f_k u_k . dd_k/dt.

The factors f_k are 1 but for cables with branches: 1 / divisor in a branch, and 0 between two branches.

Between two points, a cable may wrap over surfaces (`cables.wrapping`).  A surface then has two points, at which the
line before it ends and the line after it begins, and the length of the arc adds to l.  Where the cable does not touch
a surface, one line leads past it.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from multibody_cli.cables.surface import SURFACE
from multibody_cli.cables.wrapping import solve_across, wrap
from multibody_cli.kernel import Records, formula, kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.points import displacement_of, velocity_of
from multibody_cli.spatial.products import ZERO, cross, dot

POINT = np.dtype([("row", "i8"), ("point", "f8", 3), ("factor", "f8"), ("surface", "i8")])
"""A point of a body in its joint frame; row 0 is the ground.  The factor is that of the line that ends there.

In its place a surface has its number, which is -1 for a point.
"""


class CablePoints(NamedTuple):
    """The points and surfaces of all cables, each in its order from end to end."""

    entries: Annotated[Records, "points", POINT]
    surfaces: Annotated[Records, "surfaces", SURFACE]


COLLAPSED = 1e-6
"""Fraction of the length of the path, or of its rest length, below which two neighbors coincide."""


COINCIDENT = 1e-150
"""Distance of two points below which its square underflows, m: their line has no direction."""


@formula
def lever_of(point, bodies):
    """From the origin of the body to the point, world axes."""
    return load(bodies[point.row].R) @ load(point.point)


@formula
def at_surface(points, i, k):
    """Whether entry i or entry k is a surface."""
    return max(points.entries[i].surface, points.entries[k].surface) >= 0


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
    """Whether a cable passes entry k: a point, or a surface that it touches."""
    surface = points.entries[k].surface
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
    """The next entry from k on that is no surface."""
    while points.entries[k].surface >= 0:
        k += 1
    return k


@formula
def trace(points, first, last, bodies):
    """Compute the arcs over all surfaces of a cable."""
    k = first + 1 if len(points.surfaces) > 0 else last
    while k < last - 1:
        end = next_point(points, k)
        if end > k:
            a, b = position_of(points.entries[k - 1], bodies), position_of(points.entries[end], bodies)
            wrap(points, k, end, bodies, a, b)
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
                r, s, u, distance = line_to(points, i, k, bodies)
                length += factor * distance
                if surface < 0 and entries[i].surface < 0:
                    shortest = min(shortest, distance)
                one, other = bodies[entries[i].row], bodies[entries[k].row]
                rate += factor * dot(u, velocity_of(other, s) - velocity_of(one, r))
            i = k
    return length, rate, shortest


# --- variation --------------------------------------------------------------------------------------------------------
@formula
def vary_arcs(points, first, last, bodies, in_time):
    """Compute the changes of all arcs of a cable along the motion change of the bodies, or their rates of change."""
    k = first + 1 if len(points.surfaces) > 0 else last
    while k < last - 1:
        end = next_point(points, k)
        if end > k:
            vary_in_a_row(points, k, end, bodies, in_time)
        k = end + 1


@kernel
def vary_in_a_row(points, first, last, bodies, in_time):
    """Compute the changes of the arcs over the entries `first` to `last` - 1, between two points."""
    entries, surfaces, i = points.entries, points.surfaces, first - 1
    for k in range(first, last + 1):
        if is_passed(points, k):
            one, other = bodies[entries[i].row], bodies[entries[k].row]
            r, s, _, _ = line_to(points, i, k, bodies)
            (turn, moved), (other_turn, other_moved) = motion_of(one, r, in_time), motion_of(other, s, in_time)
            apart = other_moved - moved
            if k < last:
                arc = surfaces[entries[k].surface]
                swept = arc.before * cross(other_turn, load(arc.entering))
                arc.miss[0] = dot(swept - apart, load(arc.enter_across))
            if i >= first:
                arc = surfaces[entries[i].surface]
                swept = arc.after * cross(turn, load(arc.leaving))
                arc.miss[1] = dot(apart - swept, load(arc.leave_across))
            i = k
    solve_across(points, first, last)
    for k in range(first, last):
        if is_passed(points, k):
            arc = surfaces[entries[k].surface]
            store(arc.enter_slide, arc.shift[0] * load(arc.enter_across))
            store(arc.leave_slide, arc.shift[1] * load(arc.leave_across))


@formula
def motion_of(body, r, in_time):
    """Rotation of a body and displacement at the lever r along the motion change; or angular velocity and velocity."""
    if in_time:
        return load(body.w), velocity_of(body, r)
    return load(body.dw), displacement_of(body, r)


@kernel
def path_change(points, first, last, bodies, displacement_factor, velocity_factor, exact):
    """Changes of length and rate of a cable along a motion change; that of the rate with the pose where `exact`."""
    trace(points, first, last, bodies)
    if exact:
        vary_arcs(points, first, last, bodies, False)
    entries, i = points.entries, first
    length, rate = 0.0, 0.0
    for k in range(first + 1, last):
        if is_passed(points, k):
            factor = entries[k].factor
            r, s, u, distance = line_to(points, i, k, bodies)
            moved = relative_displacement(points, i, k, r, s, bodies)
            along = factor * dot(u, moved)
            length += displacement_factor * along
            rate += velocity_factor * along
            if exact:
                quickened = rate_change_of(points, i, k, r, s, u, distance, bodies, False)
                rate += (factor * displacement_factor) * quickened
            i = k
    return length, rate


@formula
def rate_change_of(points, i, k, r, s, u, distance, bodies, in_time):
    """Change of the rate of length of the line from entry i to entry k, for constant velocities, after `vary_arcs`."""
    one, other = bodies[points.entries[i].row], bodies[points.entries[k].row]
    (turn, moved), (other_turn, other_moved) = motion_of(one, r, in_time), motion_of(other, s, in_time)
    moved, turn, other_turn = other_moved - moved, cross(turn, r), cross(other_turn, s)
    if at_surface(points, i, k):
        slide, other_slide = slide_after(points, i), slide_before(points, k)
        moved, turn, other_turn = moved + other_slide - slide, turn + slide, other_turn + other_slide
    turned = turn_of(u, moved, distance)
    apart = velocity_of(other, s) - velocity_of(one, r)
    return dot(turned, apart) + dot(u, cross(load(other.w), other_turn) - cross(load(one.w), turn))


@formula
def relative_displacement(points, i, k, r, s, bodies):
    """Displacement of the end of the line from entry i to entry k, less that of its start, as in the bodies."""
    one, other = bodies[points.entries[i].row], bodies[points.entries[k].row]
    return displacement_of(other, s) - displacement_of(one, r)


@formula
def turn_of(u, apart, distance):
    """Change of the direction u of a line, 0 if it has none, for the displacement of its end less that of its start."""
    return (1.0 / max(distance, COINCIDENT)) * (apart - dot(u, apart) * u) if distance > 0.0 else ZERO


@formula
def slide_before(points, k):
    """Displacement of the end of the line to entry k, relative to the body."""
    surface = points.entries[k].surface
    if surface >= 0:
        return load(points.surfaces[surface].enter_slide)
    return ZERO


@formula
def slide_after(points, k):
    """Displacement of the start of the line from entry k, relative to the body."""
    surface = points.entries[k].surface
    if surface >= 0:
        return load(points.surfaces[surface].leave_slide)
    return ZERO
