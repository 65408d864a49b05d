"""Tables of values as pieces of polynomials."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from multibody_cli.kernel import Floats
from multibody_cli.symbolic.tables import Piecewise


def _linear_pieces(times: Floats, values: Floats) -> Floats:
    slopes = np.append(np.diff(values) / np.diff(times), 0.0)
    return np.column_stack([values, slopes, np.zeros_like(values), np.zeros_like(values)])


def _cubic_pieces(times: Floats, values: Floats) -> Floats:
    from scipy.interpolate import CubicSpline

    return _pieces_of(CubicSpline(times, values).c, values)


def _pchip_pieces(times: Floats, values: Floats) -> Floats:
    from scipy.interpolate import PchipInterpolator

    return _pieces_of(PchipInterpolator(times, values).c, values)


def _pieces_of(coefficients: Floats, values: Floats) -> Floats:
    """Return pieces from coefficients (4, n - 1), highest power first, and the constant after the last instant."""
    return np.vstack([coefficients[::-1].T, [values[-1], 0.0, 0.0, 0.0]])


def _with_ends(ends: str) -> Callable[[Floats, Floats], Floats]:
    def pieces(x: Floats, y: Floats) -> Floats:
        from scipy.interpolate import CubicSpline

        return _pieces_of(CubicSpline(x, y, bc_type=ends).c, y)

    return pieces


INTERPOLATIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "linear": _linear_pieces,
    "cubic": _cubic_pieces,
    "natural": _with_ends("natural"),
    "pchip": _pchip_pieces,
}
"""Pieces (n, 4) through (times, values): lines, a cubic spline, not-a-knot or with second derivatives of 0 at both
ends, or monotone cubics (Fritsch and Butland)."""


# --- functions of other arguments than time -------------------------------------------------------------------------


def _simm_pieces(x: Floats, y: Floats) -> Floats:
    """Return a cubic spline whose third derivative at each end is that of the cubic through the four nearest points.

    With three points it is a parabola.  Source: Forsythe, Malcolm and Moler, Computer Methods for
    Mathematical Computations (1977), section 4.4, as in `SimmSpline` of OpenSim.
    """
    h, n = np.diff(x), len(x)
    slopes = np.diff(y) / h
    third = np.zeros(2)
    if n > 3:
        ends = (slice(0, 4), slice(n - 4, n))
        third = np.array([_third_derivative(x[end], y[end]) for end in ends])
    A, b = np.zeros((n, n)), np.zeros(n)
    for i in range(1, n - 1):
        A[i, i - 1 : i + 2] = h[i - 1], 2.0 * (h[i - 1] + h[i]), h[i]
        b[i] = 6.0 * (slopes[i] - slopes[i - 1])
    A[0, :2], b[0] = (-1.0, 1.0), h[0] * third[0]
    A[-1, -2:], b[-1] = (-1.0, 1.0), h[-1] * third[1]
    curvature = np.linalg.solve(A, b) if n > 2 else np.zeros(2)
    slope = slopes - h * (2.0 * curvature[:-1] + curvature[1:]) / 6.0
    return _pieces_of(np.array([np.diff(curvature) / (6.0 * h), curvature[:-1] / 2.0, slope, y[:-1]]), y)


def _third_derivative(x: Floats, y: Floats) -> float:
    """Return the third derivative of the cubic through four points, by divided differences."""
    for order in (1, 2, 3):
        y = np.diff(y) / (x[order:] - x[:-order])
    return 6.0 * float(y[0])


FUNCTIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "natural": _with_ends("natural"),
    "clamped": _with_ends("clamped"),
    "not_a_knot": _cubic_pieces,
    "simm": _simm_pieces,
    "pchip": _pchip_pieces,
    "linear": _linear_pieces,
}
"""Pieces (n, 4) through (x, y): cubic splines by their end conditions, monotone cubics, or lines."""


def continued(x: Floats, y: Floats, interpolation: str, smoothing: float = 0.0) -> Piecewise:
    """Return an interpolant of `FUNCTIONS`, which its tangents continue at both ends.

    Parameters
    ----------
    x, y
        Points (n,), n >= 2, in ascending order.
    interpolation
        One of `FUNCTIONS`.
    smoothing
        Width about each inner point of lines over which the slope changes, with a continuous second derivative; at
        most the distance of neighbours.
    """
    if interpolation == "linear":
        return _rounded_lines(x, y, smoothing)
    pieces = FUNCTIONS[interpolation](x, y)[:-1]
    h = x[-1] - x[-2]
    end = pieces[-1, 1] + h * (2.0 * pieces[-1, 2] + 3.0 * h * pieces[-1, 3])
    first, last = [y[0], pieces[0, 1], 0.0, 0.0], [y[-1], end, 0.0, 0.0]
    return _piecewise([x[0], *x], [first, *pieces, last])


def _piecewise(knots: Sequence[float], rows: Sequence[Sequence[float] | Floats]) -> Piecewise:
    return Piecewise(tuple(map(float, knots)), tuple(tuple(map(float, row)) for row in rows))


def _rounded_lines(x: Floats, y: Floats, width: float) -> Piecewise:
    """Return lines whose slope changes from s to r over u = 0 to 1 as s + (r - s) (3 u^2 - 2 u^3)."""
    slopes = np.diff(y) / np.diff(x)
    knots, rows = [x[0]], [[y[0], slopes[0], 0.0, 0.0, 0.0]]
    for k in range(1, len(slopes)):
        change, start = slopes[k] - slopes[k - 1], x[k] - 0.5 * width
        knots += [start, x[k] + 0.5 * width]
        rows.append(
            [y[k] - 0.5 * width * slopes[k - 1], slopes[k - 1], 0.0, change / width**2, -0.5 * change / width**3]
        )
        rows.append([y[k] + 0.5 * width * slopes[k], slopes[k], 0.0, 0.0, 0.0])
    return _piecewise(knots, rows)


def overshoot(times: Floats, values: Floats, interpolation: str) -> tuple[float, float]:
    """Return by how much an interpolant leaves the range of its values, relative to that range, and the time, s."""
    pieces, spread = INTERPOLATIONS[interpolation](times, values)[:-1], float(np.ptp(values))
    _, slope, quadratic, cubic = pieces.T
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(quadratic**2 - 3.0 * slope * cubic)
        # both roots of the derivative, without cancellation
        q = -(quadratic + np.copysign(root, quadratic))
        places = np.stack([q / (3.0 * cubic), slope / q])
    places = np.where((places > 0.0) & (places < np.diff(times)), places, 0.0)
    extremes = pieces[:, 0] + places * (slope + places * (quadratic + places * cubic))
    excess = np.maximum(extremes - values.max(), values.min() - extremes)
    row, piece = np.unravel_index(int(np.argmax(excess)), excess.shape)
    largest = max(float(excess[row, piece]), 0.0)
    return largest / spread if spread > 0.0 else 0.0, float(times[piece] + places[row, piece])
