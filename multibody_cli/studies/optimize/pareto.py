"""Pareto fronts by the epsilon-constraint method.

Each objective is minimized alone; their values at these points span the front.  Then the first objective is minimized
while the others are at most the values of a grid between their extremes.  This also reaches the parts of a front that
are not convex.

Source: Haimes, Lasdon and Wismer, IEEE Trans. Systems, Man and Cybernetics 1 (1971).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.studies.optimize.algorithms import Ending, best_of
from multibody_cli.studies.optimize.problem import Constraint, Problem
from multibody_cli.studies.optimize.trials import Trial, Trials

Minimize = Callable[[Floats, int, Sequence[Constraint]], Ending]
"""Minimizes an objective from a start, subject to constraints."""


def trace_front(
    trials: Trials, problem: Problem, start: Floats, count: int, minimize: Minimize, front: list[Trial]
) -> Ending:
    """Make the trials of a front with `count` values of each objective but the first.

    Parameters
    ----------
    trials, problem
        The problem.
    start
        Values (n,) of the parameters.
    count
        Number of values, the extremes included.
    minimize
        The algorithm.
    front
        The points of the front, which are added as they are found.
    """
    endings, extremes = [], []
    for objective in range(len(problem.objectives)):
        endings.append(minimize(start, objective, problem.constraints))
        best = best_of(trials.all, problem, objective)
        if best is None:
            return endings[-1]
        extremes.append(best)
        front.append(best)
    table = np.array([one.numbers[: len(extremes)] for one in extremes])
    grids = [np.linspace(column.max(), column.min(), count)[1:-1] for column in table.T[1:]]
    for levels in itertools.product(*grids):
        others = [
            Constraint(kept.channel, kept, "<=", float(level))
            for kept, level in zip(problem.objectives[1:], levels, strict=True)
        ]
        limits = [*problem.constraints, *others]
        nearest = best_of(trials.all, problem, 0, limits)
        if nearest is not None:
            endings.append(minimize(nearest.values, 0, limits))
            front.append(best_of(trials.all, problem, 0, limits) or nearest)
    bad = next((one for one in endings if not one.converged), None)
    return bad or endings[-1]


def not_dominated(points: Sequence[Trial], count: int) -> list[Trial]:
    """Return the points that no other one equals or betters in all of `count` objectives, by the first objective."""
    table = np.array([one.numbers[:count] for one in points]).reshape(-1, count)
    found: list[int] = []
    for k in np.lexsort(table.T[::-1]):
        if not (table[found] <= table[k]).all(axis=1).any():
            found.append(k)
    return [points[k] for k in found]
