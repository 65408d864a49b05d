"""Arcs over a torus about z, F = ((rho - R)^2 + z^2 - r^2) / 2, with the distance rho from the axis: through its hole.

The path never crosses the plane of the ring outside of it.  Whether it touches is exact: the line between the points
cuts the tube, or crosses this plane outside.  The first approximation is the arc over the cylinder that touches the
tube at an azimuth, that of the point of the line next to the middle of the tube, or where the way through points of the
middle is shortest.

Along a geodesic of unit speed, with the azimuth phi, the constant c = rho^2 phi' of Clairaut and the point m of the
middle of the tube next to x,

    x'' = -k (x - m) / r,    k r = 1 - c^2 R / rho^3,    K r^2 = 1 - R / rho

where k is the normal curvature, and K Gauss' curvature.
"""

from __future__ import annotations

import math

from multibody_cli.cables.circle import AMBIGUOUS, ON_SURFACE, TINY
from multibody_cli.cables.clairaut import integrate, turns_back
from multibody_cli.cables.cylinder import helix
from multibody_cli.cables.geodesics import Pull, follow_geodesic
from multibody_cli.cables.surface import begin_path, norm, path_of, store_ends, store_fields, store_start, unit
from multibody_cli.kernel import bound_kernel, formula, kernel, lazy_kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spatial.values import Vec3

Z = Vec3(0.0, 0.0, 1.0)

SAMPLES, REFINEMENTS = 16, 8
"""Values among which a minimum is searched, and most steps of Newton's method from the best one."""

NEAR = 1e-7
"""Step, relative to its bounds, behind which the next one is round-off."""


@formula
def off_axis(x):
    """Distance of a point from the axis."""
    return math.sqrt(x.x * x.x + x.y * x.y)


@formula
def depth(x, R):
    """Square of the distance of a point from the middle of the tube."""
    off = off_axis(x) - R
    return off * off + x.z * x.z


@formula
def within(surface, p, d):
    """The part of the line from p along d in the slab and cylinder round a torus; its end is first if there is none."""
    R, r = surface.radii[0], surface.radii[1]
    low, high = 0.0, 1.0
    if d.z != 0.0:
        low, high = max(low, (-r * sign(d.z) - p.z) / d.z), min(high, (r * sign(d.z) - p.z) / d.z)
    elif abs(p.z) > r:
        high = -1.0
    flat, along, outside = d.x * d.x + d.y * d.y, p.x * d.x + p.y * d.y, p.x * p.x + p.y * p.y - (R + r) ** 2
    if flat > 0.0:
        root = along * along - flat * outside
        half = math.sqrt(max(root, 0.0))
        low, high = max(low, (-along - half) / flat), min(high, (half - along) / flat) if root > 0.0 else -1.0
    elif outside > 0.0:
        high = -1.0
    return low, high


@formula
def sign(a):
    """Sign of a number."""
    return 1.0 if a >= 0.0 else -1.0


@kernel
def first_cut(surface, p, d) -> float:
    """The part of the line from p along d at which it is deepest in the tube for the first time; -1 if it misses it."""
    R, limit = surface.radii[0], (surface.radii[1] * (1.0 - ON_SURFACE)) ** 2
    low, high = within(surface, p, d)
    if low >= high:
        return -1.0
    step = (high - low) / SAMPLES
    here, after = depth(p + low * d, R), depth(p + low * d, R)
    for k in range(SAMPLES + 1):
        before, here = here, after
        after = depth(p + (low + (k + 1) * step) * d, R) if k < SAMPLES else here
        if here <= before and here <= after:
            part = deepest(p, d, R, low + k * step, max(low + (k - 1) * step, low), min(low + (k + 1) * step, high))
            if depth(p + part * d, R) < limit:
                return part
    return -1.0


@formula
def deepest(p, d, R, part, low, high):
    """The part of the line between two bounds at which it comes next to the middle of the tube, by Newton's method."""
    moved, steps = math.inf, 0
    while moved > NEAR * (high - low) and steps < REFINEMENTS:
        x, before, steps = p + part * d, part, steps + 1
        rho, along = max(off_axis(x), TINY), x.x * d.x + x.y * d.y
        slope = dot(x, d) - R * along / rho
        bend = dot(d, d) - R * (d.x * d.x + d.y * d.y - (along / rho) ** 2) / rho
        part = min(max(part - slope / bend, low), high) if bend > 0.0 else part
        moved = abs(part - before)
    return part


@formula
def is_cut(surface, p, q):
    """Whether the line between two points cuts the tube."""
    return first_cut(surface, p, q - p) >= 0.0


@formula
def shortest_azimuth(p, q, R):
    """The azimuth of the point of the middle of the tube through which the way from p to q is shortest."""
    azimuth, least = 0.0, math.inf
    for k in range(SAMPLES):
        e = Vec3(math.cos(math.tau * k / SAMPLES), math.sin(math.tau * k / SAMPLES), 0.0)
        length = norm(R * e - p) + norm(R * e - q)
        if length < least:
            azimuth, least = math.tau * k / SAMPLES, length
    low, high = azimuth - math.tau / SAMPLES, azimuth + math.tau / SAMPLES
    moved, steps = math.inf, 0
    while moved > NEAR and steps < REFINEMENTS:
        before, steps = azimuth, steps + 1
        e, f = Vec3(math.cos(azimuth), math.sin(azimuth), 0.0), Vec3(-math.sin(azimuth), math.cos(azimuth), 0.0)
        from_p, from_q = norm(R * e - p), norm(R * e - q)
        a, b = (1.0 / max(from_p, TINY)) * (R * e - p), (1.0 / max(from_q, TINY)) * (R * e - q)
        slope, bend = dot(f, a + b), R * (1.0 - dot(a, f) ** 2) / from_p + R * (1.0 - dot(b, f) ** 2) / from_q
        bend -= dot(e, a + b)
        low, high = azimuth if slope < 0.0 else low, high if slope < 0.0 else azimuth
        azimuth = azimuth - slope / bend if bend > 0.0 else low
        azimuth = azimuth if low < azimuth < high else 0.5 * (low + high)
        moved = abs(azimuth - before)
    return azimuth


@formula
def in_plane(x, R):
    """Whether a point is in the plane of the ring, outside of it: above and below, the way through the hole differs."""
    return abs(x.z) < AMBIGUOUS * R and off_axis(x) > R


@lazy_kernel
def approach(surface, p, q):
    """Write an approximation of the arc between lines to two points."""
    R, r, d = surface.radii[0], surface.radii[1], q - p
    surface.touches, surface.doubtful, surface.arc = 0, 0, 0.0
    if min(depth(p, R), depth(q, R)) < (r * (1.0 - ON_SURFACE)) ** 2:
        surface.doubtful = 1
        return
    x, outside = p, p.z * q.z < 0.0
    if outside:
        x = p + (p.z / (p.z - q.z)) * d
        outside = off_axis(x) > R
    if outside:
        azimuth = shortest_azimuth(p, q, R)
    else:
        part = first_cut(surface, p, d)
        if part < 0.0:
            return
        x = p + part * d
        azimuth = math.atan2(x.y, x.x)
    e, f, up = Vec3(math.cos(azimuth), math.sin(azimuth), 0.0), Vec3(-math.sin(azimuth), math.cos(azimuth), 0.0), Z
    a, b = p - R * e, q - R * e
    a, b = Vec3(-dot(a, e), a.z, dot(a, f)), Vec3(-dot(b, e), b.z, dot(b, f))
    found = helix(a, b, Vec3(1.0, 0.0, 0.0), 0, r, math.inf)
    start, heading, arc = x, d, 0.0
    if found.touches:
        s, t, arc = found.start, found.heading, found.arc
        start, heading = (R - s.x) * e + s.y * up + s.z * f, t.y * up + t.z * f - t.x * e
    surface.touches, surface.arc, surface.doubtful = 1, arc, int(in_plane(p, R) or in_plane(q, R))
    settle(surface, start, heading)


@formula
def settle(surface, x, t):
    """Write the start near x with a direction near t."""
    normal = normal_at(surface, x)
    middle = (surface.radii[0] / off_axis(x)) * Vec3(x.x, x.y, 0.0)
    store_start(surface, middle + surface.radii[1] * normal, normal, t)


# --- geodesics --------------------------------------------------------------------------------------------------------
@formula
def normal_at(surface, x):
    """The normal at a point of the surface, or near it."""
    return unit(x - (surface.radii[0] / off_axis(x)) * Vec3(x.x, x.y, 0.0))


@formula
def begin(surface):
    """Write the start of the geodesic, and the constant of Clairaut."""
    x, t = load(surface.start), load(surface.heading)
    surface.invariant = x.x * t.y - x.y * t.x
    begin_path(surface, x, t)


@formula
def pull_at(surface, x):
    """x'' and -K."""
    R, r, c = surface.radii[0], surface.radii[1], surface.invariant
    part = 1.0 / off_axis(x)
    inwards, m = 1.0 - R * part, (c * c * R * part * part * part - 1.0) / (r * r)
    return Pull(m * Vec3(inwards * x.x, inwards * x.y, x.z), -inwards / (r * r))


@formula
def end(surface):
    """Write the frames at both ends of an arc, and the fields there."""
    x, t, path, c = load(surface.start), load(surface.heading), surface.path, surface.invariant
    z, s, R, r = path_of(surface, 0), path_of(surface, 1), surface.radii[0], surface.radii[1]
    normal, end_normal = normal_at(surface, x), normal_at(surface, z)
    heading = unit(s - dot(end_normal, s) * end_normal)
    store_ends(surface, normal, z, heading, end_normal)
    store_fields(surface, path[0, 3], path[1, 3], path[0, 4], path[1, 4])
    store_bend(surface.bend, R, r, c, x, cross(normal, t))
    store_bend(surface.end_bend, R, r, c, z, cross(end_normal, heading))


@formula
def store_bend(bend, R, r, c, x, across):
    """Write the normal curvature and the geodesic torsion at x of a geodesic, for the direction across it."""
    part = 1.0 / off_axis(x)
    bend[0] = (1.0 - R * c * c * part * part * part) / r
    bend[1] = -R * c * (x.x * across.y - x.y * across.x) * part * part * part / r


follow_steps = bound_kernel(follow_geodesic, begin=begin, pull_at=pull_at, end=end)


@lazy_kernel
def follow(surface):
    """Write the end of the geodesic from the start of an arc, and its Jacobi fields."""
    begin(surface)
    if turns_back(surface):
        follow_steps(surface)
    else:
        integrate(surface)
        end(surface)
