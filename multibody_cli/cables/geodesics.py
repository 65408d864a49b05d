"""Geodesics of a surface with their Jacobi fields, by Stoermer's rule and extrapolation.

In coordinates x in which their acceleration is a function of x alone, a geodesic and two solutions y of Jacobi's
equation satisfy

    x'' = a(x),    y'' = -K(x) y,    y = 1, y' = 0    and    y = 0, y' = 1    at the start,

where K is Gauss' curvature, and y the distance of a neighboring geodesic.  Over a step H, Stoermer's rule with n parts
has errors in even powers of H / n; those for n = 1, 2, 3 ... are extrapolated to 0 (Aitken and Neville) until two
results agree, or over half of the step if they do not.

Source: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, 2nd edition (1993), section II.14,
extrapolation methods for second order differential equations.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from multibody_cli.cables.surface import ROWS, path_of
from multibody_cli.kernel import formula, kernel_parameter, lazy_template, template
from multibody_cli.spatial.products import ZERO

STEPS = 1000
"""Most steps along an arc."""


class Pull(NamedTuple):
    """The acceleration a, and K with the opposite sign."""

    acceleration: Any
    stiffness: Any


@kernel_parameter
def begin(surface) -> None:
    """Write x, x', y and y' at the start of the arc, and constants of the geodesic."""


@kernel_parameter
def pull_at(surface, x) -> Any:
    """The `Pull` at x."""


@kernel_parameter
def end(surface) -> None:
    """Write the end of the arc from x, x', y and y' there."""


@lazy_template(begin, pull_at, end)
def follow_geodesic(surface):
    """Write the end of the geodesic and its Jacobi fields."""
    begin(surface)
    path, rest, longest, steps = surface.path, surface.arc, math.inf, 0
    while abs(rest) > 0.0 and steps < STEPS:
        step, steps = math.copysign(min(abs(rest), longest), rest), steps + 1
        if extrapolate(surface, step):
            rest -= step
            for i in range(5):
                path[0, i] += surface.table[0, i]
                path[1, i] += surface.table[0, i + 5]
        else:
            longest = 0.5 * abs(step)
    end(surface)


@template(pull_at)
def extrapolate(surface, step) -> bool:
    """Write the changes of x, y, x' and y' over a step to the first row of the table; return whether they converge."""
    path, table, error = surface.path, surface.table, math.inf
    start, slope = path_of(surface, 0), path_of(surface, 1)
    first, y, z, n = pull_at(surface, start), path[0, 3], path[0, 4], 0
    while error > surface.accuracy and n < ROWS:
        n += 1
        h = step / n
        dx, dy, dz, v = ZERO, 0.0, 0.0, slope + (0.5 * h) * first.acceleration
        p, q = path[1, 3] + 0.5 * h * first.stiffness * y, path[1, 4] + 0.5 * h * first.stiffness * z
        for i in range(n):
            dx, dy, dz = dx + h * v, dy + h * p, dz + h * q
            now, part = pull_at(surface, start + dx), h if i < n - 1 else 0.5 * h
            v = v + part * now.acceleration
            p, q = p + part * now.stiffness * (y + dy), q + part * now.stiffness * (z + dz)
        v = v - slope
        row = table[n - 1]
        row[0], row[1], row[2], row[3], row[4] = dx.x, dx.y, dx.z, dy, dz
        row[5], row[6], row[7], row[8], row[9] = v.x, v.y, v.z, p - path[1, 3], q - path[1, 4]
        for j in range(n - 1, 0, -1):
            factor = j * j / (n * n - j * j)
            for i in range(10):
                table[j - 1, i] = table[j, i] + factor * (table[j, i] - table[j - 1, i])
        if n > 1:
            error = difference(surface)
    return error <= surface.accuracy


@formula
def difference(surface):
    """The difference of the two results of highest order, relative to the sizes of x and of both solutions y."""
    path, table, largest, size = surface.path, surface.table, 0.0, 0.0
    for i in range(3):
        largest, size = max(largest, abs(table[0, i] - table[1, i])), max(size, abs(path[0, i]))
    one, other = abs(table[0, 3] - table[1, 3]), abs(table[0, 4] - table[1, 4])
    return max(largest / size, max(one / max(abs(path[0, 3]), 1.0), other / max(abs(path[0, 4]), surface.radii[1])))
