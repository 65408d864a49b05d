"""The curves of muscles as arrays: piecewise polynomials of degree five, with their integrals, and their kernels.

A curve has cells of equal width, each with the first of the pieces that it meets, so that a search is short.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import Floats, Integers, Records, formula, frozen, records
from multibody_cli.symbolic.tables import Piecewise

CURVE = np.dtype(
    [
        ("last", "i8"),  # its last piece
        ("cell", "i8"),  # its first cell
        ("cells", "i8"),
        ("start", "f8"),
        ("scale", "f8"),  # cells for each unit of x
    ]
)

TERMS = 6
"""Coefficients of a piece; its last column is the integral from x = 1 to its knot."""


class CurveArrays(NamedTuple):
    """All curves of a model."""

    table: Records  # of `CURVE`
    knots: Floats  # (p,) of the pieces; the first piece of a curve has no start, and the last one no end
    pieces: Floats  # (p, TERMS + 1) coefficients, lowest power of x - knot first, and integral up to the knot
    cells: Integers  # (c,) piece at the start of each cell


def without_curves(curves: CurveArrays, numbers: Integers) -> CurveArrays:
    """Return the arrays with the value 0 of these curves."""
    pieces, last = curves.pieces.copy(), curves.table["last"]
    for number in numbers:
        pieces[last[number - 1] + 1 if number else 0 : last[number] + 1] = 0.0
    return curves._replace(pieces=frozen(pieces))


class CurvePacker:
    """Collects curves; equal ones are stored once."""

    def __init__(self) -> None:
        self._numbers: dict[Piecewise, int] = {}

    def add(self, curve: Piecewise) -> int:
        """Add a curve; its number."""
        return self._numbers.setdefault(curve, len(self._numbers))

    def pack(self) -> CurveArrays:
        """Return the arrays of all curves."""
        curves = list(self._numbers)
        table, cells, first = [], [np.zeros(0, np.int64)], 0
        for curve in curves:
            knots, count = np.array(curve.knots), 2 * len(curve.knots)
            start, end = knots[0], knots[-1]
            scale = count / (end - start)
            table.append((first + len(knots) - 1, sum(map(len, cells)), count, start, scale))
            places = np.searchsorted(knots[1:], start + np.arange(count) / scale, side="right")
            cells.append(first + np.maximum(places - 1, 0))  # one earlier: the start may be at round-off of a knot
            first += len(knots)
        return CurveArrays(
            records(np.array(table, CURVE)),
            frozen(np.concatenate([np.zeros(0), *(np.array(curve.knots) for curve in curves)])),
            frozen(np.concatenate([np.zeros((0, TERMS + 1)), *map(_with_integrals, curves)])),
            frozen(np.concatenate(cells)),
        )


def _with_integrals(curve: Piecewise) -> Floats:
    knots, given = np.array(curve.knots), np.array(curve.coefficients)
    rows = np.zeros((len(knots), TERMS + 1))
    rows[:, : given.shape[1]] = given
    powers = np.arange(1, TERMS + 1)
    for k in range(1, len(knots)):
        h = knots[k] - knots[k - 1]
        rows[k, TERMS] = rows[k - 1, TERMS] + float(np.sum(rows[k - 1, :TERMS] * h**powers / powers))
    one = int(np.searchsorted(knots[1:], 1.0, side="right"))
    rows[:, TERMS] -= rows[one, TERMS] + float(np.sum(rows[one, :TERMS] * (1.0 - knots[one]) ** powers / powers))
    return rows


# --- in kernels -----------------------------------------------------------------------------------------------------
@formula
def piece_at(curves, number, x):
    """Piece of a curve at x."""
    curve = curves.table[number]
    cell = int(min(max(0.0, (x - curve.start) * curve.scale), curve.cells - 1.0))
    piece = curves.cells[curve.cell + cell]
    while piece < curve.last and curves.knots[piece + 1] <= x:
        piece += 1
    return piece


@formula
def curve_at(curves, number, x):
    """Value of a curve at x, and its slope."""
    piece = piece_at(curves, number, x)
    s, c = x - curves.knots[piece], curves.pieces[piece]
    value = c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * (c[4] + s * c[5]))))
    slope = c[1] + s * (2.0 * c[2] + s * (3.0 * c[3] + s * (4.0 * c[4] + s * 5.0 * c[5])))
    return value, slope


@formula
def curve_integral(curves, number, x):
    """Integral of a curve from 1 to x."""
    piece = piece_at(curves, number, x)
    s, c = x - curves.knots[piece], curves.pieces[piece]
    even = c[1] / 2.0 + s * (c[2] / 3.0 + s * (c[3] / 4.0 + s * (c[4] / 5.0 + s * c[5] / 6.0)))
    return c[6] + s * (c[0] + s * even)
