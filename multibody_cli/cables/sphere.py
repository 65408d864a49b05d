"""Arcs over a sphere: great circles, in the plane of both points and the centre."""

from __future__ import annotations

import math

from multibody_cli.cables.circle import TINY, tangent_point, way_round
from multibody_cli.cables.surface import Approach, norm, store_approach, store_ends, store_fields, store_start, unit
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spatial.values import Vec3

ALIGNED = 1e-14
"""Sine below which two directions have no plane."""


@formula
def any_normal(a):
    """A unit vector perpendicular to a."""
    x, y, z = abs(a.x), abs(a.y), abs(a.z)
    other = Vec3(1.0, 0.0, 0.0) if x <= y and x <= z else (Vec3(0.0, 1.0, 0.0) if y <= z else Vec3(0.0, 0.0, 1.0))
    return unit(cross(a, other))


@formula
def great_circle(p, q, side, only_cut, R):
    """The arc over a sphere of radius R about the origin between lines to two points."""
    n, size = cross(p, q), norm(p) * norm(q)
    sine = norm(n) / max(size, TINY)
    if sine < ALIGNED:
        n = cross(p, side)
        if dot(n, n) <= 1e-28 * dot(p, p):
            n = any_normal(p) if dot(p, p) > 0.0 else Vec3(0.0, 0.0, 1.0)
    way = way_round(unit(n), p, q, side, only_cut, R, sine)
    start = tangent_point(way.n, p, way.before, R)
    return Approach(way.touches, way.doubtful, start, (1.0 / R) * cross(way.n, start), R * way.angle)


@formula
def approach(surface, p, q):
    """Write the arc between lines to two points."""
    store_approach(surface, great_circle(p, q, load(surface.side), surface.only_cut, surface.radii[0]))


@formula
def settle(surface, x, t):
    """Write the start near x with a direction near t."""
    normal = unit(x)
    store_start(surface, surface.radii[0] * normal, normal, t)


@formula
def follow(surface):
    """Write the end of the geodesic and its Jacobi fields."""
    R, normal, t = surface.radii[0], (1.0 / surface.radii[0]) * load(surface.start), load(surface.heading)
    c, s = math.cos(surface.arc / R), math.sin(surface.arc / R)
    end_normal = c * normal + s * t
    store_ends(surface, normal, R * end_normal, c * t - s * normal, end_normal)
    surface.bend[0] = surface.end_bend[0] = 1.0 / R
    surface.bend[1] = surface.end_bend[1] = 0.0
    store_fields(surface, c, -s / R, R * s, c)
