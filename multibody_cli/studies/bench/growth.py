"""Growth of cost with size: the exponent p of cost ~ size^p, from a least-squares fit of logarithms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from multibody_cli.studies.bench.measurement import Measurement
from multibody_cli.studies.bench.setup import Setup

QUANTITIES = ("step", "evaluation")
"""Timings whose growth is fitted."""


@dataclass(frozen=True)
class Growth:
    """Exponent p of cost ~ size^p; for two sizes, without a standard error."""

    exponent: float
    standard_error: float | None

    def __str__(self) -> str:
        error = "" if self.standard_error is None else f" +- {self.standard_error:.3f}"
        return f"{self.exponent:.3f}{error}"


@dataclass(frozen=True)
class Series:
    """Measurements that differ in size only, and the fitted growth of each quantity."""

    name: str
    measurements: tuple[Measurement, ...]
    growth: dict[str, Growth]


def growth(sizes: Iterable[float], costs: Iterable[float]) -> Growth | None:
    """Fit the exponent; None for fewer than two different positive sizes."""
    points = [(math.log(size), math.log(cost)) for size, cost in zip(sizes, costs, strict=True) if size > 0]
    x, y = np.array(points).reshape(-1, 2).T
    if len(set(x)) < 2:
        return None
    dx = x - x.mean()
    exponent = float(dx @ y / (dx @ dx))
    residual = y - y.mean() - exponent * dx
    spare = len(x) - 2
    error = math.sqrt(float(residual @ residual) / spare / float(dx @ dx)) if spare else None
    return Growth(exponent, error)


def series_of(measurements: Sequence[Measurement]) -> list[Series]:
    """Group measurements at several sizes into series, and fit the growth of each."""
    sized = [one for one in measurements if one.size is not None]
    configurations = {_configuration(one): None for one in sized}
    # the shortest names that distinguish the series
    short = [(one.scene, one.method, one.integrator) for one in configurations]
    series = []
    for configuration, head in zip(configurations, short, strict=True):
        several = tuple(one for one in sized if _configuration(one) == configuration)
        unique = short.count(head) == 1
        words = head if unique else (*head, configuration.stepping, *configuration.settings)
        name = " ".join(word for word in words if word)
        fits = {quantity: _fit(several, quantity) for quantity in QUANTITIES}
        series.append(Series(name, several, {quantity: fit for quantity, fit in fits.items() if fit is not None}))
    return series


def _configuration(one: Measurement) -> Setup:
    """Setup of a measurement without its size."""
    return Setup(one.scene, one.method, one.integrator, one.time_step, one.tolerance, one.settings, None, one.size_key)


def _fit(several: Sequence[Measurement], quantity: str) -> Growth | None:
    return growth([one.size or 0.0 for one in several], [getattr(one, quantity).median for one in several])
