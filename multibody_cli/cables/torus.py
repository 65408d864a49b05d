"""Arcs over a torus about z, F = ((rho - R)^2 + z^2 - r^2) / 2, with the distance rho from the axis: through its hole.

The path never crosses the plane of the ring outside of it.  Whether it touches is exact: the line between the points
cuts the tube, or crosses this plane outside.  The first approximation is the arc over the cylinder that touches the
tube at an azimuth, that of the point of the line next to the middle of the tube, or where the way through points of the
middle is shortest.

Along a geodesic of unit speed, with the azimuth phi and the constant c = rho^2 phi' of Clairaut,

    rho'' = m (rho - R) + c^2 / rho^3,    z'' = m z,    m r^2 = c^2 R / rho^3 - 1,    K r^2 = 1 - R / rho

where K is Gauss' curvature.
"""

from __future__ import annotations

import math

from multibody_cli.cables.circle import AMBIGUOUS, ON_SURFACE, TINY
from multibody_cli.cables.cylinder import helix
from multibody_cli.cables.geodesics import add_power, follow_geodesic, order_of
from multibody_cli.cables.surface import norm, store_ends, store_fields, store_start, unit
from multibody_cli.kernel import bound_kernel, formula, kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spatial.values import Vec3

P1, P2, P3 = 5, 6, 7
"""Numbers of the series of 1 / rho, 1 / rho^2 and 1 / rho^3."""

Z = Vec3(0.0, 0.0, 1.0)

SAMPLES, REFINEMENTS = 16, 8
"""Values among which a minimum is searched, and steps of Newton's method from the best one."""


@formula
def depth(x, R):
    """Distance of a point from the middle of the tube."""
    return math.sqrt((math.sqrt(x.x * x.x + x.y * x.y) - R) ** 2 + x.z * x.z)


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
    R, limit = surface.radii[0], surface.radii[1] * (1.0 - ON_SURFACE)
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
    for _ in range(REFINEMENTS):
        x = p + part * d
        rho, along = max(math.hypot(x.x, x.y), TINY), x.x * d.x + x.y * d.y
        slope = dot(x, d) - R * along / rho
        bend = dot(d, d) - R * ((d.x * d.x + d.y * d.y) / rho - along * along / rho**3)
        part = min(max(part - slope / bend, low), high) if bend > 0.0 else part
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
    for _ in range(REFINEMENTS):
        e, f = Vec3(math.cos(azimuth), math.sin(azimuth), 0.0), Vec3(-math.sin(azimuth), math.cos(azimuth), 0.0)
        from_p, from_q = norm(R * e - p), norm(R * e - q)
        a, b = (1.0 / max(from_p, TINY)) * (R * e - p), (1.0 / max(from_q, TINY)) * (R * e - q)
        slope, bend = dot(f, a + b), R * (1.0 - dot(a, f) ** 2) / from_p + R * (1.0 - dot(b, f) ** 2) / from_q
        bend -= dot(e, a + b)
        low, high = azimuth if slope < 0.0 else low, high if slope < 0.0 else azimuth
        azimuth = azimuth - slope / bend if bend > 0.0 else low
        azimuth = azimuth if low < azimuth < high else 0.5 * (low + high)
    return azimuth


@formula
def in_plane(x, R):
    """Whether a point is in the plane of the ring, outside of it: above and below, the way through the hole differs."""
    return abs(x.z) < AMBIGUOUS * R and math.hypot(x.x, x.y) > R


@kernel
def approach(surface, p, q):
    """Write an approximation of the arc between lines to two points."""
    R, r, d = surface.radii[0], surface.radii[1], q - p
    surface.touches, surface.doubtful, surface.arc = 0, 0, 0.0
    if min(depth(p, R), depth(q, R)) < r * (1.0 - ON_SURFACE):
        surface.doubtful = 1
        return
    x, outside = p, p.z * q.z < 0.0
    if outside:
        x = p + (p.z / (p.z - q.z)) * d
        outside = math.hypot(x.x, x.y) > R
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
    middle = (surface.radii[0] / math.hypot(x.x, x.y)) * Vec3(x.x, x.y, 0.0)
    normal = unit(x - middle)
    store_start(surface, middle + surface.radii[1] * normal, normal, t)


# --- geodesics --------------------------------------------------------------------------------------------------------
@formula
def begin(surface):
    """Write rho, z, phi and their derivatives, and the constant of Clairaut."""
    x, t, series = load(surface.start), load(surface.heading), surface.series
    rho = math.hypot(x.x, x.y)
    surface.invariant = x.x * t.y - x.y * t.x
    series[0, 0], series[0, 1], series[0, 2] = rho, x.z, 0.0
    series[1, 0], series[1, 1], series[1, 2] = (x.x * t.x + x.y * t.y) / rho, t.z, surface.invariant / rho**2


@formula
def expand(surface):
    """Write the series of rho, z, phi, y and the powers of rho."""
    series, R, r, c = surface.series, surface.radii[0], surface.radii[1], surface.invariant
    pull, square = c * c * R / r**2, 1.0 / r**2
    rho = series[0, 0]
    series[0, P1], series[0, P2], series[0, P3] = 1.0 / rho, 1.0 / rho**2, 1.0 / rho**3
    for k in range(order_of(surface) - 1):
        if k > 0:
            add_power(series, P1, 0, -1.0, k)
            add_power(series, P2, 0, -2.0, k)
            add_power(series, P3, 0, -3.0, k)
        out, up, a, b = 0.0, 0.0, 0.0, 0.0
        for j in range(k + 1):
            p, q = series[k - j, P3], series[k - j, P1]
            out, up = out + p * series[j, 0], up + p * series[j, 1]
            a, b = a + q * series[j, 3], b + q * series[j, 4]
        scale, ring = 1.0 / ((k + 1) * (k + 2)), R if k == 0 else 0.0
        out = pull * (out - R * series[k, P3]) - square * (series[k, 0] - ring) + c * c * series[k, P3]
        series[k + 2, 0], series[k + 2, 1] = scale * out, scale * (pull * up - square * series[k, 1])
        series[k + 1, 2] = c * series[k, P2] / (k + 1)
        series[k + 2, 3] = scale * square * (R * a - series[k, 3])
        series[k + 2, 4] = scale * square * (R * b - series[k, 4])
    series[order_of(surface), 2] = 0.0


@formula
def end(surface):
    """Write the frames at both ends of an arc, and the fields there."""
    x, t, series, R, r = load(surface.start), load(surface.heading), surface.series, surface.radii[0], surface.radii[1]
    rho, first, c = series[0, 0], math.hypot(x.x, x.y), surface.invariant
    e = (1.0 / first) * Vec3(x.x, x.y, 0.0)
    C, S = math.cos(series[0, 2]), math.sin(series[0, 2])
    out, round_axis = Vec3(C * e.x - S * e.y, S * e.x + C * e.y, 0.0), Vec3(-S * e.x - C * e.y, C * e.x - S * e.y, 0.0)
    heading = unit(series[1, 0] * out + (c / rho) * round_axis + series[1, 1] * Z)
    normal, end_normal = unit((first - R) * e + x.z * Z), unit((rho - R) * out + series[0, 1] * Z)
    store_ends(surface, normal, rho * out + series[0, 1] * Z, heading, end_normal)
    store_fields(surface, series[0, 3], series[1, 3], series[0, 4], series[1, 4])
    store_bend(surface.bend, R, r, first, c / first, cross(normal, t), Vec3(-e.y, e.x, 0.0))
    store_bend(surface.end_bend, R, r, rho, c / rho, cross(end_normal, heading), round_axis)


@formula
def store_bend(bend, R, r, rho, along, across, round_axis):
    """Write the normal curvature and the geodesic torsion, for the component of the direction round the axis."""
    bend[0], bend[1] = (1.0 - R * along * along / rho) / r, -R * along * dot(across, round_axis) / (r * rho)


follow = bound_kernel(follow_geodesic, begin=begin, expand=expand, end=end)
