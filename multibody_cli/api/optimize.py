"""Optimization of parameters of a scene."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

from multibody_cli.api.scene import Overrides, option_texts, source_of, warn_of
from multibody_cli.errors import ArgumentError
from multibody_cli.studies.optimize.algorithms import ALGORITHMS, local_algorithm
from multibody_cli.studies.optimize.execution import Executor
from multibody_cli.studies.optimize.problem import read_problem
from multibody_cli.studies.optimize.study import Optimum, Search, plan, write_best
from multibody_cli.studies.optimize.study import optimize as execute

Values = str | float | Sequence[str | float]
"""Start of a parameter, or its start and its bounds: `2.5`, `"30 deg"`, `(2.5, 1.5, 4)`, `"30 deg, 5, 85"`."""


def optimize(
    source: str | PathLike[str],
    minimize: str | Sequence[str] = (),
    vary: Mapping[str, Values] | None = None,
    *,
    least_squares: str | Sequence[str] = (),
    subject_to: Sequence[str] = (),
    algorithm: str | None = None,
    exact: bool = True,
    seed: int = 0,
    points: int = 11,
    runs: int = 2000,
    jobs: int | None = None,
    dask: str | None = None,
    overrides: Overrides = (),
    state: str | None = None,
    output: str | PathLike[str] | None = None,
    plot: str | PathLike[str] | None = None,
    write: str | PathLike[str] | None = None,
    overwrite: bool = False,
) -> Optimum:
    """Find the values of parameters with which an expression of the channels of a run is least.

    `mbsim optimize` does the same.

    Parameters
    ----------
    source, overrides, state
        As for `load`.
    minimize
        `EXPRESSION[@REDUCTION]`, in SI units, as in `"bodies.pen.position.x**2@max"`; several give a Pareto front.
    vary
        Keys of the scene with their starts, or with start, lower and upper bound, in one unit.
    least_squares
        Expressions whose squares at all output instants are minimized, instead of `minimize`.
    subject_to
        Constraints, as in `["joints.hinge.q@max <= 30 deg"]`.
    algorithm
        `slsqp`, `l-bfgs-b`, `cobyqa`, `nelder-mead`, `trf`, `differential-evolution`, or for several objectives
        `nsga2`; by default `slsqp`, or `trf` for least squares without constraints.
    exact
        Whether derivatives are exact where the run can be differentiated; else they are differences of runs.
    seed
        Seed of random points.
    points
        Number of values of each objective but the first on a Pareto front; the population of `nsga2` is 4 times as
        large.
    runs
        Largest number of runs.
    jobs, dask
        Number of processes of this machine, or the address of a Dask cluster; None for one process for each core.
    output
        Path of the table of all runs; an interrupted optimization continues from it.  None writes no table.
    plot, write
        Paths of a picture of the convergence, and of a scene with the best values; None writes none.
    overwrite
        Whether to replace existing files.

    Returns
    -------
    Optimum
        `x`, the best values by their keys, in the units of their starts; `values`, the numbers of the best run, in SI
        units; `runs`, a dataset of all runs; `status` and `message`; `front`, the trials of a Pareto front, with
        `parameters(trial)` and `numbers(trial)`.

    Raises
    ------
    SceneError
        The scene with the first values is invalid.
    ArgumentError
        An expression, a parameter, a constraint, an option or a file cannot be used.
    RunFailed
        The run at the start failed, or a file cannot be written.
    """
    if not isinstance(vary, Mapping) or not vary:
        raise ArgumentError(f'expected parameters with their starts, as in {{"vars.k": 2.0}}, found {vary!r}')
    if isinstance(subject_to, str):
        raise ArgumentError(f'subject_to: expected a list of texts, as in ["{subject_to}"]')
    if algorithm is not None and algorithm not in ALGORITHMS:
        raise ArgumentError(f"algorithm: expected one of {', '.join(ALGORITHMS)}, found {algorithm!r}")
    if jobs is not None and dask is not None:
        raise ArgumentError("jobs is the number of processes of this machine, and dask uses others: use one of them")
    for target in (plot, write):
        if target is not None and Path(target).exists() and not overwrite:
            raise ArgumentError(f"{target} exists: use overwrite=True to replace it, or choose another name")
    goals, squares = ([one] if isinstance(one, str) else one for one in (minimize, least_squares))
    starts = [f"{key}={_as_text(value)}" for key, value in vary.items()]
    problem = read_problem(starts, goals, squares, subject_to)
    search = Search(algorithm or local_algorithm(problem), exact, seed, points, runs)
    study, first = plan(source_of(source), option_texts(overrides, state), problem, search)
    warn_of((*first.loaded.warnings, *first.compiled.warnings))
    first.load_kernels()
    with TemporaryDirectory() as folder, Executor(jobs, dask) as executor:
        found = execute(study, Path(output or Path(folder) / "runs.h5"), executor, overwrite)
    if plot is not None:
        from multibody_cli.pictures.optimization import draw_optimization
        from multibody_cli.pictures.style import save

        save(draw_optimization(found), Path(plot))
    if write is not None and found.best is not None:
        write_best(found, Path(write))
    return found


def _as_text(value: Values) -> str:
    """Return start and bounds as `--vary` has them."""
    parts = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    return ",".join(map(str, parts))
