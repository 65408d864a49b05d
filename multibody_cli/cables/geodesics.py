"""Geodesics of a surface F = 0, integrated with their Jacobi fields.

Along a geodesic of unit speed, with the gradient g of F and its second derivative H,

    x'' = -(x' . H x') g / |g|^2,        y'' = -K y,

where K is Gauss' curvature, and y the distance of a neighboring geodesic.  At either end, with N = g / |g|, the tangent
t and b = N x t, the normal curvature is t . H t / |g| and the geodesic torsion t . H b / |g|.

The method is that of Cooper and Verner, of order 8 with 11 stages, in steps of equal length.

Source: Cooper and Verner, SIAM J. Numer. Anal. 9 (1972).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multibody_cli.cables.surface import STAGES, STATE, store_ends, store_fields, unit
from multibody_cli.kernel import kernel_parameter, template
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spatial.values import Vec3

_S = math.sqrt(21.0)
A = np.zeros((STAGES, STAGES))
"""Weights of earlier stages."""
A[1, 0] = 1 / 2
A[2, :2] = 1 / 4, 1 / 4
A[3, :3] = 1 / 7, (-7 - 3 * _S) / 98, (21 + 5 * _S) / 49
A[4, [0, 2, 3]] = (11 + _S) / 84, (18 + 4 * _S) / 63, (21 - _S) / 252
A[5, [0, 2, 3, 4]] = (5 + _S) / 48, (9 + _S) / 36, (-231 + 14 * _S) / 360, (63 - 7 * _S) / 80
A[6, [0, 2, 3, 4, 5]] = (
    (10 - _S) / 42, (-432 + 92 * _S) / 315, (633 - 145 * _S) / 90, (-504 + 115 * _S) / 70, (63 - 13 * _S) / 35,
)  # fmt: skip
A[7, [0, 4, 5, 6]] = 1 / 14, (14 - 3 * _S) / 126, (13 - 3 * _S) / 63, 1 / 9
A[8, [0, 4, 5, 6, 7]] = 1 / 32, (91 - 21 * _S) / 576, 11 / 72, (-385 - 75 * _S) / 1152, (63 + 13 * _S) / 128
A[9, [0, 4, 5, 6, 7, 8]] = (
    1 / 14, 1 / 9, (-733 - 147 * _S) / 2205, (515 + 111 * _S) / 504, (-51 - 11 * _S) / 56, (132 + 28 * _S) / 245,
)  # fmt: skip
A[10, [4, 5, 6, 7, 8, 9]] = (
    (-42 + 7 * _S) / 18, (-18 + 28 * _S) / 45, (-273 - 53 * _S) / 72, (301 + 53 * _S) / 72, (28 - 28 * _S) / 45,
    (49 - 7 * _S) / 18,
)  # fmt: skip

B = np.array([1 / 20, 0, 0, 0, 0, 0, 0, 49 / 180, 16 / 45, 49 / 180, 1 / 20])
"""Weights of the step."""


@kernel_parameter
def gradient_of(surface, x) -> Any:
    """Return the gradient of F."""


@kernel_parameter
def bilinear_of(surface, x, u, v) -> float:
    """Return the second derivative of F along u and v."""
    raise NotImplementedError


@kernel_parameter
def curvature_of(surface, x, g) -> float:
    """Return Gauss' curvature, from the gradient."""
    raise NotImplementedError


@kernel_parameter
def resolution_of(surface) -> float:
    """Return the longest step of an integration, m."""
    raise NotImplementedError


@template(gradient_of, bilinear_of, curvature_of, resolution_of)
def follow_geodesic(surface):
    """Write the end of the geodesic and its Jacobi fields."""
    x, v, stages, y = load(surface.start), load(surface.heading), surface.stages, surface.state
    y[0], y[1], y[2], y[3], y[4], y[5] = x.x, x.y, x.z, v.x, v.y, v.z
    y[6], y[7], y[8], y[9] = 1.0, 0.0, 0.0, 1.0
    steps = 1 + int(abs(surface.arc) / resolution_of(surface))
    h = surface.arc / steps
    for _ in range(steps):
        for i in range(STAGES):
            stage = stages[i]
            for k in range(STATE):
                total = 0.0
                for j in range(i):
                    total += A[i, j] * stages[j, k]
                stage[k] = y[k] + h * total
            x, v = Vec3(stage[0], stage[1], stage[2]), Vec3(stage[3], stage[4], stage[5])
            g = gradient_of(surface, x)
            pull, K = -bilinear_of(surface, x, v, v) / dot(g, g), curvature_of(surface, x, g)
            stage[0], stage[1], stage[2], stage[3], stage[4], stage[5] = (
                v.x,
                v.y,
                v.z,
                pull * g.x,
                pull * g.y,
                pull * g.z,
            )
            a, da, b, db = stage[6], stage[7], stage[8], stage[9]
            stage[6], stage[7], stage[8], stage[9] = da, -K * a, db, -K * b
        for k in range(STATE):
            total = 0.0
            for j in range(STAGES):
                total += B[j] * stages[j, k]
            y[k] += h * total
    end, t = Vec3(y[0], y[1], y[2]), unit(Vec3(y[3], y[4], y[5]))
    normal, end_normal = unit(gradient_of(surface, load(surface.start))), unit(gradient_of(surface, end))
    store_ends(surface, normal, end, t, end_normal)
    store_fields(surface, y[6], y[7], y[8], y[9])
    store_bend(surface, surface.bend, load(surface.start), load(surface.heading), normal)
    store_bend(surface, surface.end_bend, end, t, end_normal)


@template(gradient_of, bilinear_of)
def store_bend(surface, bend, x, t, normal):
    """Write the normal curvature and the geodesic torsion of a geodesic along t."""
    g = gradient_of(surface, x)
    size = math.sqrt(dot(g, g))
    bend[0], bend[1] = bilinear_of(surface, x, t, t) / size, bilinear_of(surface, x, t, cross(normal, t)) / size
