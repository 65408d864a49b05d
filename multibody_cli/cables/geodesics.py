"""Geodesics of a surface by Taylor series, with their Jacobi fields.

A kind of surface expands five functions of the length s along a geodesic: three that determine its point, and two
solutions y of Jacobi's equation,

    y'' = -K y,    y = 1, y' = 0    and    y = 0, y' = 1    at the start,

where K is Gauss' curvature, and y the distance of a neighboring geodesic.  Products of series are sums, and for the
power h = w^p of a series w,

    k w_0 h_k = sum_j (p j - (k - j)) w_j h_(k-j),    j = 1 ... k.

The steps are as long as the last two coefficients allow.

Source: Jorba and Zou, Experimental Mathematics 14 (2005): order and steps of Taylor's method.
"""

from __future__ import annotations

import math

from multibody_cli.cables.surface import FUNCTIONS, ORDER
from multibody_cli.kernel import formula, kernel_parameter, template

FINE, COARSE_ORDER = 1e-9, 9
"""Accuracy from which series have fewer terms, and their highest power."""

STEPS = 1000
"""Most steps along an arc."""


@kernel_parameter
def begin(surface) -> None:
    """Write the values and first derivatives of all functions at the start of the arc."""


@kernel_parameter
def expand(surface) -> None:
    """Write the coefficients of all functions, from their values and first derivatives."""


@kernel_parameter
def end(surface) -> None:
    """Write the end of the arc from the values and first derivatives there."""


@template(begin, expand, end)
def follow_geodesic(surface):
    """Write the end of the geodesic and its Jacobi fields."""
    begin(surface)
    series, order, rest, steps = surface.series, order_of(surface), surface.arc, 0
    series[0, 3], series[1, 3], series[0, 4], series[1, 4] = 1.0, 0.0, 0.0, 1.0
    while abs(rest) > 0.0 and steps < STEPS:
        expand(surface)
        h = math.copysign(min(abs(rest), longest_step(surface)), rest)
        for i in range(FUNCTIONS):
            value, slope = series[order, i], 0.0
            for k in range(order - 1, -1, -1):
                slope = slope * h + value
                value = value * h + series[k, i]
            series[0, i], series[1, i] = value, slope
        rest, steps = rest - h, steps + 1
    end(surface)


@formula
def longest_step(surface):
    """The step behind which the last two terms of the point and of both solutions y are round-off.

    A series of a point, or of one y, may converge where others do not: y is rho along a meridian of a torus.
    """
    series, order, last, before, scale = surface.series, order_of(surface), 0.0, 0.0, 0.0
    for i in range(3):
        last, before = max(last, abs(series[order, i])), max(before, abs(series[order - 1, i]))
        scale = max(scale, abs(series[0, i]))
    one, other = max(abs(series[0, 3]), 1.0), max(abs(series[0, 4]), surface.radii[1])
    last = max(last / scale, max(abs(series[order, 3]) / one, abs(series[order, 4]) / other))
    before = max(before / scale, max(abs(series[order - 1, 3]) / one, abs(series[order - 1, 4]) / other))
    return min(
        (surface.accuracy / last) ** (1.0 / order) if last > 0.0 else math.inf,
        (surface.accuracy / before) ** (1.0 / (order - 1)) if before > 0.0 else math.inf,
    )


@formula
def order_of(surface):
    """Highest power of the series."""
    return ORDER if surface.accuracy < FINE else COARSE_ORDER


@formula
def add_power(series, power, base, exponent, k):
    """Write coefficient k > 0 of a power of a series."""
    total = 0.0
    for j in range(1, k + 1):
        total += (exponent * j - (k - j)) * series[j, base] * series[k - j, power]
    series[k, power] = total / (k * series[0, base])
