"""Picture of an optimization: the best objective over the runs, and the Pareto front."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multibody_cli.errors import shortened
from multibody_cli.pictures.style import STYLES, Style, escape_mathtext, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from multibody_cli.studies.optimize.study import Optimization, Optimum


LONGEST_NAME = 40
"""Number of characters of an expression on an axis."""


def draw_optimization(found: Optimum, style: Style = STYLES["screen"]) -> Figure:
    """Draw the convergence of each objective, and the first two of several objectives against each other."""
    study = found.study
    count = len(study.problem.objectives)
    panels = count + (count > 1)
    figure = new_figure(5.0 * min(panels, 3) + 1.0, 3.6 * -(-panels // 3), style)
    axes = figure.subplots(-(-panels // 3), min(panels, 3), squeeze=False).ravel()
    for empty in axes[panels:]:
        empty.set_visible(False)
    for k in range(count):
        _draw_convergence(axes[k], study, found, k)
    if count > 1:
        _draw_front(axes[count], study, found)
    return figure


def _draw_convergence(axes: Axes, study: Optimization, found: Optimum, k: int) -> None:
    runs = np.array([one.number for one in found.trials])
    values = np.array([one.numbers[k] for one in found.trials])
    feasible = np.array([study.problem.is_feasible(one.numbers) for one in found.trials], bool)
    axes.plot(runs[feasible], values[feasible], "o", markersize=3.0, label="runs")
    if study.problem.constraints:
        axes.plot(runs[~feasible], values[~feasible], "x", markersize=4.0, label="runs that violate a constraint")
    if feasible.any():
        best = np.minimum.accumulate(np.where(feasible, values, np.inf))
        known = np.isfinite(best)
        axes.step(runs[known], best[known], where="post", label="best")
    axes.set(xlabel="run", ylabel=_name(study, k))
    if len(values[feasible]) and (values[feasible] > 0.0).all():
        axes.set_yscale("log")
    axes.legend()


def _draw_front(axes: Axes, study: Optimization, found: Optimum) -> None:
    """Draw the runs; no run is better than one of the front in all objectives."""
    from multibody_cli.studies.optimize.pareto import not_dominated

    some = [one for one in found.trials if study.problem.is_feasible(one.numbers)]
    front = not_dominated(some, len(study.problem.objectives))
    for points, look, label in ((some, "o", "runs"), (front, "o-", "Pareto front")):
        numbers = np.array([one.numbers for one in points]).reshape(-1, len(study.columns))
        axes.plot(numbers[:, 0], numbers[:, 1], look, markersize=3.0, label=label)
    axes.set(xlabel=_name(study, 0), ylabel=_name(study, 1))
    axes.legend()


def _name(study: Optimization, k: int) -> str:
    return escape_mathtext(shortened(study.columns[k].name, LONGEST_NAME))
