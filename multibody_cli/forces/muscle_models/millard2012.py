"""Millard's curves: quintic Bezier curves through given points, with given slopes.

A piece from (x0, y0) with the slope d0 to (x1, y1) with the slope d1 has double control points on both tangents, at the
share c of the way to their intersection.  The second derivative is continuous.  Pieces of degree five in x, through
points, slopes and curvatures of each curve at equal steps of its parameter, replace the curves: the largest difference
is 6e-10.

Source: Millard, Uchida, Seth and Delp, Flexing computational muscle: modeling and simulation of musculotendon dynamics,
J. Biomech. Eng. 135 (2013), and the parameters of its curves in OpenSim.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import comb
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from multibody_cli.forces.muscle_models.contract import CurvesSpec, MuscleCurves, NonNegative, Positive
from multibody_cli.forces.muscle_models.tabulation import Section, joined
from multibody_cli.kernel import Floats
from multibody_cli.spec import Fraction, Quantity, units
from multibody_cli.symbolic.tables import Piecewise

Point = tuple[float, float, float]
"""x, y and slope."""

_STEPS = 64
"""Pieces for each Bezier curve."""

_NEAR = 0.9
"""Velocity, relative to the largest one, with a slope of its own."""


class Millard2012Spec(CurvesSpec):
    """Curves of Millard et al. (2013), as in OpenSim."""

    type: Literal["millard2012"]
    shortest_length: Positive = Field(0.4441, description="Length of the fibers up to which the active force is least.")
    transition_length: Positive = Field(0.73, description="Length at which the ascending limb becomes shallow.")
    longest_length: Annotated[float, Quantity(units.NUMBER, above=1.0)] = Field(
        1.8123, description="Length from which the active force is least."
    )
    shallow_slope: Positive = Field(0.8616, description="Slope of the active force on the shallow ascending limb.")
    least_active_force: Fraction = Field(0.0, description="Least active force; 0.1 in OpenSim without damping.")
    isometric_slope: Positive = Field(5.0, description="Slope of the velocity curve at rest.")
    shortening_slope: NonNegative = Field(0.0, description="Slope at the largest velocity of shortening.")
    shortening_slope_near: NonNegative = Field(0.25, description="Slope at 0.9 of it.")
    lengthening_slope: NonNegative = Field(0.0, description="Slope at the largest velocity of lengthening.")
    lengthening_slope_near: NonNegative = Field(0.15, description="Slope at 0.9 of it.")
    lengthening_force: Annotated[float, Quantity(units.NUMBER, above=1.0)] = Field(
        1.4, description="Largest force of lengthening fibers."
    )
    shortening_curviness: Fraction = Field(0.6, description="Curviness of the velocity curve of shortening.")
    lengthening_curviness: Fraction = Field(0.9, description="Curviness of the velocity curve of lengthening.")
    passive_start: Annotated[float, Quantity(units.NUMBER, above=-1.0)] = Field(
        0.0, description="Strain of the fibers from which they have a passive force."
    )
    passive_strain: Positive = Field(0.7, description="Strain of the fibers at a passive force of 1.")
    passive_low_stiffness: Positive = Field(0.2, description="Stiffness of the fibers at a low passive force.")
    passive_stiffness: Positive | None = Field(
        None,
        description="Stiffness of the fibers at a passive force of 1. Default: 2/(passive_strain - passive_start).",
    )
    passive_curviness: Fraction = Field(0.75, description="Curviness of the passive force.")
    tendon_strain: Positive = Field(0.049, description="Strain of the tendon at a force of 1.")
    tendon_stiffness: Positive | None = Field(
        None, description="Stiffness of the tendon at a force of 1. Default: 1.375/tendon_strain."
    )
    tendon_toe_force: Fraction = Field(2.0 / 3.0, description="Force of the tendon from which it is linear.")
    tendon_curviness: Fraction = Field(0.5, description="Curviness of the toe region of the tendon.")

    def published(self) -> MuscleCurves:
        """Return the curves of the article."""
        shortest = self.shortest_length
        return MuscleCurves(
            self._active(),
            self._velocity(),
            self._passive(),
            self._tendon(),
            lengths=(shortest, self.longest_length) if self.least_active_force == 0.0 else (-np.inf, np.inf),
            velocities=(-1.0, 1.0) if self.shortening_slope == self.lengthening_slope == 0.0 else (-np.inf, np.inf),
            shortest=shortest,
            damping=0.1,
        )

    def _active(self) -> Piecewise:
        start, turn, end, low = (
            self.shortest_length,
            self.transition_length,
            self.longest_length,
            self.least_active_force,
        )
        width, slope = 0.05, self.shallow_slope
        y = 1.0 - slope * (1.0 - width - turn)
        steep = (start + 0.5 * (turn - start), 0.5 * y, 1.25 * y / (turn - start))
        shallow = (turn + 0.5 * (1.0 - width - turn), y + 0.5 * (1.0 - y), slope)
        fall = (1.0 + width + 0.5 * (end - 1.0 - width), 0.5, -1.0 / (end - width - (1.0 + width)))
        points = (start, low, 0.0), steep, shallow, (1.0, 1.0, 0.0), fall, (end, low, 0.0)
        return _through(points, (1.0,) * 5)

    def _velocity(self) -> Piecewise:
        most, rest = self.lengthening_force, 1.0 - _NEAR
        slow = 0.5 * rest * (self.shortening_slope + self.shortening_slope_near)
        fast = most - 0.5 * rest * (self.lengthening_slope + self.lengthening_slope_near)
        points = (
            (-1.0, 0.0, self.shortening_slope),
            (-_NEAR, slow, self.shortening_slope_near),
            (0.0, 1.0, self.isometric_slope),
            (_NEAR, fast, self.lengthening_slope_near),
            (1.0, most, self.lengthening_slope),
        )
        return _through(points, (self.shortening_curviness,) * 2 + (self.lengthening_curviness,) * 2)

    def _passive(self) -> Piecewise:
        start, end = 1.0 + self.passive_start, 1.0 + self.passive_strain
        stiffness, low = self.passive_stiffness or 2.0 / (end - start), self.passive_low_stiffness
        width = min(0.1 / stiffness, 0.1 * (end - start))
        points = (start, 0.0, 0.0), (start + width, 0.5 * width * low, low), (end, 1.0, stiffness)
        return _through(points, (self.passive_curviness,) * 2)

    def _tendon(self) -> Piecewise:
        end = 1.0 + self.tendon_strain
        stiffness, force = self.tendon_stiffness or 1.375 / self.tendon_strain, self.tendon_toe_force
        toe, middle = end + (force - 1.0) / stiffness, end + (0.5 * force - 1.0) / stiffness
        foot = 1.0 + (toe - 1.0) / 10.0
        slope = 0.5 * force / (middle - foot)
        corner = (foot + 0.5 * (middle - foot), 0.25 * force, slope)
        return _through(((1.0, 0.0, 0.0), corner, (toe, force, stiffness)), (self.tendon_curviness,) * 2)


@lru_cache(maxsize=256)
def _through(points: tuple[Point, ...], curviness: tuple[float, ...]) -> Piecewise:
    """Return Bezier curves through points with given slopes, each with its curviness from 0 to 1.

    Muscles often share a model, and each reads its curves several times.
    """
    curves = zip(pairwise(points), curviness, strict=True)
    return joined(*(_section(_control_points(start, end, 0.1 + 0.8 * c)) for (start, end), c in curves))


def _control_points(start: Point, end: Point, c: float) -> Floats:
    (x0, y0, d0), (x1, y1, d1) = start, end
    x = (y1 - y0 - x1 * d1 + x0 * d0) / (d0 - d1) if abs(d0 - d1) > 1e-8 else 0.5 * (x0 + x1)
    y = y1 + d1 * (x - x1)
    one, other = (x0 + c * (x - x0), y0 + c * (y - y0)), (x1 + c * (x - x1), y1 + c * (y - y1))
    return np.array([(x0, y0), one, one, other, other, (x1, y1)])


def _section(control: Floats) -> Section:
    u = np.linspace(0.0, 1.0, _STEPS + 1)
    (x, y), (dx, dy), (ddx, ddy) = (_bezier(points, u) for points in (control, *_hodographs(control)))
    return Section(x, np.column_stack([y, dy / dx, (ddy * dx - dy * ddx) / dx**3]))


def _hodographs(control: Floats) -> tuple[Floats, Floats]:
    first = 5.0 * np.diff(control, axis=0)
    return first, 4.0 * np.diff(first, axis=0)


def _bezier(control: Floats, u: Floats) -> Floats:
    degree = len(control) - 1
    weights = [comb(degree, k) * u**k * (1.0 - u) ** (degree - k) for k in range(degree + 1)]
    return np.array(control.T @ np.array(weights))
