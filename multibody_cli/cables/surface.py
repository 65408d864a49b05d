"""A surface over which one cable wraps, and the arc of the cable there, as a record.

Each kind of surface is a file with three formulas of its record, in the axes of the surface:

    approach(surface, p, q, rank)   write the arc between lines to p and q: exact, or near enough for Newton's method
    settle(surface, x, t)           write the start of the arc near a point x, with a direction near t
    follow(surface)                 write the end of the geodesic from `start` along `heading` with the length `arc`,
                                    and its Jacobi fields

and an entry of `cables.surface_kinds`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import store
from multibody_cli.spatial.products import dot
from multibody_cli.spatial.values import Vec3

ROWS = 9
"""Most rows of the extrapolation along geodesics."""

SURFACE = np.dtype(
    [
        ("kind", "i8"),
        ("centre", "f8", 3),  # in the joint frame
        ("axes", "f8", 9),  # of the surface, in the joint frame
        ("radii", "f8", 3),  # of a cylinder: its radius, twice, and its length
        ("side", "f8", 3),  # in the axes of the surface; 0 for the shortest way
        ("only_cut", "i8"),  # whether a line that misses the surface on the other side does not wrap
        ("twin", "i8"),  # 1 if the next entry is the second arc over the same torus, -1 if this is the second one
        # candidates for the way round
        ("lengths", "f8", 2),
        ("way", "f8", 3),
        ("second_way", "f8", 3),
        ("rivals", "i8"),  # whether the second one may be shorter
        ("saddle", "i8"),  # whether the length is not least
        # the arc at the positions of the last `wrap`, in the axes of the surface
        ("touches", "i8"),
        ("doubtful", "i8"),  # whether the way round has no direction, or a point is within the surface
        ("start", "f8", 3),  # P
        ("heading", "f8", 3),  # its direction there
        ("normal", "f8", 3),
        ("end", "f8", 3),  # Q
        ("end_heading", "f8", 3),
        ("end_normal", "f8", 3),
        ("bend", "f8", 2),  # at P: normal curvature along the arc, and geodesic torsion
        ("end_bend", "f8", 2),
        ("jacobi", "f8", 4),  # y(Q) and y'(Q) for y = 1, y' = 0 at P, and for y = 0, y' = 1
        # in world axes; levers are relative to the origin of the body
        ("enter", "f8", 3),  # lever of P
        ("leave", "f8", 3),  # lever of Q
        ("entering", "f8", 3),  # direction of the line to P
        ("leaving", "f8", 3),  # direction of the line from Q
        ("enter_across", "f8", 3),  # N x t
        ("leave_across", "f8", 3),
        ("before", "f8"),  # lengths of the lines and of the arc
        ("after", "f8"),
        ("arc", "f8"),
        # the last variation
        ("miss", "f8", 2),  # displacements across the arc at P and Q that the lines ask for
        ("given", "f8", 4),  # y and y' at P of the elimination, constant and by y at the next P
        ("shift", "f8", 2),  # y at P and Q
        ("turn", "f8", 2),  # y'
        ("along", "f8", 2),  # displacements of P and Q along the arc
        ("enter_slide", "f8", 3),  # displacements of P and Q across the cable, relative to the body
        ("leave_slide", "f8", 3),
        ("accuracy", "f8"),  # of the next geodesic, relative to the size of the surface
        ("invariant", "f8"),  # of a geodesic
        ("path", "f8", (2, 5)),  # along a geodesic: coordinates and both solutions y, and their derivatives
        ("table", "f8", (ROWS, 10)),  # their changes over a step
    ]
)


class Approach(NamedTuple):
    """An arc by its start: whether it exists, whether its way is doubtful, start, direction there, and length."""

    touches: Any
    doubtful: Any
    start: Any
    heading: Any
    arc: Any


@formula
def norm(a):
    """Length of a vector."""
    return math.sqrt(dot(a, a))


@formula
def unit(a):
    """Direction of a vector."""
    return (1.0 / math.sqrt(dot(a, a))) * a


@formula
def store_approach(surface, found):
    """Write the start of an arc."""
    surface.touches, surface.doubtful = int(found.touches), int(found.doubtful)
    surface.arc = found.arc if found.touches else 0.0
    store(surface.start, found.start)
    store(surface.heading, found.heading)


@formula
def store_start(surface, x, normal, t):
    """Write the start of an arc at a point of the surface, with the tangent near a direction."""
    store(surface.start, x)
    store(surface.heading, unit(t - dot(normal, t) * normal))


@formula
def store_ends(surface, normal, end, end_heading, end_normal):
    """Write the frames at both ends of an arc."""
    store(surface.normal, normal)
    store(surface.end, end)
    store(surface.end_heading, end_heading)
    store(surface.end_normal, end_normal)


@formula
def store_fields(surface, a, da, b, db):
    """Write y and y' at the end of both solutions of Jacobi's equation."""
    jacobi = surface.jacobi
    jacobi[0], jacobi[1], jacobi[2], jacobi[3] = a, da, b, db


@formula
def begin_path(surface, x, dx):
    """Write the coordinates of the start of a geodesic and their derivatives, and those of both solutions y."""
    path = surface.path
    path[0, 0], path[0, 1], path[0, 2], path[0, 3], path[0, 4] = x.x, x.y, x.z, 1.0, 0.0
    path[1, 0], path[1, 1], path[1, 2], path[1, 3], path[1, 4] = dx.x, dx.y, dx.z, 0.0, 1.0


@formula
def path_of(surface, order):
    """The coordinates along a geodesic, or their derivatives for the order 1."""
    path = surface.path
    return Vec3(path[order, 0], path[order, 1], path[order, 2])
