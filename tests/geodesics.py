"""Shortest paths over surfaces by a boundary value problem: an independent formulation for tests.

On F(x) = 0, a geodesic with constant speed satisfies x'' = -(x' . F'' x') / |F'|^2 F'.  The lines from a to its begin
and from its end to b are tangent to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

Floats = NDArray[np.float64]


class Level(NamedTuple):
    """A surface F = 0 by F, its gradient and its second derivative along v twice, for points (3, n)."""

    value: Callable[[Floats], Any]
    gradient: Callable[[Floats], Floats]
    curvature: Callable[[Floats, Floats], Any]


def quadric(weights: Floats) -> Level:
    """The surface sum w_i x_i^2 = 1: a sphere, a cylinder or an ellipsoid."""
    w = np.asarray(weights, dtype=float)[:, None]
    return Level(
        lambda x: (w * x * x).sum(axis=0) - 1.0, lambda x: 2.0 * w * x, lambda x, v: 2.0 * (w * v * v).sum(axis=0)
    )


NODES = 26


def _differentiation(n: int) -> tuple[Floats, Floats]:
    """Return Chebyshev points (n,) on [0, 1], and the matrix (n, n) of the derivative of their interpolation."""
    s = 0.5 - 0.5 * np.cos(np.pi * np.arange(n) / (n - 1))
    weights = np.where(np.arange(n) % 2 == 0, 1.0, -1.0) * np.where(np.isin(np.arange(n), (0, n - 1)), 0.5, 1.0)
    D = weights[None, :] / weights[:, None] / (s[:, None] - s[None, :] + np.eye(n))
    return s, D - np.diag(D.sum(axis=1))


def shortest(
    surface: Level, a: Floats, b: Floats, line: Floats, nodes: int = NODES
) -> tuple[float, Floats, Floats, Floats] | None:
    """Return the length of the path from a to b over a surface, both tangent points, and points (3, n) of the geodesic.

    None if there is none.

    The boundary value problem is collocated at Chebyshev points.  `line` (3, n) are points near the geodesic, at equal
    distances.
    """

    places, D = _differentiation(nodes)

    def residual(unknown: Floats) -> Floats:
        x = unknown.reshape(3, nodes)
        v = x @ D.T
        n = surface.gradient(x)
        found = [(v @ D.T + surface.curvature(x, v) / (n * n).sum(axis=0) * n)[:, 1:-1].ravel()]
        for k, point in ((0, a), (-1, b)):
            outward = point - x[:, k]
            found.append([outward @ n[:, k], np.linalg.det([outward, n[:, k], v[:, k]])])
        return np.concatenate([*found, [surface.value(x)[0], n[:, 0] @ v[:, 0]]])

    guess = [np.interp(places, np.linspace(0.0, 1.0, line.shape[1]), one) for one in line]
    found = root(residual, np.ravel(guess), tol=1e-13)
    if np.abs(found.fun).max() > 1e-9:
        return None
    x = found.x.reshape(3, nodes)
    P, Q, speed = x[:, 0], x[:, -1], np.linalg.norm(x @ D[0])
    if (P - a) @ (x @ D[0]) < -1e-9 or (b - Q) @ (x @ D[-1]) < -1e-9:  # the line turns back
        return None
    return float(np.linalg.norm(P - a) + speed + np.linalg.norm(b - Q)), P, Q, x


def sections(radii: Floats, a: Floats, b: Floats, count: int = 8) -> Iterator[Floats]:
    """Yield the shortest ways (3, n) round plane sections of an ellipsoid, by planes through the line from a to b."""
    p, q = a / radii, b / radii
    u = (q - p) / np.linalg.norm(q - p)
    foot = p - (p @ u) * u
    e = np.linalg.svd(u[None])[2][1]
    for angle in 2.0 * np.pi * np.arange(count) / count:
        w = np.cos(angle) * e + np.sin(angle) * np.cross(u, e)
        m = np.cross(w, u)
        centre, R = (foot @ m) * m, np.sqrt(1.0 - (foot @ m) ** 2)
        begin, end = (np.arctan2((x - centre) @ w, (x - centre) @ u) for x in (p, q))
        begin = (begin + 0.5 * np.pi) % (2.0 * np.pi) - 0.5 * np.pi - np.arccos(R / np.linalg.norm(p - centre))
        end = (end + 0.5 * np.pi) % (2.0 * np.pi) - 0.5 * np.pi + np.arccos(R / np.linalg.norm(q - centre))
        if begin > end:
            t = np.linspace(begin, end, 30)
            yield (centre[:, None] + R * (np.cos(t) * u[:, None] + np.sin(t) * w[:, None])) * radii[:, None]


def torus(major: float, minor: float) -> Level:
    """The torus (rho - R)^2 + z^2 = r^2, with the distance rho from the axis z, in units of r^2."""
    scale = minor**-2

    def gradient(x: Floats) -> Floats:
        shrunk = 1.0 - major / np.hypot(x[0], x[1])
        return 2.0 * scale * np.stack([shrunk * x[0], shrunk * x[1], x[2]])

    def curvature(x: Floats, v: Floats) -> Any:
        rho = np.hypot(x[0], x[1])
        round_axis = (x[0] * v[1] - x[1] * v[0]) / rho
        return 2.0 * scale * ((v * v).sum(axis=0) - major / rho * round_axis**2)

    return Level(lambda x: scale * ((np.hypot(x[0], x[1]) - major) ** 2 + x[2] ** 2) - 1.0, gradient, curvature)


def ways_through(major: float, minor: float, a: Floats, b: Floats, count: int = 12) -> Iterator[Floats]:
    """Yield circles (3, n) of the tube of a torus on the side of its hole, at several azimuths."""
    for azimuth in 2.0 * np.pi * np.arange(count) / count:
        e, up = np.array([np.cos(azimuth), np.sin(azimuth), 0.0]), np.array([0.0, 0.0, 1.0])
        angles = [np.arctan2(x[2], major - x @ e) for x in (a, b)]
        reach = [np.arccos(min(minor / np.hypot(x[2], major - x @ e), 1.0)) for x in (a, b)]
        sign = np.sign(angles[1] - angles[0])
        begin, end = angles[0] + sign * reach[0], angles[1] - sign * reach[1]
        if sign * (end - begin) > 0.0:
            t = np.linspace(begin, end, 30)
            yield major * e[:, None] + minor * (np.sin(t) * up[:, None] - np.cos(t) * e[:, None])
