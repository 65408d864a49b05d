"""Tables of values as pieces of polynomials."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from multibody_cli.kernel import Floats


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


INTERPOLATIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "linear": _linear_pieces,
    "cubic": _cubic_pieces,
    "pchip": _pchip_pieces,
}
"""Pieces (n, 4) through (times, values): lines, a not-a-knot cubic spline, or monotone cubics (Fritsch and Butland)."""


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
