"""Piecewise cubics by conditions: values, slopes and curvatures at the knots, and smoothness between pieces.

Source: Sueda, notes 1.9.4, (1.40)-(1.46); the passive curve passes through (1.7, 1), not (1.8, 1) as printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.forces.muscle_models.contract import CurvesSpec, MuscleCurves
from multibody_cli.symbolic.tables import Piecewise

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


class CubicSpec(CurvesSpec):
    """Piecewise cubics of Sueda's notes, which have no curve of the tendon."""

    type: Literal["cubic"]

    def published(self) -> MuscleCurves:
        """Return the curves of the notes."""
        return MuscleCurves(
            _piecewise(ACTIVE, ACTIVE_KNOTS, (0.0, 0.0), (0.0, 0.0)),
            _piecewise(VELOCITY, VELOCITY_KNOTS, (0.0, 0.0), (FASTEST, 0.0)),
            _piecewise(PASSIVE, PASSIVE_KNOTS, (0.0, 0.0), (1.0, STEEPEST)),
            None,
            lengths=(ACTIVE_KNOTS[0], ACTIVE_KNOTS[-1]),
            velocities=(VELOCITY_KNOTS[0], VELOCITY_KNOTS[-1]),
        )


def _piecewise(
    pieces: Sequence[tuple[float, ...]], knots: Sequence[float], before: Sequence[float], after: Sequence[float]
) -> Piecewise:
    """Return cubics between knots, with the lines before and after them."""
    rows = [
        (((a * x + b) * x + c) * x + d, (3.0 * a * x + 2.0 * b) * x + c, 3.0 * a * x + b, a)
        for (a, b, c, d), x in zip(pieces, knots, strict=False)
    ]
    lines = [(*line, 0.0, 0.0) for line in (before, after)]
    return Piecewise((knots[0], *knots), (lines[0], *rows, lines[1]))
