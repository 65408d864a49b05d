"""Smooth functions as pieces of degree five, with the values, slopes and curvatures of the function at the knots."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from multibody_cli.expressions import FORMULA, parse
from multibody_cli.kernel import Floats
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.evaluation import evaluate
from multibody_cli.symbolic.reading import formula_of
from multibody_cli.symbolic.scalar import fresh_graph, name
from multibody_cli.symbolic.tables import Piecewise


class Section(NamedTuple):
    """A smooth part of a curve.

    Parameters
    ----------
    knots
        (n,) in ascending order.
    jets
        (n, 3) value, slope and curvature at each knot.
    """

    knots: Floats
    jets: Floats


def written(text: str, knots: Floats, numbers: Mapping[str, float]) -> Section:
    """Return the section of an expression of x and of named numbers."""
    with fresh_graph():
        x = name("x")
        value = formula_of(parse(text, FORMULA), {"x": x, **numbers})
        [slope] = differentiate([value], {x: 1.0})
        [curvature] = differentiate([slope], {x: 1.0})
        columns = evaluate([value, slope, curvature], {"x": knots})
    return Section(knots, np.column_stack([np.broadcast_to(one, knots.shape) for one in columns]))


def joined(*sections: Section) -> Piecewise:
    """Return sections one after the other as a curve, which its tangents continue at both ends."""
    first, last = sections[0], sections[-1]
    knots, rows = [first.knots[0]], [[first.jets[0, 0], first.jets[0, 1], 0.0, 0.0, 0.0, 0.0]]
    for section in sections:
        for k, (start, end) in enumerate(pairwise(section.knots)):
            knots.append(start)
            rows.append(_quintic(end - start, section.jets[k], section.jets[k + 1]))
    knots.append(last.knots[-1])
    rows.append([last.jets[-1, 0], last.jets[-1, 1], 0.0, 0.0, 0.0, 0.0])
    return Piecewise(tuple(map(float, knots)), tuple(tuple(map(float, row)) for row in rows))


def _quintic(h: float, start: Floats, end: Floats) -> list[float]:
    """Return the polynomial over a length h with given values, slopes and curvatures at both ends."""
    a, b, c = start[0], start[1], 0.5 * start[2]
    value = (end[0] - (a + h * (b + h * c))) / h**3
    slope = (end[1] - (b + 2.0 * h * c)) / h**2
    curvature = (end[2] - 2.0 * c) / h
    return [
        a,
        b,
        c,
        10.0 * value - 4.0 * slope + 0.5 * curvature,
        (-15.0 * value + 7.0 * slope - curvature) / h,
        (6.0 * value - 3.0 * slope + 0.5 * curvature) / h**2,
    ]
