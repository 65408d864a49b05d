"""Arcs over an ellipsoid, F = (x/a)^2 + (y/b)^2 + (z/c)^2 - 1.

Divided by the radii, it is a unit sphere: lines remain lines, and tangents tangents.  A great circle there is the first
approximation, and whether it touches is exact.

Along a geodesic of unit speed, with x = A u, A = diag(a, b, c), D = A^-2, w = u . D u and h = 1/w^2,

    J = (u' . u') w,    u'' = -J h D u,    K = h / (a b c)^2

where J is constant (Joachimsthal), and K Gauss' curvature.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from multibody_cli.cables.circle import AMBIGUOUS, ON_SURFACE, TINY, tangent_point, way_round
from multibody_cli.cables.geodesics import Pull, follow_geodesic
from multibody_cli.cables.sphere import any_normal
from multibody_cli.cables.surface import (
    Approach,
    begin_path,
    norm,
    path_of,
    store_approach,
    store_ends,
    store_fields,
    store_start,
    unit,
)
from multibody_cli.kernel import bound_kernel, formula, lazy_kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spatial.values import Vec3

SECTIONS, REFINEMENTS = 16, 3
"""Planes that are tried, and steps that improve the best ones."""

COSINES = tuple(math.cos(math.tau * k / SECTIONS) for k in range(SECTIONS + 1))
SINES = tuple(math.sin(math.tau * k / SECTIONS) for k in range(SECTIONS + 1))

MARGIN = 0.05
"""Relative difference of the lengths of two sections, above which the shorter one has the shorter geodesic."""

NOISE = 1e-14
"""Round-off of `slip`, relative to the products of a fan."""

ON_SIDE = 1e-9
"""Cosine between a direction and the side, above which it is on the side: those across it are not, by round-off."""

SADDLE = 1e9
"""Added to the length of a section that is longer than those beside it, m."""

NODES = (0.0469100770306680, 0.230765344947158, 0.5, 0.769234655052841, 0.953089922969332)
WEIGHTS = (0.118463442528095, 0.239314335249683, 0.284444444444444, 0.239314335249683, 0.118463442528095)
"""Gauss-Legendre quadrature over a unit interval."""


@formula
def divided(x, radii):
    """A vector in radii."""
    return Vec3(x.x / radii.x, x.y / radii.y, x.z / radii.z)


@formula
def multiplied(x, radii):
    """A vector of radii."""
    return Vec3(x.x * radii.x, x.y * radii.y, x.z * radii.z)


class Fan(NamedTuple):
    """The planes through a line along u: directions e and f = u x e across it, their products, and the foot by them.

    The foot is the point of the line next to the centre.  The products are those of the vectors divided by the radii.
    """

    e: Any
    f: Any
    ee: Any
    ef: Any
    ff: Any
    foot_e: Any
    foot_f: Any


@formula
def fan_about(u, foot, radii):
    """The planes through a line."""
    e = any_normal(u)
    f = cross(u, e)
    a, b = divided(e, radii), divided(f, radii)
    return Fan(e, f, dot(a, a), dot(a, b), dot(b, b), dot(foot, e), dot(foot, f))


@formula
def slip(fan, c, s):
    """How far the normal at the top of a section is out of its plane: the derivative of the length, up to a factor.

    The plane has the direction w = c e + s f across the line, for the cosine c and the sine s of an angle, and the
    normal m = s e - c f.  0 within round-off, as for each section through the axis of a spheroid.
    """
    off = s * fan.foot_e - c * fan.foot_f
    mm = s * s * fan.ee - 2.0 * s * c * fan.ef + c * c * fan.ff
    wm = s * c * (fan.ee - fan.ff) + (s * s - c * c) * fan.ef
    slope = off * mm + math.sqrt(max(1.0 - off * off, 0.0)) * wm
    return slope if abs(slope) > NOISE * (fan.ee + fan.ff) else 0.0


@formula
def section(p, q, w, side, u, foot, radii):
    """The arc over the section by the plane through two points, all in radii, on the side w of their line."""
    m = cross(w, u)
    centre = dot(foot, m) * m
    R = math.sqrt(max(1.0 - dot(centre, centre), TINY))
    beside = side - dot(side, m) * m if dot(side, side) > 0.0 else w
    way = way_round(m, p - centre, q - centre, beside, 0, R, 1.0)
    start, arc = tangent_point(way.n, p - centre, way.before, R), 0.0
    heading = cross(way.n, start)
    for k in range(len(NODES)):
        c, s = math.cos(NODES[k] * way.angle), math.sin(NODES[k] * way.angle)
        along = multiplied(c * heading - s * start, radii)
        arc += WEIGHTS[k] * way.angle * norm(along)
    c, s = math.cos(way.angle), math.sin(way.angle)
    lines = norm(multiplied(start + centre - p, radii)) + norm(multiplied(c * start + s * heading + centre - q, radii))
    arc_start = Approach(
        way.touches, way.doubtful, multiplied(start + centre, radii), unit(multiplied(heading, radii)), arc
    )
    return arc_start, lines + arc


@lazy_kernel
def approach(surface, p, q, rank):
    """Write an approximation of the arc between lines to two points: the shortest section by a plane through both.

    Among the sections whose length is stationary, those on the side count, and the least ones first; `rank` selects the
    shortest or the second one.  Where all are equal, it is that towards the side.
    """
    radii = load(surface.radii)
    p, q, side = divided(p, radii), divided(q, radii), divided(load(surface.side), radii)
    has_side, on_side = dot(side, side) > 0.0, ON_SIDE * norm(side)
    surface.touches, surface.doubtful, surface.rivals, surface.saddle, surface.arc = 0, 0, 0, 0, 0.0
    if min(dot(p, p), dot(q, q)) < 1.0 - 2.0 * ON_SURFACE:
        surface.doubtful = 1
        return
    apart = norm(q - p)
    if apart == 0.0:
        return
    u = (1.0 / apart) * (q - p)
    foot = p - dot(p, u) * u
    if (not has_side or surface.only_cut) and (dot(foot, foot) >= 1.0 or dot(p, u) >= 0.0 or dot(q, u) <= 0.0):
        return
    fan, lengths, ways = fan_about(u, foot, radii), surface.lengths, 0
    lengths[0] = lengths[1] = math.inf
    before = first = slip(fan, COSINES[0], SINES[0])
    equal = before == 0.0
    for k in range(1, SECTIONS + 1):
        after = slip(fan, COSINES[k], SINES[k]) if k < SECTIONS else first  # the same angle
        equal = equal and after == 0.0
        if before < 0.0 <= after or (has_side and after < 0.0 <= before):
            w = refined(fan, k, before, after)
            if not has_side or dot(w, side) > on_side:
                length = SADDLE if before >= 0.0 else 0.0
                if ways == 1:
                    lengths[0] += section(p, q, load(surface.way), side, u, foot, radii)[1]
                if ways > 0:
                    length += section(p, q, w, side, u, foot, radii)[1]
                ways += 1
                if length < lengths[0]:
                    lengths[1] = lengths[0]
                    store(surface.second_way, load(surface.way))
                    lengths[0] = length
                    store(surface.way, w)
                elif length < lengths[1]:
                    lengths[1] = length
                    store(surface.second_way, w)
        before = after
    undefined = 0
    w = load(surface.way) if rank == 0 else load(surface.second_way)
    if lengths[rank] == math.inf:
        w = side - dot(side, u) * u
        undefined = int(not equal or dot(w, w) == 0.0)
        w = unit(w) if dot(w, w) > 0.0 else fan.e
    if not has_side and dot(foot, foot) < AMBIGUOUS * AMBIGUOUS:
        undefined = 1
    surface.rivals, surface.saddle = int(lengths[1] < (1.0 + MARGIN) * lengths[0]), int(lengths[rank] >= SADDLE)
    found, _ = section(p, q, w, side, u, foot, radii)
    store_approach(surface, found)
    if undefined:
        surface.doubtful = surface.touches


@formula
def refined(fan, k, lower, upper):
    """The direction between an angle and the one before at which `slip` changes its sign."""
    high = math.tau * k / SECTIONS
    low = high - math.tau / SECTIONS
    c, s = COSINES[k - 1], SINES[k - 1]
    for _ in range(REFINEMENTS):
        middle = low - lower * (high - low) / (upper - lower) if upper != lower else low
        c, s = math.cos(middle), math.sin(middle)
        value = slip(fan, c, s)
        if value * lower > 0.0:
            low, lower = middle, value
        else:
            high, upper = middle, value
    return c * fan.e + s * fan.f


@formula
def settle(surface, x, t):
    """Write the start near x with a direction near t."""
    radii = load(surface.radii)
    scaled = divided(x, radii)
    start = (1.0 / math.sqrt(dot(scaled, scaled))) * x
    store_start(surface, start, unit(divided(divided(start, radii), radii)), t)


# --- geodesics --------------------------------------------------------------------------------------------------------
@formula
def begin(surface):
    """Write u, its derivative, and the constant of Joachimsthal."""
    radii = load(surface.radii)
    u, du = divided(load(surface.start), radii), divided(load(surface.heading), radii)
    normal = divided(u, radii)
    begin_path(surface, u, du)
    surface.invariant = dot(du, du) * dot(normal, normal)


@formula
def pull_at(surface, u):
    """u'' and -K."""
    radii, J = surface.radii, surface.invariant
    x, y, z = u.x / radii[0] ** 2, u.y / radii[1] ** 2, u.z / radii[2] ** 2
    w = x * u.x + y * u.y + z * u.z
    h = 1.0 / (w * w)
    return Pull((-J * h) * Vec3(x, y, z), -h / (radii[0] * radii[1] * radii[2]) ** 2)


@formula
def end(surface):
    """Write the frames at both ends of an arc, and the fields there."""
    radii, path, x, t = load(surface.radii), surface.path, load(surface.start), load(surface.heading)
    u, du = unit(path_of(surface, 0)), path_of(surface, 1)
    first, last = divided(divided(x, radii), radii), divided(u, radii)
    heading = unit(multiplied(du - dot(u, du) * u, radii))
    store_ends(surface, unit(first), multiplied(u, radii), heading, unit(last))
    store_fields(surface, path[0, 3], path[1, 3], path[0, 4], path[1, 4])
    store_bend(surface.bend, radii, first, t)
    store_bend(surface.end_bend, radii, last, heading)


@formula
def store_bend(bend, radii, gradient, t):
    """Write the normal curvature and the geodesic torsion of a geodesic along t, for half of the gradient of F."""
    size, turned = norm(gradient), divided(divided(t, radii), radii)
    bend[0], bend[1] = dot(turned, t) / size, dot(turned, cross(gradient, t)) / (size * size)


follow = bound_kernel(follow_geodesic, begin=begin, pull_at=pull_at, end=end)
