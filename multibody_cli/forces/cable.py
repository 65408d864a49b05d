"""Cables: straight lines through points of bodies, under one tension.

With the differences d_k of neighboring points and their unit vectors u_k, a cable has

    l = sum_k f_k |d_k|,    dl/dt = sum_k f_k u_k . dd_k/dt,

and its tension T applies the force T (f_k u_k - f_{k-1} u_{k-1}) to point k: the generalized forces -T dl/dq.  The
cable slides through the points between its ends.  Where two neighbors coincide, their line has no direction and applies
no force.  The factors f_k are 1 but for cables with branches: 1 / divisor in a branch, and 0 between two branches.

The law of a spring or of a muscle is the tension T as a function of length and rate, with its two derivatives.

Source: Sueda, notes 1.9.1-1.9.6, (1.57)-(1.64) for several points; signs of (1.65)-(1.68) corrected.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.variation import add_block, add_wrench, block_at, displacement_of
from multibody_cli.kernel import formula, kernel, kernel_parameter, template
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import ZERO, cross, dot, isotropic, symmetric_outer

POINT = np.dtype([("row", "i8"), ("point", "f8", 3), ("factor", "f8")])
"""A point of a body in its joint frame; row 0 is the ground.  The factor is that of the line that ends there."""

COLLAPSED = 1e-6
"""Fraction of the length of the path, or of its rest length, below which two neighbors coincide."""


COINCIDENT = 1e-150
"""Distance of two points below which its square underflows, m: their line has no direction."""

COLLAPSED_PATH = (
    "two neighboring points of its path coincided: the line between them has no direction there; move a point, or "
    "remove one"
)
"""The warning of such a path."""


@formula
def lever_of(point, bodies):
    """From the origin of the body to the point, world axes."""
    return load(bodies[point.row].R) @ load(point.point)


@formula
def line_between(one, other, bodies):
    """Direction from a point to its neighbor, 0 if there is none, and their distance."""
    d = load(bodies[other.row].x) + lever_of(other, bodies) - load(bodies[one.row].x) - lever_of(one, bodies)
    length = math.sqrt(dot(d, d))
    return (1.0 / max(length, COINCIDENT)) * d, length


@formula
def has_collapsed(shortest, rest, length):
    """Whether two neighboring points of a path coincide, by the shortest of its lines."""
    return shortest < COLLAPSED * max(rest, length)


@formula
def velocity_of(point, bodies):
    """Velocity of a point."""
    body = bodies[point.row]
    return load(body.v) + cross(load(body.w), lever_of(point, bodies))


@kernel
def length_of(points, first, last, bodies):
    """Length of the cable through the points from `first` up to `last`, for poses of bodies."""
    length = 0.0
    for k in range(first + 1, last):
        if points[k].factor > 0.0:
            _, distance = line_between(points[k - 1], points[k], bodies)
            length += points[k].factor * distance
    return length


@kernel
def measure(points, first, last, bodies):
    """Length of the cable through the points from `first` up to `last`, its rate, and its shortest line."""
    length, rate, shortest = 0.0, 0.0, math.inf
    for k in range(first + 1, last):
        if points[k].factor > 0.0:
            u, distance = line_between(points[k - 1], points[k], bodies)
            length += points[k].factor * distance
            shortest = min(shortest, distance)
            rate += points[k].factor * dot(u, velocity_of(points[k], bodies) - velocity_of(points[k - 1], bodies))
    return length, rate, shortest


@kernel
def apply_tension(points, first, last, tension, bodies):
    """Apply the tension to all points of a cable."""
    for k in range(first + 1, last):
        u, _ = line_between(points[k - 1], points[k], bodies)
        pull = (points[k].factor * tension) * u
        apply_point_force(points[k - 1], pull, bodies)
        apply_point_force(points[k], -pull, bodies)


@kernel
def add_tension(points, first, last, tension, bodies, wrenches):
    """Add the wrenches of a tension at all points of a cable."""
    for k in range(first + 1, last):
        u, _ = line_between(points[k - 1], points[k], bodies)
        pull = (points[k].factor * tension) * u
        add_point_force_change(points[k - 1], pull, ZERO, 0.0, False, bodies, wrenches)
        add_point_force_change(points[k], -pull, ZERO, 0.0, False, bodies, wrenches)


@formula
def apply_point_force(point, force, bodies):
    """Apply a force to one point, unless it is on the ground."""
    if point.row > 0:
        apply_wrench(bodies[point.row], cross(lever_of(point, bodies), force), force)


# --- stiffness and damping --------------------------------------------------------------------------------------------
@kernel_parameter
def law_of(item, forces, t, length, rate) -> Any:
    """Return the tension of a cable, N, with its derivatives by length, N/m, and by rate, N s/m."""


@kernel_parameter
def tension_change_of(item, forces, t, length, rate) -> float:
    """Return the change of the tension, N, along a change of the state other than that of the cable itself."""
    raise NotImplementedError


@formula
def dissipative(law):
    """The law without its destabilizing part: tension and slopes of at least 0."""
    tension, by_length, by_rate = law
    return max(tension, 0.0), max(by_length, 0.0), max(by_rate, 0.0)


@template(law_of, tension_change_of)
def stiffness_damping_product(item, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add K and D times the motion change to the wrenches: see `forces.variation`."""
    points, change = forces.points, 0.0
    length, rate, _ = measure(points, item.first, item.last, bodies)
    law = law_of(item, forces, t, length, rate)
    if exact:
        change = tension_change_of(item, forces, t, length, rate)
    else:
        law = dissipative(law)
    tension, by_length, by_rate = law
    lengthened, quickened = path_change(
        points, item.first, item.last, bodies, displacement_factor, velocity_factor, exact
    )
    change += by_length * lengthened + by_rate * quickened
    for k in range(item.first + 1, item.last):
        one, other, factor = points[k - 1], points[k], points[k].factor
        u, distance = line_between(one, other, bodies)
        moved = relative_displacement(one, other, bodies)
        across = displacement_factor * transverse_stiffness(tension, by_length, distance)
        force = factor * (change * u + across * (moved - dot(u, moved) * u))
        pull = (factor * tension) * u
        add_point_force_change(one, force, pull, displacement_factor, exact, bodies, wrenches)
        add_point_force_change(other, -force, -pull, displacement_factor, exact, bodies, wrenches)


@formula
def path_change(points, first, last, bodies, displacement_factor, velocity_factor, exact):
    """Changes of length and rate of a cable along a motion change; that of the rate with the pose where `exact`."""
    length, rate = 0.0, 0.0
    for k in range(first + 1, last):
        one, other, factor = points[k - 1], points[k], points[k].factor
        u, distance = line_between(one, other, bodies)
        moved = relative_displacement(one, other, bodies)
        along = factor * dot(u, moved)
        length += displacement_factor * along
        rate += velocity_factor * along
        if exact and distance > 0.0:
            apart = velocity_of(other, bodies) - velocity_of(one, bodies)
            turned = (displacement_factor / distance) * (moved - dot(u, moved) * u)
            swung = velocity_change(other, displacement_factor, bodies) - velocity_change(
                one, displacement_factor, bodies
            )
            rate += factor * (dot(turned, apart) + dot(u, swung))
    return length, rate


@formula
def relative_displacement(one, other, bodies):
    """Displacement of a point less that of its neighbor."""
    moved = displacement_of(bodies[other.row], lever_of(other, bodies))
    return moved - displacement_of(bodies[one.row], lever_of(one, bodies))


@formula
def velocity_change(point, displacement_factor, bodies):
    """Change of the velocity of a point by a displacement of the body: w x (dw x r)."""
    body, r = bodies[point.row], lever_of(point, bodies)
    return displacement_factor * cross(load(body.w), cross(load(body.dw), r))


@formula
def add_point_force_change(point, change, force, displacement_factor, exact, bodies, wrenches):
    """Add the change of the force on one point, and of its moment by the rotation of the lever."""
    if point.row > 0:
        body, r = bodies[point.row], lever_of(point, bodies)
        moment = cross(r, change)
        if exact:
            moment = moment + displacement_factor * cross(cross(load(body.dw), r), force)
        add_wrench(wrenches[point.row], moment, change)


@template(law_of)
def add_stiffness_blocks(item, forces, t, bodies, displacement_factor, velocity_factor, blocks):
    """Add the diagonal block of each point to that of its body: see `forces.variation`."""
    points = forces.points
    length, rate, _ = measure(points, item.first, item.last, bodies)
    tension, by_length, by_rate = dissipative(law_of(item, forces, t, length, rate))
    stiff = by_length * displacement_factor + by_rate * velocity_factor
    for k in range(item.first, item.last):
        if points[k].row > 0:
            g, across = ZERO, isotropic(0.0)
            for end in range(max(k, item.first + 1), min(k + 2, item.last)):
                u, distance = line_between(points[end - 1], points[end], bodies)
                factor = points[end].factor
                stiffness = factor * displacement_factor * transverse_stiffness(tension, by_length, distance)
                g = g + (factor if end == k else -factor) * u
                across = across + transverse_matrix(u, stiffness)
            r = lever_of(points[k], bodies)
            add_block(blocks[points[k].row], block_at(across + stiff * symmetric_outer(g, g), r))


@formula
def transverse_stiffness(tension, by_length, distance):
    """Transverse stiffness T / d of a line; the axial stiffness where it has no length."""
    return tension / distance if distance > 0.0 else by_length


@formula
def transverse_matrix(u, stiffness):
    """Transverse stiffness matrix of a line: s (1 - u u^T)."""
    return stiffness * (isotropic(1.0) - symmetric_outer(u, u))
