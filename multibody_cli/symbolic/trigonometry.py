"""Sine and cosine of one angle together, without a library call: a call inside a kernel spills its registers.

Cody and Waite's reduction to |r| <= pi/4 in three parts, then the minimax polynomials of Moshier's Cephes library;
within 2 ulp of the library functions up to the bound below, and the library functions beyond it.
"""

from __future__ import annotations

import math
from typing import Any

from multibody_cli.kernel import formula

TWO_OVER_PI = 2.0 / math.pi
_HALF_PI_HIGH = 1.5707963267341256  # 33 leading bits of pi/2, then the next 33, then the rest
_HALF_PI_MIDDLE = 6.077100506303966e-11
_HALF_PI_LOW = 2.0222662487959506e-21
REDUCED_EXACTLY_BELOW = 1.0e5


@formula
def sine_and_cosine(x: Any) -> tuple[Any, Any]:
    """(sin x, cos x)."""
    if abs(x) > REDUCED_EXACTLY_BELOW:
        return math.sin(x), math.cos(x)
    quadrant = math.floor(x * TWO_OVER_PI + 0.5)
    r = reduced(x, quadrant)
    z = r * r
    s, c = sine_of_reduced(r, z), cosine_of_reduced(z)
    k = int(quadrant) & 3
    if k & 1:
        s, c = c, s
    return (-s if k & 2 else s), (-c if (k + 1) & 2 else c)


@formula
def reduced(x: Any, quadrant: Any) -> Any:
    """x - quadrant pi/2."""
    return ((x - quadrant * _HALF_PI_HIGH) - quadrant * _HALF_PI_MIDDLE) - quadrant * _HALF_PI_LOW


@formula
def sine_of_reduced(r: Any, z: Any) -> Any:
    """Sine of r, |r| <= pi/4, with z = r^2."""
    return r + r * z * _polynomial_of_sine(z)


@formula
def cosine_of_reduced(z: Any) -> Any:
    """Cosine of r, |r| <= pi/4, with z = r^2."""
    return 1.0 - 0.5 * z + z * z * _polynomial_of_cosine(z)


@formula
def _polynomial_of_sine(z: Any) -> Any:
    p = 1.58962301576546568060e-10
    p = p * z - 2.50507477628578072866e-8
    p = p * z + 2.75573136213857245213e-6
    p = p * z - 1.98412698295895385996e-4
    p = p * z + 8.33333333332211858878e-3
    return p * z - 1.66666666666666307295e-1


@formula
def _polynomial_of_cosine(z: Any) -> Any:
    p = -1.13585365213876817300e-11
    p = p * z + 2.08757008419747316778e-9
    p = p * z - 2.75573141792967388112e-7
    p = p * z + 2.48015872888517045348e-5
    p = p * z - 1.38888888888730564116e-3
    return p * z + 4.16666666666665929218e-2
