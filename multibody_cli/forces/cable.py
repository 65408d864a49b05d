"""Cables: straight lines through points of bodies, under one tension.

With the differences d_k of neighboring points and their unit vectors u_k, a cable has

    l = sum_k |d_k|,    dl/dt = sum_k u_k . dd_k/dt,

and under the tension T it pulls point k with T (u_k - u_{k-1}): the generalized forces -T dl/dq.  Points between the
ends guide the cable and let it slide.  Where two neighbors coincide their line has no direction, and does not pull.

A law, that of a spring or of a muscle, makes the tension T of length and rate, and gives its slopes with both.

Source: Sueda, notes 1.9.1-1.9.6, (1.57)-(1.64) for several points; signs of (1.65)-(1.68) corrected.
"""

from __future__ import annotations

import math

import numpy as np

from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.variation import add_block, add_wrench, block_at, displacement_of
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import ZERO, cross, dot, isotropic, symmetric_outer

POINT = np.dtype([("row", "i8"), ("point", "f8", 3)])
"""A point of a body in its joint frame; row 0 is the ground."""

COLLAPSED = 1e-6
"""Two neighbors nearer than this part of the path, or of its length at rest, are one: their line points nowhere."""


@formula
def lever_of(point, bodies):
    """From the origin of the body to the point, world axes."""
    return load(bodies[point.row].R) @ load(point.point)


@formula
def line_between(one, other, bodies):
    """Direction from a point to its neighbor, 0 if there is none, and their distance."""
    d = load(bodies[other.row].x) + lever_of(other, bodies) - load(bodies[one.row].x) - lever_of(one, bodies)
    length = math.sqrt(dot(d, d))
    return ((1.0 / length) * d if length > 0.0 else ZERO), length


@formula
def velocity_of(point, bodies):
    """Velocity of a point."""
    body = bodies[point.row]
    return load(body.v) + cross(load(body.w), lever_of(point, bodies))


@kernel
def measure(points, first, last, bodies):
    """Length of the cable through the points from `first` up to `last`, its rate, and its shortest line."""
    length, rate, shortest = 0.0, 0.0, math.inf
    for k in range(first + 1, last):
        u, distance = line_between(points[k - 1], points[k], bodies)
        length += distance
        shortest = min(shortest, distance)
        rate += dot(u, velocity_of(points[k], bodies) - velocity_of(points[k - 1], bodies))
    return length, rate, shortest


@kernel
def pull(points, first, last, tension, bodies):
    """Pull all points of a cable."""
    for k in range(first + 1, last):
        u, _ = line_between(points[k - 1], points[k], bodies)
        pull_point(points[k - 1], tension * u, bodies)
        pull_point(points[k], -tension * u, bodies)


@formula
def pull_point(point, force, bodies):
    """Pull one point; the ground does not mind."""
    if point.row > 0:
        apply_wrench(bodies[point.row], cross(lever_of(point, bodies), force), force)


# --- what a change makes of the pull -------------------------------------------------------------------------------
@kernel
def vary_cable(points, first, last, bodies, law, along, faster, exact, wrenches):
    """Add to `wrenches` what the displacement `along` (dw, dv), and as much faster by `faster` of it, make of the pull.

    `law` is the tension with its two slopes.  See `forces.variation` for what is left out where not `exact`.
    """
    tension, by_length, by_rate = law
    change = 0.0
    for k in range(first + 1, last):
        one, other = points[k - 1], points[k]
        u, distance = line_between(one, other, bodies)
        moved = displacement_of(bodies[other.row], lever_of(other, bodies))
        moved = moved - displacement_of(bodies[one.row], lever_of(one, bodies))
        change += (by_length * along + by_rate * faster) * dot(u, moved)
        if exact and distance > 0.0:
            rate = velocity_of(other, bodies) - velocity_of(one, bodies)
            turned = (along / distance) * (moved - dot(u, moved) * u)
            swung = carried_rate(other, along, bodies) - carried_rate(one, along, bodies)
            change += by_rate * (dot(turned, rate) + dot(u, swung))
    for k in range(first + 1, last):
        one, other = points[k - 1], points[k]
        u, distance = line_between(one, other, bodies)
        moved = displacement_of(bodies[other.row], lever_of(other, bodies))
        moved = moved - displacement_of(bodies[one.row], lever_of(one, bodies))
        force = change * u + along * across_of(tension, by_length, distance) * (moved - dot(u, moved) * u)
        vary_pull(one, force, tension * u, along, exact, bodies, wrenches)
        vary_pull(other, -force, -tension * u, along, exact, bodies, wrenches)


@formula
def carried_rate(point, along, bodies):
    """What a displacement makes of the velocity of a point: w x (dw x r)."""
    body, r = bodies[point.row], lever_of(point, bodies)
    return along * cross(load(body.w), cross(load(body.dw), r))


@formula
def vary_pull(point, change, force, along, exact, bodies, wrenches):
    """Add the change of a pull on one point, and what the turning of its lever makes of the moment."""
    if point.row > 0:
        body, r = bodies[point.row], lever_of(point, bodies)
        moment = cross(r, change)
        if exact:
            moment = moment + along * cross(cross(load(body.dw), r), force)
        add_wrench(wrenches[point.row], moment, change)


@kernel
def harden_cable(points, first, last, bodies, law, along, faster, blocks):
    """Add to the block of each body what its own displacement takes: see `vary_cable`."""
    tension, by_length, by_rate = law
    stiff = by_length * along + by_rate * faster
    for k in range(first, last):
        if points[k].row > 0:
            g, across = ZERO, isotropic(0.0)
            if k > first:
                u, distance = line_between(points[k - 1], points[k], bodies)
                g = g + u
                across = across + along * across_line(u, across_of(tension, by_length, distance))
            if k < last - 1:
                u, distance = line_between(points[k], points[k + 1], bodies)
                g = g - u
                across = across + along * across_line(u, across_of(tension, by_length, distance))
            r = lever_of(points[k], bodies)
            add_block(blocks[points[k].row], block_at(across + stiff * symmetric_outer(g, g), r))


@formula
def across_of(tension, by_length, distance):
    """Stiffness of a line against turning, T / d; where it has no length, that of one which has none at rest."""
    return tension / distance if distance > 0.0 else by_length


@formula
def across_line(u, stiffness):
    """Stiffness across a line: s (1 - u u^T)."""
    return stiffness * (isotropic(1.0) - symmetric_outer(u, u))
