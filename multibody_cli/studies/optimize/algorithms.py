"""Algorithms of SciPy on the trials of a problem, and the table of all algorithms.

Parameters are scaled by their bounds, objectives and constraints by their sizes at the start.  A run that fails, as
where a loop cannot be assembled, is a bound: its objective is larger than all others, and its constraints are violated.

Sources: Kraft, A software package for sequential quadratic programming (1988); Byrd, Lu, Nocedal and Zhu, SIAM J. Sci.
Comput. 16 (1995); Ragonneau, Model-based derivative-free optimization methods and software (2022); Storn and Price, J.
Global Optim. 11 (1997).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.errors import RunFailed
from multibody_cli.immutable import Immutable
from multibody_cli.lanes.derivatives import Unsupported
from multibody_cli.model import Floats
from multibody_cli.studies.optimize.problem import INEQUALITIES, RELATIONS, Constraint, Problem
from multibody_cli.studies.optimize.trials import Trial, Trials

BARRIER = 1e3
"""Scaled objective of a run that fails, where an algorithm needs a finite one."""


class Functions:
    """An objective, the constraints and their derivatives as functions of scaled parameters.

    Parameters
    ----------
    trials, problem
        The trials of a problem.
    objective
        Index of the objective.
    constraints
        The constraints.
    start
        The trial at the start, by which objective and constraints are scaled.
    failed
        Scaled objective of a run that fails.
    exact
        Whether derivatives are exact; else differences of runs.
    """

    def __init__(
        self,
        trials: Trials,
        problem: Problem,
        objective: int,
        constraints: Sequence[Constraint],
        start: Trial,
        failed: float,
        exact: bool,
    ) -> None:
        self._trials, self._failed, self._exact = trials, failed, exact
        low, high = problem.bounds
        finite = np.isfinite(high - low)
        scales = np.array([one.scale for one in problem.parameters])
        self._origin, self._scales = np.where(finite, low, 0.0), np.where(finite, high - low, scales)
        self.bounds = (low - self._origin) / self._scales, (high - self._origin) / self._scales
        self._constraints = constraints
        places = [problem.kept.index(one.kept) for one in constraints]
        self._rows = np.array([objective, *places])
        sizes = np.nan_to_num(np.abs(start.numbers[self._rows]))
        sizes[1:] = np.maximum(sizes[1:], np.abs([one.bound for one in constraints]))
        self._sizes = np.where(sizes > 0.0, sizes, 1.0)
        self._residuals = slice(len(problem.reduced), None)
        self._root = np.sqrt(self._sizes[0])  # the sum of squares of scaled residuals is the scaled objective
        self._signs = np.array([1.0, *(one.sign for one in constraints)])
        self._bounds = np.array([0.0, *(one.bound for one in constraints)])

    def scaled(self, values: Floats) -> Floats:
        """Return scaled parameters (n,) of values."""
        return np.asarray((values - self._origin) / self._scales)

    def values(self, z: Floats) -> Floats:
        """Return the values (n,) of scaled parameters, within the bounds."""
        return np.asarray(self._origin + self._scales * np.clip(z, *self.bounds))

    def both(self, points: Floats) -> Floats:
        """Return the scaled objective and margins (1 + c, S) at points (n, S)."""
        trials = self._trials.evaluate([self.values(z) for z in points.T], self._exact)
        return np.array([self._of(trial) for trial in trials]).reshape(len(trials), len(self._rows)).T

    def objective(self, z: Floats) -> Any:
        """Return the scaled objective at a point (n,), or at points (n, S)."""
        found = self.both(z.reshape(len(z), -1))[0]
        return found if z.ndim == 2 else float(found[0])

    def margins(self, z: Floats) -> Floats:
        """Return the scaled margins (c,) of the constraints at a point, or (c, S) at points."""
        found = self.both(z.reshape(len(z), -1))[1:]
        return found if z.ndim == 2 else found[:, 0]

    def _of(self, trial: Trial) -> Floats:
        if not np.isfinite(trial.numbers).all():
            return np.array([self._failed, *([-1.0] * len(self._constraints))])
        return np.asarray(self._signs * (trial.numbers[self._rows] - self._bounds) / self._sizes)

    def slopes(self, z: Floats) -> Floats:
        """Return the derivatives (1 + c, n) of the scaled objective and margins; 0 where the run fails."""
        return np.asarray((self._signs / self._sizes)[:, None] * self._jacobian(z)[self._rows] * self._scales)

    def _jacobian(self, z: Floats) -> Floats:
        """Return the derivatives (m, n) of all numbers with respect to the parameters; 0 where the run fails."""
        values = self.values(z)
        (trial,) = self._trials.evaluate([values], self._exact)
        if not np.isfinite(trial.numbers).all():
            return np.zeros((len(trial.numbers), len(z)))
        return self._trials.differences(values) if trial.jacobian is None else trial.jacobian

    def residuals(self, z: Floats) -> Floats:
        """Return the scaled residuals (r,) at a point (n,); infinite where the run fails, so that a step is shorter."""
        (trial,) = self._trials.evaluate([self.values(z)], self._exact)
        return np.asarray(np.nan_to_num(trial.numbers[self._residuals] / self._root, nan=np.inf))

    def residual_slopes(self, z: Floats) -> Floats:
        """Return the derivatives (r, n) of the scaled residuals at a point where the run does not fail."""
        return np.asarray(self._jacobian(z)[self._residuals] / self._root * self._scales)

    def gradient(self, z: Floats) -> Floats:
        """Return the gradient (n,) of the scaled objective."""
        found: Floats = self.slopes(z)[0]
        return found

    def jacobian(self, z: Floats) -> Floats:
        """Return the derivatives (c, n) of the margins."""
        return self.slopes(z)[1:]

    def scipy_constraints(self, with_derivatives: bool) -> list[Any]:
        """Return the constraints as SciPy has them."""
        from scipy.optimize import NonlinearConstraint

        equal = np.array([one.relation == "==" for one in self._constraints], bool)
        found = []
        for some, upper in ((equal, 0.0), (~equal, np.inf)):
            if some.any():
                derivatives = {"jac": lambda z, some=some: self.jacobian(z)[some]} if with_derivatives else {}
                bound = np.full(int(some.sum()), upper)
                margins = lambda z, some=some: self.margins(z)[some]  # noqa: E731
                found.append(NonlinearConstraint(margins, np.zeros(len(bound)), bound, **derivatives))
        return found


class Ending(NamedTuple):
    """How an algorithm ended: whether it converged, and its message."""

    converged: bool
    message: str


class Algorithm(Immutable):
    """An algorithm.

    Parameters
    ----------
    description
        A sentence.
    derivatives, everywhere
        Whether it needs derivatives; whether it searches between all bounds instead of from the start.
    relations
        Relations of the constraints that it takes; with none, it takes no further objectives either.
    options
        Options of `scipy.optimize.minimize`.
    failed
        Objective of a run that fails.
    at_round_off
        Codes of SciPy that mean that round-off exceeds the decrease that is left.
    residuals
        Whether it minimizes a sum of squares by its residuals.
    front
        Whether it takes several objectives at once, and makes a Pareto front of them.
    package, extra
        The package that has it, and the extra that installs this package; empty for one that is always there.
    """

    description: str
    derivatives: bool
    relations: tuple[str, ...]
    options: dict[str, Any]
    everywhere: bool = False
    failed: float = np.inf
    at_round_off: tuple[int, ...] = ()
    residuals: bool = False
    front: bool = False
    package: str = "scipy"
    extra: str = ""

    def minimize(self, name: str, functions: Functions, start: Floats, seed: int) -> Ending:
        """Minimize from scaled parameters (n,)."""
        if self.residuals:
            return _by_residuals(self, name, functions, start)
        return _everywhere(functions, seed) if self.everywhere else _from_start(self, name, functions, start)


def _from_start(algorithm: Algorithm, name: str, functions: Functions, start: Floats) -> Ending:
    from scipy.optimize import Bounds, minimize

    found = minimize(
        functions.objective,
        start,
        method=name,
        jac=functions.gradient if algorithm.derivatives else None,
        bounds=Bounds(*functions.bounds),
        constraints=functions.scipy_constraints(algorithm.derivatives),
        options=algorithm.options,
    )
    return Ending(bool(found.success) or found.status in algorithm.at_round_off, str(found.message))


def _by_residuals(algorithm: Algorithm, name: str, functions: Functions, start: Floats) -> Ending:
    from scipy.optimize import least_squares

    found = least_squares(
        functions.residuals, start, functions.residual_slopes, functions.bounds, name, **algorithm.options
    )
    return Ending(bool(found.success), str(found.message))


def _everywhere(functions: Functions, seed: int) -> Ending:
    from scipy.optimize import Bounds, differential_evolution

    found = differential_evolution(
        functions.objective,
        Bounds(*functions.bounds),
        constraints=functions.scipy_constraints(False),
        vectorized=True,
        updating="deferred",
        polish=False,
        popsize=8,
        maxiter=10_000,
        tol=1e-3,
        rng=seed,
    )
    return Ending(bool(found.success), str(found.message))


ALGORITHMS: dict[str, Algorithm] = {
    "slsqp": Algorithm(
        "Sequential quadratic programming.",
        True,
        RELATIONS,
        {"ftol": 1e-14, "maxiter": 1000},
        failed=BARRIER,
        at_round_off=(8,),
    ),
    "l-bfgs-b": Algorithm(
        "Quasi-Newton method.", True, (), {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}, failed=BARRIER
    ),
    "cobyqa": Algorithm(
        "Quadratic models, without derivatives.",
        False,
        RELATIONS,
        {"initial_tr_radius": 0.1, "final_tr_radius": 1e-8},
        failed=BARRIER,
    ),
    "nelder-mead": Algorithm(
        "Simplex, without derivatives.",
        False,
        (),
        {"xatol": 1e-8, "fatol": 1e-15, "maxfev": 10**6, "maxiter": 10**6, "adaptive": True},
    ),
    "trf": Algorithm(
        "Trust region of least squares, by Gauss-Newton steps within bounds.",
        True,
        (),
        {"ftol": 1e-14, "xtol": 1e-12, "gtol": 1e-14, "max_nfev": 1000, "x_scale": "jac"},
        residuals=True,
    ),
    "differential-evolution": Algorithm(
        "Population between all bounds, refined by the local algorithm.", False, INEQUALITIES, {}, everywhere=True
    ),
    "nsga2": Algorithm(
        "Population between all bounds, sorted by domination.",
        False,
        INEQUALITIES,
        {},
        everywhere=True,
        front=True,
        package="pymoo",
        extra="optimize",
    ),
}
"""Algorithms by name; those from a start by that of SciPy."""

LOCAL = "slsqp"
"""The algorithm by default, and that which refines the best of a population, without residuals."""


def local_algorithm(problem: Problem) -> str:
    """Return the algorithm by default, which also refines the best of a population."""
    return "trf" if problem.residuals and not problem.constraints else LOCAL


def minimize(
    trials: Trials,
    problem: Problem,
    name: str,
    start: Floats,
    objective: int,
    limits: Sequence[Constraint],
    exact: bool = True,
    seed: int = 0,
) -> Ending:
    """Minimize one objective, and note in the trials how derivatives are computed.

    Parameters
    ----------
    trials, problem
        The problem.
    name
        A key of `ALGORITHMS`.
    start
        Values (n,) of the parameters.
    objective, limits
        Index of the objective, and the constraints.
    exact, seed
        Whether derivatives are exact where they can be computed, and the seed of random points.

    Raises
    ------
    RunFailed
        The run at the start failed, and the algorithm begins there.
    Stopped, Exhausted
        As in `Trials.evaluate`.
    """
    algorithm, wanted = ALGORITHMS[name], exact
    exact = exact and algorithm.derivatives
    trials.derivatives = "exact derivatives" if exact else "differences of runs" if algorithm.derivatives else ""
    try:
        (first,) = trials.evaluate([start], exact)
    except Unsupported as reason:
        trials.derivatives, exact = f"differences of runs: {reason}", False
        (first,) = trials.evaluate([start])
    if first.reason and not algorithm.everywhere:
        raise RunFailed(f"at the start, {first.reason}; start elsewhere, or use --algorithm differential-evolution")
    functions = Functions(trials, problem, objective, limits, first, algorithm.failed, exact)
    ending = algorithm.minimize(name, functions, functions.scaled(start), seed)
    if algorithm.everywhere and (best := best_of(trials.all, problem, objective, limits)) is not None:
        return minimize(trials, problem, local_algorithm(problem), best.values, objective, limits, wanted, seed)
    return ending


def best_of(
    trials: Sequence[Trial], problem: Problem, objective: int, limits: Sequence[Constraint] | None = None
) -> Trial | None:
    """Return the trial with the least objective among those that satisfy the constraints, or other limits."""
    feasible = [one for one in trials if problem.is_feasible(one.numbers, limits)]
    return min(feasible, key=lambda one: float(one.numbers[objective]), default=None)
