"""Arcs over a cylinder about z: helices, straight lines on the developed surface.

Seen along the axis, the cable is that round a circle, and its height is proportional to the length of this projection.
"""

from __future__ import annotations

import math

from multibody_cli.cables.circle import TINY, tangent_point, way_round
from multibody_cli.cables.surface import Approach, store_approach, store_ends, store_fields, store_start
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spatial.values import Vec3


@formula
def helix(p, q, side, only_cut, R, length):
    """The arc over a cylinder about z between lines to two points; there is none with both ends beyond its length."""
    p2, q2, up = Vec3(p.x, p.y, 0.0), Vec3(q.x, q.y, 0.0), Vec3(0.0, 0.0, 1.0)
    sine = abs(p.x * q.y - p.y * q.x) / max(math.hypot(p.x, p.y) * math.hypot(q.x, q.y), TINY)
    way = way_round(up, p2, q2, side, only_cut, R, sine)
    flat, rise = max(way.before + R * way.angle + way.after, TINY), q.z - p.z
    foot, slope = tangent_point(way.n, p2, way.before, R), math.hypot(1.0, rise / flat)
    heading = (1.0 / slope) * ((1.0 / R) * cross(way.n, foot) + (rise / flat) * up)
    start = foot + (p.z + rise * (way.before / flat)) * up
    beyond = 2.0 * min(abs(start.z), abs(q.z - rise * (way.after / flat))) > length
    return Approach(way.touches and not beyond, way.doubtful, start, heading, slope * R * way.angle)


@formula
def approach(surface, p, q):
    """Write the arc between lines to two points."""
    store_approach(surface, helix(p, q, load(surface.side), surface.only_cut, surface.radii[0], surface.radii[2]))


@formula
def settle(surface, x, t):
    """Write the start near x with a direction near t."""
    R, distance = surface.radii[0], math.hypot(x.x, x.y)
    normal = Vec3(x.x / distance, x.y / distance, 0.0)
    store_start(surface, R * normal + Vec3(0.0, 0.0, x.z), normal, t)


@formula
def follow(surface):
    """Write the end of the geodesic and its Jacobi fields."""
    R, P, t, arc = surface.radii[0], load(surface.start), load(surface.heading), surface.arc
    normal = Vec3(P.x / R, P.y / R, 0.0)
    round_axis = Vec3(-normal.y, normal.x, 0.0)
    along = dot(t, round_axis)
    c, s = math.cos(along * arc / R), math.sin(along * arc / R)
    end_normal = c * normal + s * round_axis
    end_round, up = Vec3(-end_normal.y, end_normal.x, 0.0), Vec3(0.0, 0.0, t.z)
    store_ends(surface, normal, R * end_normal + Vec3(0.0, 0.0, P.z + arc * t.z), along * end_round + up, end_normal)
    surface.bend[0] = surface.end_bend[0] = along * along / R
    surface.bend[1] = surface.end_bend[1] = -along * t.z / R
    store_fields(surface, 1.0, 0.0, arc, 1.0)
