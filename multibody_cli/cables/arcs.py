"""One arc of a cable over a surface of a body, and the lines to its neighbors."""

from __future__ import annotations

from multibody_cli.cables.surface_kinds import approach, follow
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross, transposed_times

ROUGH = 1e-6
"""Accuracy of the geodesics of first approximations."""


# --- one arc ----------------------------------------------------------------------------------------------------------
@formula
def place(surface, body):
    """Write the ends of an arc in world axes."""
    C, lever = load(body.R) @ load(surface.axes), load(body.R) @ load(surface.centre)
    t, s = load(surface.heading), load(surface.end_heading)
    store(surface.enter, lever + C @ load(surface.start))
    store(surface.leave, lever + C @ load(surface.end))
    store(surface.entering, C @ t)
    store(surface.leaving, C @ s)
    store(surface.enter_across, C @ cross(load(surface.normal), t))
    store(surface.leave_across, C @ cross(load(surface.end_normal), s))


@formula
def approach_in(surface, body, a, b, rank):
    """Write the arc over a surface of a body between points of the world."""
    C = load(body.R) @ load(surface.axes)
    centre = load(body.x) + load(body.R) @ load(surface.centre)
    approach(surface, transposed_times(C, a - centre), transposed_times(C, b - centre), rank)


@formula
def complete(surface, body, accuracy):
    """Write the end of an arc to an accuracy, relative to the size of the surface, and both ends in world axes."""
    surface.accuracy = accuracy
    follow(surface)
    place(surface, body)


@formula
def size_of(surface):
    """The least radius."""
    return min(surface.radii[0], min(surface.radii[1], surface.radii[2]))


# --- neighbors --------------------------------------------------------------------------------------------------------
@formula
def begin_of_line(points, first, k, bodies, a):
    """Where the line to the arc of entry k begins: at the arc before it, or at a."""
    i = k - 1
    while i >= first and points.surfaces[points.entries[i].surface].touches == 0:
        i -= 1
    begin = a
    if i >= first:
        begin = load(bodies[points.entries[i].row].x) + load(points.surfaces[points.entries[i].surface].leave)
    return begin


@formula
def end_of_line(points, last, k, bodies, b):
    """Where the line from the arc of entry k ends: at the arc behind it, or at b."""
    j = k + 1
    while j < last and points.surfaces[points.entries[j].surface].touches == 0:
        j += 1
    end = b
    if j < last:
        end = load(bodies[points.entries[j].row].x) + load(points.surfaces[points.entries[j].surface].enter)
    return end


@formula
def next_arc(points, k, last):
    """Number of the next surface that is touched; -1 if there is none."""
    j = k + 1
    while j < last and points.surfaces[points.entries[j].surface].touches == 0:
        j += 1
    return points.entries[j].surface if j < last else -1
