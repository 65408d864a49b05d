"""Pareto fronts by NSGA-II of pymoo, a genetic algorithm that sorts points by domination.

Each generation is one call of `Trials.evaluate`: its runs are independent.  Runs that violate constraints come after
all others, by the sums of their relative violations, and runs that fail come last.  The algorithm ends on the front of
all runs so far, which only improves: changes of a population are mostly those of its random points.

Source: Deb, Pratap, Agarwal and Meyarivan, IEEE Trans. Evol. Comput. 6 (2002).
"""

from __future__ import annotations

import math
from itertools import count

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.studies.optimize.algorithms import Ending
from multibody_cli.studies.optimize.pareto import not_dominated
from multibody_cli.studies.optimize.problem import Problem
from multibody_cli.studies.optimize.trials import Trial, Trials

POPULATION = 4
"""Size of the population, relative to the number of points that the user asks for."""

GENERATIONS = 10
"""Number of generations over which the change of the front is measured."""

CHANGE = 0.005
"""Change of the front, relative to its extent, at which the algorithm ends."""


def evolve_front(trials: Trials, problem: Problem, start: Floats, points: int, seed: int) -> Ending:
    """Make the trials of a population that approaches a front.

    Parameters
    ----------
    trials, problem
        The problem, whose parameters have finite bounds.
    start
        Values (n,) of the parameters of one point of the first generation; the others are random.
    points, seed
        A quarter of the size of the population, and the seed of random points.

    Raises
    ------
    Stopped, Exhausted
        As in `Trials.evaluate`.
    """
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.config import Config
    from pymoo.core import problem as pymoo
    from pymoo.core.termination import NoTermination

    Config.warnings["not_compiled"] = False
    (low, high), objectives, size = problem.bounds, len(problem.objectives), POPULATION * points
    random = np.random.default_rng(seed).random((size - 1, len(low)))
    algorithm = NSGA2(size, np.vstack([(start - low) / (high - low), random]), seed=seed)
    unit_cube = pymoo.Problem(n_var=len(low), n_obj=objectives, n_ieq_constr=1, xl=0.0, xu=1.0)
    algorithm.setup(unit_cube, termination=NoTermination())
    front: list[Trial] = []
    fronts: list[Floats] = []
    for generation in count():
        asked = algorithm.ask()
        found = trials.evaluate([np.clip(low + z * (high - low), low, high) for z in asked.get("X")])
        asked.set("F", np.array([one.numbers[:objectives] for one in found]))
        asked.set("G", np.array([[problem.violation(one.numbers)] for one in found]))
        algorithm.tell(infills=asked)
        front = not_dominated([*front, *filter(lambda one: problem.is_feasible(one.numbers), found)], objectives)
        fronts.append(np.array([one.numbers[:objectives] for one in front]).reshape(-1, objectives))
        if generation >= GENERATIONS and _change(fronts) <= CHANGE:
            break
    return Ending(True, f"the front changed by less than {CHANGE:.1%} of its extent in {GENERATIONS} generations")


def _change(fronts: list[Floats]) -> float:
    """Return the mean distance of the points of the last front (k, m) from the front that it is compared with.

    It is relative to the extent of the front, or where this is one point, to that of all fronts.
    """
    from scipy.spatial import KDTree

    old, new = fronts[-1 - GENERATIONS], fronts[-1]
    if not len(old):
        return math.inf
    extents = np.ptp(new, axis=0), np.ptp(np.concatenate(fronts), axis=0)
    extent = np.select([one > 0.0 for one in extents], extents, 1.0)
    return float(KDTree(old / extent).query(new / extent)[0].mean())
