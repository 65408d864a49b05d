"""Cables: one tension along lines through points of bodies, and along arcs over surfaces between them.

A tension T applies the force T (f_k u_k - f_{k-1} u_{k-1}) to point k of a cable (`cables.lines`): the generalized
forces -T dl/dq.  The cable slides through the points between its ends.  Where two neighbors coincide, their line has
the direction in which they part, and at rest none: it applies no force.

The law of a spring or of a muscle is the tension T as a function of length and rate, with its two derivatives.

Source: Sueda, notes 1.9.1-1.9.6, (1.57)-(1.64) for several points; signs of (1.65)-(1.68) corrected.
"""

from __future__ import annotations

from typing import Any

from multibody_cli.cables.lines import (
    at_surface,
    drift_of,
    is_passed,
    jump_of,
    keep_lines,
    kept_line,
    moves,
    moving_line_to,
)
from multibody_cli.cables.moving import at_body, coordinate_change, slope_change_of, slope_of
from multibody_cli.cables.variation import path_change, relative_displacement, slide_after, slide_before, turn_of
from multibody_cli.forces.variation import add_block, add_wrench, block_at
from multibody_cli.kernel import formula, kernel, kernel_parameter, template
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import ZERO, cross, dot, isotropic, no_force, rank_one, symmetric_outer
from multibody_cli.spatial.values import Force

PATH_COLLAPSED, WAY_UNDEFINED, LENGTH_JUMPED = 1, 32, 64
"""Bits of the warnings of an element on a path."""

PATH_WARNINGS = {
    PATH_COLLAPSED: "two neighboring points of its path coincided: the line between them has no direction there; move "
    "a point, or remove one",
    WAY_UNDEFINED: "its way over a surface was not defined: a line met the centre or the axis, where ways on both "
    "sides are equal, or a point was within the surface, which the path then ignores; move a point, or give a `side`",
    LENGTH_JUMPED: "its length jumped where a point appeared or vanished at an end of its `range`, and its energy with "
    "it: end the range where the point is on the line between its neighbors",
}
"""Their meaning."""

JUMP = 1e-4
"""Change of the length of a path, relative, above which a step across an end of a range has jumped."""


@formula
def has_jumped(points, first, last, bodies, length):
    """Whether the length of a path jumped where points appeared or vanished, after its forces."""
    return len(points.motions) > 0 and jump_of(points, first, last, bodies, length) > JUMP * length


@formula
def path_warning(shortest):
    """The bit of a path that has collapsed."""
    return PATH_COLLAPSED if shortest >= 0.0 else WAY_UNDEFINED


@kernel
def apply_tension(points, first, last, tension, bodies):
    """Apply the tension to all points of a cable, after `measure`: subtract it from the bias wrenches of the bodies."""
    add_tension(points, first, last, -tension, bodies, bodies)


@kernel
def add_tension(points, first, last, tension, bodies, wrenches):
    """Add the wrenches of a tension at all points of a cable, after `measure`."""
    entries, i = points.entries, first
    for k in range(first + 1, last):
        if is_passed(points, k):
            r, s, u, _ = moving_line_to(points, i, k, bodies)
            pull = (entries[k].factor * tension) * u
            add_force_at(points, i, r, pull, bodies, wrenches)
            add_force_at(points, k, s, -pull, bodies, wrenches)
            i = k


@formula
def add_force_at(points, k, r, force, bodies, wrenches):
    """Add a force at the lever r of entry k to the wrench on its body, unless it is the ground.

    The force on the coordinate of a point that moves is added as well.
    """
    entry = points.entries[k]
    if entry.row > 0:
        add_wrench(wrenches[entry.row], cross(r, force), force)
    if moves(points, entry):
        motion = points.motions[entry.motion]
        add_coordinate_force(motion, dot(force, slope_of(motion, bodies[entry.row])), bodies, wrenches)


@formula
def add_coordinate_force(motion, force, bodies, wrenches):
    """Add the wrenches of a force on the coordinate of a point, on child and parent of its joint."""
    W = force * load_force(motion)
    if motion.child > 0:
        at_child = at_body(motion, motion.child, W, bodies)
        add_wrench(wrenches[motion.child], at_child.t, at_child.f)
    if motion.parent > 0:
        at_parent = at_body(motion, motion.parent, W, bodies)
        add_wrench(wrenches[motion.parent], -at_parent.t, -at_parent.f)


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


@kernel
def linearize(item, forces, t, bodies):
    """Keep the lines of a cable, its length and its rate for products and blocks."""
    keep_lines(forces.points, item.first, item.last, bodies)


@template(law_of, tension_change_of)
def stiffness_damping_product(item, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add K and D times the motion change to the wrenches: see `forces.variation`.

    Where not `exact`, the points of arcs are constant in the body of their surface.
    """
    points, change = forces.points, 0.0
    cable = points.lines[item.first]
    law = law_of(item, forces, t, cable.length, cable.rate)
    if exact:
        change = tension_change_of(item, forces, t, cable.length, cable.rate)
    else:
        law = dissipative(law)
    tension, by_length, by_rate = law
    lengthened, quickened = path_change(
        points, item.first, item.last, bodies, displacement_factor, velocity_factor, exact
    )
    change += by_length * lengthened + by_rate * quickened
    entries, i = points.entries, item.first
    for k in range(item.first + 1, item.last):
        if is_passed(points, k):
            factor = entries[k].factor
            r, s, u, distance = kept_line(points, k)
            moved = relative_displacement(points, i, k, r, s, bodies)
            across = transverse_stiffness(tension, by_length, distance) * (moved - dot(u, moved) * u)
            before, after = ZERO, ZERO
            if exact and at_surface(points, i, k):
                before, after = slide_after(points, i), slide_before(points, k)
                across = tension * turn_of(u, moved + after - before, distance)
            force, pull = factor * (change * u + displacement_factor * across), (factor * tension) * u
            add_force_change(points, i, r, before, force, pull, displacement_factor, exact, bodies, wrenches)
            add_force_change(points, k, s, after, -force, -pull, displacement_factor, exact, bodies, wrenches)
            i = k


@formula
def add_force_change(points, k, r, slide, change, force, displacement_factor, exact, bodies, wrenches):
    """Add the change of the force at the lever r of entry k, and of its moment by the change of the lever."""
    entry = points.entries[k]
    turn = load(bodies[entry.row].dw)
    if entry.row > 0:
        moment = cross(r, change)
        if exact:
            shift = cross(turn, r) + slide + drift_of(points, k, bodies, False)
            moment = moment + displacement_factor * cross(shift, force)
        add_wrench(wrenches[entry.row], moment, change)
    if moves(points, entry):
        motion = points.motions[entry.motion]
        on_coordinate = dot(change, slope_of(motion, bodies[entry.row]))
        if exact:
            bent = slope_change_of(motion, bodies[entry.row], turn, coordinate_change(motion, bodies))
            on_coordinate += displacement_factor * dot(force, bent)
        add_coordinate_force(motion, on_coordinate, bodies, wrenches)


@template(law_of)
def add_stiffness_blocks(item, forces, t, bodies, displacement_factor, velocity_factor, blocks):
    """Add the diagonal block of each entry to that of its body: see `forces.variation`."""
    points = forces.points
    cable = points.lines[item.first]
    tension, by_length, by_rate = dissipative(law_of(item, forces, t, cable.length, cable.rate))
    stiff = by_length * displacement_factor + by_rate * velocity_factor
    entries, i, pulled = points.entries, item.first, no_force()
    for k in range(item.first + 1, item.last):
        if is_passed(points, k):
            r, s, u, distance = kept_line(points, k)
            factor = entries[k].factor
            stiffness = factor * displacement_factor * transverse_stiffness(tension, by_length, distance)
            across, pull = transverse_matrix(u, stiffness), factor * u
            pulled = pulled + Force(cross(r, pull), pull)
            add_own_block(entries[i].row, block_at(across, r) + stiff * rank_one(pulled, pulled), blocks)
            add_own_block(entries[k].row, block_at(across, s), blocks)
            i, pulled = k, -Force(cross(s, pull), pull)
    add_own_block(entries[i].row, stiff * rank_one(pulled, pulled), blocks)


@formula
def add_own_block(row, block, blocks):
    """Add a block to that of a body, unless it is the ground."""
    if row > 0:
        add_block(blocks[row], block)


@formula
def transverse_stiffness(tension, by_length, distance):
    """Transverse stiffness T / d of a line; the axial stiffness where it has no length."""
    return tension / distance if distance > 0.0 else by_length


@formula
def transverse_matrix(u, stiffness):
    """Transverse stiffness matrix of a line: s (1 - u u^T)."""
    return stiffness * (isotropic(1.0) - symmetric_outer(u, u))
