"""An optimization: its definition, its execution, its table and its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from multibody_cli.document.source import UnreadScene, read_scene
from multibody_cli.errors import ArgumentError, SceneError
from multibody_cli.immutable import Immutable, asdict, replace
from multibody_cli.model import Floats, Integers
from multibody_cli.nodes import plain
from multibody_cli.output.file_replacement import write_text
from multibody_cli.output.row_file import RowFile, row_file_path
from multibody_cli.output.rows import Column
from multibody_cli.output.sweep_table import KeyValues, write_sweep_table
from multibody_cli.studies.fit import ASSEMBLED
from multibody_cli.studies.optimize.algorithms import ALGORITHMS, LOCAL, Ending, best_of, minimize
from multibody_cli.studies.optimize.genetic import evolve_front
from multibody_cli.studies.optimize.pareto import not_dominated, trace_front
from multibody_cli.studies.optimize.problem import Constraint, Problem, columns_of, require_units
from multibody_cli.studies.optimize.trials import Execute, Exhausted, Stopped, Trial, Trials
from multibody_cli.studies.simulation import PreparedSimulation, prepare
from multibody_cli.studies.sweep.batch import SweepTask, forget_scene
from multibody_cli.studies.sweep.definition import attributes_of, digest_of, require_own_table
from multibody_cli.studies.sweep.sweep import COMPLETE, INTERRUPTED

if TYPE_CHECKING:
    import xarray

Status = Literal["converged", "not converged", "interrupted"]


class Search(Immutable):
    """How a problem is solved.

    Parameters
    ----------
    algorithm
        A key of `ALGORITHMS`.
    exact
        Whether derivatives are exact where they can be computed; else differences of runs.
    seed
        Seed of random points.
    points
        Number of values of each objective but the first on a Pareto front; a quarter of a population.
    most
        Largest number of runs.
    """

    algorithm: str = LOCAL
    exact: bool = True
    seed: int = 0
    points: int = 11
    most: int = 2000


class Optimization(Immutable):
    """An optimization that is ready to be executed.

    Parameters
    ----------
    problem, task, columns
        The problem, the common part of its runs, and the columns of its numbers.
    name
        Name of the scene.
    search
        How it is solved.
    """

    problem: Problem
    task: SweepTask
    columns: tuple[Column, ...]
    name: str
    search: Search

    @property
    def start(self) -> Floats:
        """First values (n,) of the parameters."""
        return np.array([one.start for one in self.problem.parameters])

    def attributes(self, status: str) -> dict[str, str | int]:
        """Return the attributes of the table."""
        definition = {
            "set": self.task.overrides,
            "vary": [asdict(one) for one in self.problem.parameters],
            "minimize": [column.name for column in self.columns[: len(self.problem.objectives)]],
            "subject_to": [one.text for one in self.problem.constraints],
            "least_squares": [one.channel for one in self.problem.residuals],
            "algorithm": self.search.algorithm,
        }
        return attributes_of(self.name, self.task.digest, self.search.most, definition) | {"status": status}


class Optimum(Immutable, eq=False):
    """Result of an optimization.

    Parameters
    ----------
    study
        The optimization.
    status, message
        `converged`, `not converged` or `interrupted`; and the message of the algorithm.
    best
        The feasible trial with the least first objective; None if there is none.
    front
        With several objectives, the trials of the Pareto front.
    trials
        All trials.
    executed
        Number of runs that were executed, without those of an earlier, interrupted execution.
    derivatives
        How derivatives were computed; empty without any.
    settings
        Further overrides that the scene needs with the best values.
    """

    study: Optimization
    status: Status
    message: str
    best: Trial | None
    front: tuple[Trial, ...]
    trials: tuple[Trial, ...]
    executed: int
    derivatives: str
    settings: tuple[str, ...]

    @property
    def x(self) -> dict[str, float]:
        """The best values of the parameters by their keys, in the units of their starts; empty if there is no best."""
        return {} if self.best is None else self.parameters(self.best)

    @property
    def values(self) -> dict[str, float]:
        """The objectives and constrained numbers of the best run, in SI units; empty if there is no best."""
        return {} if self.best is None else self.numbers(self.best)

    def parameters(self, trial: Trial) -> dict[str, float]:
        """Return the parameters of a trial by their keys, in the units of their starts."""
        keys = (one.key for one in self.study.problem.parameters)
        return dict(zip(keys, trial.values.tolist(), strict=True))

    def numbers(self, trial: Trial) -> dict[str, float]:
        """Return the objectives and constrained numbers of a trial by their names, in SI units."""
        names = (column.name for column in self.study.columns)
        return dict(zip(names, trial.numbers.tolist(), strict=True))

    @property
    def runs(self) -> xarray.Dataset:
        """All runs: parameters and numbers with their units and dimension `run`; and `reason` of those that failed."""
        from multibody_cli.output.dataset import dataset_of_columns

        keys = [Column(one.key, one.unit, f"Value of `{one.key}`.") for one in self.study.problem.parameters]
        about = Column("reason", "", "Why the run failed; empty if it did not.")
        tables = [np.array([getattr(one, name) for one in self.trials]).T for name in ("values", "numbers")]
        return dataset_of_columns(
            "run",
            [*keys, *self.study.columns, about],
            [*tables[0], *tables[1], np.array([one.reason for one in self.trials])],
        )


def plan(
    scene: UnreadScene, overrides: Sequence[str], problem: Problem, search: Search
) -> tuple[Optimization, PreparedSimulation]:
    """Check an optimization before it is executed; also return the run at the start.

    Raises
    ------
    SceneError
        The scene with the first values is invalid.
    ArgumentError
        A channel does not exist, or the algorithm cannot solve the problem.
    """
    algorithm = search.algorithm
    kind, several = ALGORITHMS[algorithm], len(problem.objectives) > 1
    others = {name: one for name, one in ALGORITHMS.items() if several or not one.front}
    refused = [one for one in problem.constraints if one.relation not in kind.relations]
    if (refused or several) and not kind.relations:
        able = ", ".join(name for name, one in others.items() if one.relations)
        raise ArgumentError(f"--algorithm {algorithm} takes neither constraints nor several objectives: use {able}")
    if refused:
        able = ", ".join(name for name, one in others.items() if refused[0].relation in one.relations)
        raise ArgumentError(
            f"--algorithm {algorithm} takes only constraints with {' or '.join(kind.relations)}, found "
            f"`{refused[0].text}`: use {able}"
        )
    if kind.front and not several:
        able = ", ".join(name for name, one in others.items() if one.everywhere)
        raise ArgumentError(f"--algorithm {algorithm} minimizes several objectives, found one: use {able}")
    if kind.residuals and not problem.residuals:
        raise ArgumentError(f"--algorithm {algorithm} needs residuals: use --least-squares instead of --minimize")
    if kind.everywhere and not np.isfinite(problem.bounds).all():
        raise ArgumentError(f"--algorithm {algorithm} needs bounds of all parameters: --vary KEY=START,LOW,HIGH")
    try:
        release = import_module(kind.package).__version__
    except ImportError:
        install = f"pip install 'multibody-cli[{kind.extra}]'"
        raise ArgumentError(f"--algorithm {algorithm} needs {kind.package}: {install}") from None
    forget_scene()
    own = (*overrides, ASSEMBLED)
    starts = problem.overrides(np.array([one.start for one in problem.parameters]))
    try:
        first = prepare(scene, [*own, *starts])
    except SceneError as error:
        given = {f"--set {text}": f"--vary {text}" for text in starts}
        raise error.with_places(lambda place: given.get(place, place)) from None
    timing, duration = first.compiled.timing, first.scene.simulation.duration
    problem = problem.at_instants([min(k * timing.every, duration) for k in range(timing.outputs + 1)])
    task = SweepTask(scene, own, problem.kept)
    columns = tuple(columns_of(problem.kept, first))
    require_units(problem, columns)
    content = {
        "text": plain(read_scene(scene).root),
        "task": [task.overrides, [asdict(one) for one in task.kept]],
        "problem": asdict(problem),
        "search": [asdict(search), release],
    }
    task = replace(task, digest=digest_of(content))
    return Optimization(problem, task, columns, first.scene.name, search), first


def optimize(
    study: Optimization,
    table: Path,
    execute: Execute,
    force: bool = False,
    stop_asked: Callable[[], bool] = lambda: False,
    on_trial: Callable[[Trials], None] = lambda _trials: None,
) -> Optimum:
    """Execute an optimization, and write the table of its runs.

    Parameters
    ----------
    study
        As `plan` returns it.
    table, force
        Path of the table, and whether to replace that of another study.
    execute, stop_asked, on_trial
        As for `Trials`.

    Raises
    ------
    ArgumentError
        The table exists and is that of another study.
    RunFailed
        The run at the start failed, and the algorithm begins there.
    OutputError
        The table cannot be written.
    """
    problem, search, kind = study.problem, study.search, ALGORITHMS[study.search.algorithm]
    if table.exists() and not force:
        require_own_table(table, study.task.digest)
    with RowFile(row_file_path(table), study.task.digest, search.most, force) as rows:
        trials = Trials(problem, study.task, study.columns, rows, search.most, execute, stop_asked, on_trial)

        def solve(start: Floats, objective: int, limits: Sequence[Constraint]) -> Ending:
            return minimize(trials, problem, search.algorithm, start, objective, limits, search.exact, search.seed)

        status: Status
        front: list[Trial] = []
        try:
            if kind.front:
                ending = evolve_front(trials, problem, study.start, search.points, search.seed)
            elif len(problem.objectives) > 1:
                ending = trace_front(trials, problem, study.start, search.points, solve, front)
            else:
                ending = solve(study.start, 0, problem.constraints)
            status = "converged" if ending.converged else "not converged"
            message = ending.message
            if best_of(trials.all, problem, 0) is None:
                status, message = (
                    "not converged",
                    f"no run satisfies the constraints: {problem.nearest_miss(one.numbers for one in trials.all)}",
                )
            elif constant := _constant_objective(study, trials):
                status, message = "not converged", constant
        except Exhausted:
            status, message = "not converged", f"{search.most} runs are made: --runs allows more"
        except Stopped:
            status, message = "interrupted", "the same command continues"
        _write_table(study, trials, rows, table, status == INTERRUPTED)
    best = best_of(trials.all, problem, 0)
    if kind.front:
        front = [one for one in trials.all if problem.is_feasible(one.numbers)]
    return Optimum(
        study,
        status,
        message,
        best,
        tuple(not_dominated(front, len(problem.objectives))),
        tuple(trials.all),
        trials.executed,
        trials.derivatives,
        () if best is None else _settings(study, best),
    )


PROBE = 0.01
"""Change of a parameter, relative to its size, that shows if it changes an objective."""


def _constant_objective(study: Optimization, trials: Trials) -> str:
    """Return the message about an objective that no parameter changes; empty if there is none.

    A start with a gradient of 0 may be a minimum: where all runs agree, a run for each parameter is added.
    """
    for k, column in enumerate(study.columns[: len(study.problem.objectives)]):
        if len(_different(trials, k)) == 1:
            start, (low, high), steps = study.start, study.problem.bounds, np.eye(len(study.start))
            steps *= [PROBE * max(abs(x), one.scale) for x, one in zip(start, study.problem.parameters, strict=True)]
            trials.evaluate([np.where(start + step > high, start - step, start + step).clip(low) for step in steps])
            if len(values := _different(trials, k)) == 1:
                return (
                    f"no parameter changes `{column.name}`, which is {values.pop():.6g} in all runs: vary keys on "
                    "which it depends, or minimize another expression"
                )
    return ""


def _different(trials: Trials, objective: int) -> set[float]:
    """Return the different values of an objective in the runs that did not fail."""
    return {float(one.numbers[objective]) for one in trials.all if not one.reason}


def write_best(found: Optimum, path: Path) -> None:
    """Write the scene with the best values, all values resolved."""
    assert found.best is not None
    study = found.study
    own = [one for one in study.task.overrides if one != ASSEMBLED]
    best = prepare(study.task.scene, [*own, *study.problem.overrides(found.best.values), *found.settings])
    write_text(path, best.header().scene_yaml)


def _settings(study: Optimization, best: Trial) -> tuple[str, ...]:
    """Return the overrides that the best values need."""
    own = [one for one in study.task.overrides if one != ASSEMBLED]
    try:
        prepare(study.task.scene, [*own, *study.problem.overrides(best.values)])
    except SceneError:  # with other lengths, loops are far from closed at the written coordinates
        return (ASSEMBLED,)
    return ()


def _write_table(study: Optimization, trials: Trials, rows: RowFile, table: Path, interrupted: bool) -> None:
    """Write the table of all trials so far; the rows in progress are removed unless it was interrupted."""
    values = np.array([one.values for one in trials.all]).reshape(-1, len(study.problem.parameters))
    keys = [
        KeyValues(Column(one.key, one.unit, f"Value of `{one.key}`."), partial(_values_of, values[:, k]))
        for k, one in enumerate(study.problem.parameters)
    ]
    runs = rows.runs[rows.runs < len(trials.all)]
    attributes = study.attributes(INTERRUPTED if interrupted else COMPLETE)
    write_sweep_table(table, attributes, keys, rows.columns(), rows.lengths, runs, rows.rows)
    if not interrupted:
        rows.remove()


def _values_of(values: Floats, runs: Integers) -> Floats:
    return values[runs]
