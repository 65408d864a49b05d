"""The curves of muscles: piecewise cubics in the normalized length and velocity of the fibers.

Conditions determine each curve: values, slopes and curvatures at its knots, and smoothness between pieces.  Outside of
the knots

    active      0
    passive     0 below, a straight line above
    velocity    0 below the maximum shortening velocity, the last value above the maximum lengthening velocity

Source: Sueda, notes 1.9.4, (1.40)-(1.46); the passive curve passes through (1.7, 1), not (1.8, 1) as printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import formula

VALUE, SLOPE, CURVATURE = range(3)


class Condition(NamedTuple):
    """A condition on a derivative of a piece at a knot: a value, or equality with another piece."""

    piece: int
    x: float
    derivative: int
    value: float = 0.0
    other: int | None = None


def _row(piece: int, pieces: int, x: float, derivative: int) -> NDArray[np.float64]:
    row = np.zeros((pieces, 4))
    row[piece] = [math.prod([x] * (n - derivative), start=float(math.perm(n, derivative))) for n in (3, 2, 1, 0)]
    return row.ravel()


def cubics(pieces: int, conditions: Sequence[Condition]) -> tuple[tuple[float, ...], ...]:
    """Coefficients (a, b, c, d) of a x^3 + b x^2 + c x + d for each piece, from four conditions per piece."""
    rows = [_row(piece, pieces, x, derivative) for piece, x, derivative, _, _ in conditions]
    for k, condition in enumerate(conditions):
        if condition.other is not None:
            rows[k] = rows[k] - _row(condition.other, pieces, condition.x, condition.derivative)
    solved = np.linalg.solve(np.array(rows), [condition.value for condition in conditions])
    return tuple(tuple(piece) for piece in solved.reshape(pieces, 4).tolist())


def smooth(piece: int, x: float) -> list[Condition]:
    """Conditions of equal value and slope of a piece and the next one at their knot."""
    return [Condition(piece, x, order, other=piece + 1) for order in (VALUE, SLOPE)]


PASSIVE_KNOTS = (1.0, 1.3, 1.7)
STEEPEST = 2.85714285714286
PASSIVE = cubics(
    2,
    [
        Condition(0, 1.0, VALUE, 0.0),
        Condition(0, 1.0, SLOPE, 0.0),
        Condition(0, 1.3, VALUE, 0.126110265892917),
        Condition(0, 1.3, SLOPE, 1.07051016402631),
        *smooth(0, 1.3),
        Condition(1, 1.7, VALUE, 1.0),
        Condition(1, 1.7, SLOPE, STEEPEST),
    ],
)
"""Passive force of the fibers: (1.41) with a corrected third row."""

ACTIVE_KNOTS = (0.4, 0.7, 1.2, 1.81)
ACTIVE = cubics(
    3,
    [
        Condition(0, 0.4, VALUE, 0.0),
        Condition(0, 0.4, SLOPE, 0.0),
        Condition(0, 0.7, VALUE, 0.767020368396388),
        *smooth(0, 0.7),
        Condition(1, 1.0, VALUE, 1.0),
        Condition(1, 1.0, SLOPE, 0.0),
        Condition(1, 1.2, VALUE, 0.89),
        *smooth(1, 1.2),
        Condition(2, 1.81, VALUE, 0.0),
        Condition(2, 1.81, SLOPE, 0.0),
    ],
)
"""Active force of the fibers at zero velocity, (1.43)."""

VELOCITY_KNOTS = (-1.0, -0.05, 0.05, 1.0)
FASTEST = 1.4
VELOCITY = cubics(
    3,
    [
        Condition(0, -1.0, VALUE, 0.0),
        Condition(0, -1.0, SLOPE, 0.0),
        Condition(0, -1.0, CURVATURE, 0.0),
        *smooth(0, -0.05),
        Condition(1, 0.0, VALUE, 1.0),
        Condition(1, 0.0, SLOPE, 5.0),
        *smooth(1, 0.05),
        Condition(2, 1.0, VALUE, FASTEST),
        Condition(2, 1.0, SLOPE, 0.0),
        Condition(2, 1.0, CURVATURE, 0.0),
    ],
)
"""Factor of the active force for lengthening and shortening fibers, (1.45)."""


# --- in kernels -----------------------------------------------------------------------------------------------------
@formula
def cubic(piece, x):
    """Value and slope of one piece."""
    a, b, c, d = piece
    return ((a * x + b) * x + c) * x + d, (3.0 * a * x + 2.0 * b) * x + c


@formula
def antiderivative(piece, x):
    """Integral of one piece from 0 to x."""
    a, b, c, d = piece
    return (((a / 4.0 * x + b / 3.0) * x + c / 2.0) * x + d) * x


@formula
def cubic_integral(piece, low, high):
    """Integral of one piece."""
    return antiderivative(piece, high) - antiderivative(piece, low)


def _energies() -> tuple[float, ...]:
    """Integrals of the passive curve from its first knot to each of them."""
    found = [0.0]
    for k, piece in enumerate(PASSIVE):
        found.append(found[-1] + antiderivative(piece, PASSIVE_KNOTS[k + 1]) - antiderivative(piece, PASSIVE_KNOTS[k]))
    return tuple(found)


PASSIVE_ENERGIES = _energies()


@formula
def passive(x):
    """Passive force for the normalized length, and its slope."""
    if x <= PASSIVE_KNOTS[0]:
        return 0.0, 0.0
    if x >= PASSIVE_KNOTS[2]:
        return 1.0 + STEEPEST * (x - PASSIVE_KNOTS[2]), STEEPEST
    return cubic(PASSIVE[0], x) if x < PASSIVE_KNOTS[1] else cubic(PASSIVE[1], x)


@formula
def passive_energy(x):
    """Integral of the passive curve up to the normalized length."""
    if x <= PASSIVE_KNOTS[0]:
        return 0.0
    if x < PASSIVE_KNOTS[1]:
        return cubic_integral(PASSIVE[0], PASSIVE_KNOTS[0], x)
    if x < PASSIVE_KNOTS[2]:
        return PASSIVE_ENERGIES[1] + cubic_integral(PASSIVE[1], PASSIVE_KNOTS[1], x)
    beyond = x - PASSIVE_KNOTS[2]
    return PASSIVE_ENERGIES[2] + beyond * (1.0 + 0.5 * STEEPEST * beyond)


@formula
def active(x):
    """Active force for the normalized length, and its slope."""
    if x <= ACTIVE_KNOTS[0] or x >= ACTIVE_KNOTS[3]:
        return 0.0, 0.0
    if x < ACTIVE_KNOTS[1]:
        return cubic(ACTIVE[0], x)
    return cubic(ACTIVE[1], x) if x < ACTIVE_KNOTS[2] else cubic(ACTIVE[2], x)


@formula
def velocity(x):
    """Factor of the active force for the normalized velocity (positive for lengthening fibers), and its slope."""
    if x <= VELOCITY_KNOTS[0]:
        return 0.0, 0.0
    if x >= VELOCITY_KNOTS[3]:
        return FASTEST, 0.0
    if x < VELOCITY_KNOTS[1]:
        return cubic(VELOCITY[0], x)
    return cubic(VELOCITY[1], x) if x < VELOCITY_KNOTS[2] else cubic(VELOCITY[2], x)
