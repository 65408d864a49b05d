"""Capsules against boxes: the segment of the capsule, p(t) = p + t d in the frame of the box, against the box.

Outside, the squared distance from the box is convex in t, and its derivative is linear between the points where the
segment crosses the planes of the faces, so that the nearest point is exact.  If the segment intersects the box, the
smallest separating translation is that of a point out of the box swept along the segment, whose faces are those of the
box and those spanned by an edge of the box and the segment.  A capsule along a face or an edge has contacts at both
ends of the overlap.
"""

from __future__ import annotations

import math

from multibody_cli.contacts.shapes.box import ball_at_box, distance_from_box, in_frame, put_ball, side, within
from multibody_cli.contacts.shapes.patch import direction, nearest_parameters
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.spatial.products import UNIT, cross, dot, scaled, transposed_times
from multibody_cli.spatial.values import Vec3

ALONG = 0.1
"""Sine of the angle to a face or an edge below which a capsule is parallel to it."""

FACES_FIRST = 1e-3
"""Fraction of the depth by which a translation across an edge must be shorter than one through a face to be chosen."""

ROUND_OFF = 1e-9
"""Round-off relative to the size of the shapes."""


@lazy_kernel
def capsule_box(a, b, margin, contacts, n) -> int:
    """Write the contact at the nearest point, or at both ends of the overlap with a face or an edge."""
    p, d = in_frame(b, a.x), transposed_times(b.R, a.R.z)
    t = _nearest(p, d, a.size.y, b.size)
    outward, distance = direction(p + t * d - within(p + t * d, b.size), UNIT.z)
    if distance > 0.0:
        return _outside(p, d, t, outward, a.size, b, margin, contacts, n)
    return _inside(p, d, a.size, b, margin, contacts, n)


@formula
def _slope(p, d, h):
    """Return half the derivative along d of the squared distance of p from the box."""
    return dot(d, p - within(p, h))


@kernel
def _nearest(p, d, S, h) -> float:
    """Return the parameter of the segment point nearest to the box: a zero of the slope, or an end."""
    low, high = -S, S
    at_low, at_high = _slope(p - S * d, d, h), _slope(p + S * d, d, h)
    if at_low >= 0.0:
        return low
    if at_high <= 0.0:
        return high
    for i in range(3):
        for k in range(2):
            t = ((h[i] if k else -h[i]) - p[i]) / d[i] if d[i] != 0.0 else S
            if low < t < high:
                slope = _slope(p + t * d, d, h)
                if slope > 0.0:
                    high, at_high = t, slope
                else:
                    low, at_low = t, slope
    return low + (high - low) * at_low / (at_low - at_high)


@formula
def _clip(x, dx, h, low, high):
    """Return the part of [low, high] where |x + t dx| <= h; one end of it if that part is empty."""
    if dx == 0.0:
        return low, high
    first, last = (-h - x) / dx, (h - x) / dx
    first, last = min(first, last), max(first, last)
    return min(max(low, first), high), max(min(high, last), low)


@kernel
def _outside(p, d, t, outward, size, box, margin, contacts, n) -> int:
    """Write contacts of a segment outside the box; `outward` points from the box to its nearest point, at t."""
    h, radius, low, high = box.size, size.x, -size.y, size.y
    lies = False
    for i in range(3):
        if abs(outward[i]) < ALONG:
            low, high = _clip(p[i], d[i], h[i], low, high)
            lies = True
    if lies and abs(dot(outward, d)) < ALONG:
        low, high = min(low, t), max(high, t)
    else:
        low, high = t, t
    nearest = distance_from_box(p + t * d, h)[0]
    ends = min(distance_from_box(p + low * d, h)[0], distance_from_box(p + high * d, h)[0])
    if low == high or ends > nearest + ROUND_OFF * size.x:
        n = ball_at_box(p + t * d, radius, box, margin, contacts, n, 0)
    if low != high:
        n = ball_at_box(p + low * d, radius, box, margin, contacts, n, 1)
        n = ball_at_box(p + high * d, radius, box, margin, contacts, n, 2)
    return n


@kernel
def _inside(p, d, size, box, margin, contacts, n) -> int:
    """Write contacts of a segment that intersects the box: through the nearest face, or across a much closer edge."""
    h, S, best, axis, edge = box.size, size.y, -math.inf, 0, False
    for i in range(3):
        depth = abs(p[i]) - S * abs(d[i]) - h[i]
        if depth > best:
            best, axis = depth, i
    out = side(p[axis]) * UNIT[axis]
    bias = FACES_FIRST * abs(best) + ROUND_OFF * (h.x + h.y + h.z)
    for i in range(3):
        m, sine = direction(cross(UNIT[i], d), UNIT.z)
        if sine > ROUND_OFF:
            depth = abs(dot(m, p)) - abs(m.x) * h.x - abs(m.y) * h.y - abs(m.z) * h.z
            if depth > best + bias:
                best, axis, edge, bias, out = depth, i, True, 0.0, side(dot(m, p)) * m
    if edge:
        return _across_edge(p, d, axis, out, best, size, box, margin, contacts, n)
    return _through_face(p, d, axis, out, best, size, box, margin, contacts, n)


@kernel
def _through_face(p, d, axis, out, best, size, box, margin, contacts, n) -> int:
    """Write contacts at both ends of the overlap with the face, and at the deepest end of the segment."""
    h, radius, rise = box.size, size.x, dot(out, d)
    low, high = -size.y, size.y
    for i in range(3):
        if i != axis:
            low, high = _clip(p[i], d[i], h[i], low, high)
    base = dot(out, p) - h[axis]
    if base + min(low * rise, high * rise) > best + ROUND_OFF * radius:
        t = -size.y * side(rise)
        n = put_ball(p + t * d, out, best, radius, box, margin, contacts, n, 0)
    n = put_ball(p + low * d, out, base + low * rise, radius, box, margin, contacts, n, 1)
    if low != high:
        n = put_ball(p + high * d, out, base + high * rise, radius, box, margin, contacts, n, 2)
    return n


@kernel
def _across_edge(p, d, axis, out, best, size, box, margin, contacts, n) -> int:
    """Write the contact at the point of the segment nearest to the edge."""
    h, u = box.size, UNIT[axis]
    foot = scaled(Vec3(1.0 - u.x, 1.0 - u.y, 1.0 - u.z), Vec3(side(out.x) * h.x, side(out.y) * h.y, side(out.z) * h.z))
    t = nearest_parameters(foot - p, d, size.y, u, h[axis])[0]
    return put_ball(p + t * d, out, best, size.x, box, margin, contacts, n, 3 + axis)
