"""Geodesics of a torus by the integrals of Clairaut, where they do not turn back.

With the angle theta about the middle of the tube, from the innermost circle, rho = R - r cos theta, the constant c of
Clairaut, D^2 = rho^2 - c^2 and the sign e of theta',

    s = e int r rho / D,    phi = e int r c / (rho D),    F = dphi/dc = e int r rho / D^3    (over theta).

The rotation about the axis and the change of c are variations of geodesics: all solutions of Jacobi's equation are

    y = e D (A + B F),    y' = sin theta (A + B F) + e B / D.

The integrands are analytic up to the distance d = acosh((R - |c|) / r) from the real axis, where D = 0: over a panel of
the width d, the error of n nodes of Gauss and Legendre falls as (2 + sqrt(5))^(-2n).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from multibody_cli.cables.surface import path_of
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.values import Vec3

LEAST = 1.08
"""(R - |c|) / r from which on a geodesic is integrated over theta: it does not turn back, and D is not small."""

TAILS = 20
"""Most corrections of the angle at the end."""

NODES = (0.1488743389816312, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845, 0.9739065285171717)
WEIGHTS = (0.2955242247147529, 0.2692667193099963, 0.2190863625159820, 0.1494513491505806, 0.0666713443086881)
ROUGH_NODES = (0.2386191860831969, 0.6612093864662645, 0.9324695142031521)
ROUGH_WEIGHTS = (0.4679139345726910, 0.3607615730481386, 0.1713244923791704)
"""Positive nodes of 10 and 6 in [-1, 1], and their weights."""

FINE = 1e-7
"""Accuracy from which on 10 nodes are taken."""


class Integrals(NamedTuple):
    """Length, azimuth and its derivative by c between two angles theta."""

    length: Any
    azimuth: Any
    by_c: Any


@formula
def turns_back(surface):
    """Whether a geodesic may turn back, or comes close to it, by the constant of Clairaut."""
    return surface.radii[0] - abs(surface.invariant) < LEAST * surface.radii[1]


@kernel
def integrate(surface):
    """Move the path to the end of an arc.

    The length follows from the angle at the end.  Its error and the change of theta' correct this angle to the third
    order.
    """
    path, R, r, c, arc = surface.path, surface.radii[0], surface.radii[1], surface.invariant, surface.arc
    x, t = path_of(surface, 0), path_of(surface, 1)
    rho = math.sqrt(x.x * x.x + x.y * x.y)
    e, S, C = Vec3(x.x / rho, x.y / rho, 0.0), x.z / r, (R - rho) / r
    begin, sense = math.atan2(S, C), 1.0 if S * (e.x * t.x + e.y * t.y) + C * t.z >= 0.0 else -1.0
    width = math.acosh((R - abs(c)) / r)
    D, rate = across(rho, c), sense * across(rho, c) / (r * rho)
    end = begin + 0.5 * arc * (rate + rate_at(R, r, c, sense, begin + arc * rate))
    found = between(surface, c, sense, begin, end, width)
    length, azimuth, by_c, tails = found.length, found.azimuth, found.by_c, 0
    while (arc - length) ** 2 > surface.accuracy * r * r and tails < TAILS:
        further = corrected(R, r, c, sense, end, arc - length)
        tail, tails = between(surface, c, sense, end, further, width), tails + 1
        length, azimuth, by_c, end = length + tail.length, azimuth + tail.azimuth, by_c + tail.by_c, further
    gap, rest = arc - length, R - r * math.cos(end)
    end = corrected(R, r, c, sense, end, gap)
    s, last = math.sin(end), R - r * math.cos(end)
    d = across(last, c)
    azimuth += gap * c * 0.5 * (1.0 / (rest * rest) + 1.0 / (last * last))
    by_c += gap / (d * d)
    turned = Vec3(math.cos(azimuth), math.sin(azimuth), 0.0)
    out = Vec3(turned.x * e.x - turned.y * e.y, turned.y * e.x + turned.x * e.y, 0.0)
    outwards, round_axis = sense * s * d / last, c / last
    path[0, 0], path[0, 1], path[0, 2] = last * out.x, last * out.y, r * s
    path[1, 0], path[1, 1] = outwards * out.x - round_axis * out.y, outwards * out.y + round_axis * out.x
    path[1, 2], one = sense * math.cos(end) * d / last, sense / D - S * by_c
    path[0, 3], path[1, 3] = sense * d * one, s * one - sense * S / d
    path[0, 4], path[1, 4] = d * D * by_c, sense * D * s * by_c + D / d


@formula
def across(rho, c):
    """D."""
    return math.sqrt((rho - c) * (rho + c))


@formula
def rate_at(R, r, c, sense, angle):
    """theta'."""
    rho = R - r * math.cos(angle)
    return sense * across(rho, c) / (r * rho)


@formula
def corrected(R, r, c, sense, angle, step):
    """The angle after a further length, to the second order."""
    rho = R - r * math.cos(angle)
    bend = c * c * math.sin(angle) / (r * rho * rho * rho)
    return angle + step * (sense * across(rho, c) / (r * rho) + 0.5 * step * bend)


@formula
def between(surface, c, sense, begin, end, width):
    """The integrals from an angle theta to another one; the table of the surface is scratch."""
    R, r, scratch, fine = surface.radii[0], surface.radii[1], surface.table, surface.accuracy < FINE
    panels = int(max(math.ceil(abs(end - begin) / width), 1.0))
    half = 0.5 * (end - begin) / panels
    pairs = len(NODES) if fine else len(ROUGH_NODES)
    for j in range(pairs):
        x = half * (NODES[j] if fine else ROUGH_NODES[j])
        scratch[j, 0], scratch[j, 1] = r * math.cos(x), r * math.sin(x)
    length, azimuth, by_c = 0.0, 0.0, 0.0
    for k in range(panels):
        C, S = math.cos(begin + (2 * k + 1) * half), math.sin(begin + (2 * k + 1) * half)
        for j in range(pairs):
            near, far = C * scratch[j, 0], S * scratch[j, 1]
            one, other = R - near + far, R - near - far
            w, a, b = WEIGHTS[j] if fine else ROUGH_WEIGHTS[j], 1.0 / across(one, c), 1.0 / across(other, c)
            length += w * (one * a + other * b)
            azimuth += w * (a / one + b / other)
            by_c += w * (one * a * a * a + other * b * b * b)
    scale = sense * half * r
    return Integrals(scale * length, scale * c * azimuth, scale * by_c)
